"""Services before the strict fake of model APIs: one for each dialect that an API speaks."""

from collections.abc import Callable, Iterator

import pytest

from app.main import build_app
from app.postgres.embedded import EmbeddedPostgres
from app.settings import Settings
from tests.conftest import serve, serving
from tests.proxy.agents import DIALECTS, clients
from tests.vendors import strict_vendors

__all__ = ["clients"]


@pytest.fixture(scope="session")
def vendors() -> Iterator[str]:
    with serve(strict_vendors.app()) as served:
        yield served.url


@pytest.fixture(scope="session")
def before(
    postgres: EmbeddedPostgres, settings: Settings, vendors: str, delete_every_row: Callable[[], None]
) -> Iterator[dict[str, str]]:
    """The address of a service by the dialect of its model's API. None knows a key that earlier tests left."""
    delete_every_row()
    opened = []
    found = {}
    for dialect in DIALECTS:
        update = {
            "quire_proxy_base_url": f"{vendors}/v1",
            "quire_proxy_upstream_dialect": dialect,
            "memory_recall": "off",
            "quire_proxy_seconds": 20,
        }
        opened.append(serving(build_app(settings.model_copy(update=update), postgres.app_dsn)))
        found[dialect] = next(opened[-1])
    yield found
    for served in opened:
        next(served, None)
