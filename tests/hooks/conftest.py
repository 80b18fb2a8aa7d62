"""A service that knows the user of requests that name none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from app.main import build_app
from app.postgres.embedded import EmbeddedPostgres
from app.settings import Settings
from tests.conftest import serving


@pytest.fixture(scope="session")
def base_url(postgres: EmbeddedPostgres, settings: Settings) -> Iterator[str]:
    update = {"quire_default_user": "me"}
    yield from serving(build_app(settings.model_copy(update=update), postgres.app_dsn))
