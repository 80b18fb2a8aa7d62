"""A connection past row-level security, for tests that look at what the app's role cannot see."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from app.postgres.embedded import EmbeddedPostgres


@pytest.fixture
async def superuser(postgres: EmbeddedPostgres) -> AsyncIterator[asyncpg.Connection]:
    opened = await asyncpg.connect(postgres.superuser_dsn)
    yield opened
    await opened.close()
