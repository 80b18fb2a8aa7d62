"""A second server on the same database, and the rows of every table."""

from collections.abc import Callable, Iterator

import asyncpg
import httpx
import pytest

from app.main import build_app
from app.postgres.embedded import EmbeddedPostgres
from app.settings import Settings
from tests.conftest import patient, serving

Rows = dict[str, int]


@pytest.fixture(scope="session")
def other_url(postgres: EmbeddedPostgres, settings: Settings) -> Iterator[str]:
    """A server with caches of its own, and the default limits."""
    yield from serving(build_app(Settings(quire_data_dir=settings.quire_data_dir), postgres.app_dsn))


@pytest.fixture
def other(other_url: str, client: httpx.Client) -> Iterator[httpx.Client]:
    """Speaks to the second server."""
    with patient(other_url) as opened:
        yield opened


@pytest.fixture(scope="session")
def rows(run_as_superuser: Callable[[str], list[asyncpg.Record]]) -> Callable[[], Rows]:
    """How many rows each table has."""
    found = run_as_superuser("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1")
    columns = ", ".join(f"(SELECT count(*) FROM {row[0]}) AS {row[0]}" for row in found)
    return lambda: dict(run_as_superuser(f"SELECT {columns}")[0])
