"""Servers with other settings, and what is in the tables."""

from collections.abc import Callable, Iterator

import asyncpg
import httpx
import pytest

from app.main import build_app
from app.postgres.embedded import EmbeddedPostgres
from app.settings import Settings
from tests.conftest import serving

Rows = Callable[[str], int]
Grep = Callable[[str], list[str]]


@pytest.fixture(scope="session")
def large_url(postgres: EmbeddedPostgres, settings: Settings) -> Iterator[str]:
    """A server with the default limits and caches of its own."""
    yield from serving(build_app(Settings(quire_data_dir=settings.quire_data_dir), postgres.app_dsn))


@pytest.fixture
def large(large_url: str, clean: None) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=large_url, timeout=120) as opened:
        yield opened


@pytest.fixture(scope="session")
def strict_url(postgres: EmbeddedPostgres, settings: Settings) -> Iterator[str]:
    """A server that archives from 500 characters or 100 tokens on, and keeps archives for a week."""
    strict = Settings(
        quire_data_dir=settings.quire_data_dir,
        memory_archive_threshold=500,
        memory_archive_threshold_tokens=100,
        memory_archive_ttl_days=7,
    )
    yield from serving(build_app(strict, postgres.app_dsn))


@pytest.fixture
def strict(strict_url: str, clean: None) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=strict_url, timeout=30) as opened:
        yield opened


@pytest.fixture(scope="session")
def rows(run_as_superuser: Callable[[str], list[asyncpg.Record]]) -> Rows:
    """How many rows a table has."""
    return lambda table: int(run_as_superuser(f"SELECT count(*) FROM {table}")[0][0])


@pytest.fixture(scope="session")
def tables_with(run_as_superuser: Callable[[str], list[asyncpg.Record]]) -> Grep:
    """The tables of which any column, of whatever type, holds a text."""
    tables = [row[0] for row in run_as_superuser("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")]

    def grep(text: str) -> list[str]:
        where = f"WHERE position('{text}' IN t::text) > 0"
        return [t for t in tables if run_as_superuser(f"SELECT 1 FROM {t} t {where} LIMIT 1")]

    return grep
