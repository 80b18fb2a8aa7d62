"""What a worker and a search work with, with a model that is played; and an API whose model is one on loopback."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import asyncpg
import httpx
import pytest

from app.main import build_app
from app.postgres.database import Database
from app.postgres.embedded import EmbeddedPostgres
from app.runtime import Runtime
from app.settings import Settings
from app.text.tokens import TokenCounter
from tests.conftest import Served, serve, working
from tests.guards.conftest import superuser
from tests.guards.tenants import runtime
from tests.providers.fake_openai import FakeOpenAI, ok
from tests.search.kit import Meanings

__all__ = ["client", "made", "meanings", "model_api", "models", "seeded", "served", "superuser"]

Sql = Callable[[str], list[asyncpg.Record]]


@pytest.fixture
def meanings() -> Meanings:
    return Meanings()


@pytest.fixture
def made(settings: Settings, database: Database, counter: TokenCounter, meanings: Meanings) -> Runtime:
    return replace(runtime(settings, database, counter), embedder=meanings)


@pytest.fixture(scope="session")
def model_api() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as server:
        yield server


@pytest.fixture
def models(model_api: FakeOpenAI) -> Iterator[FakeOpenAI]:
    yield model_api
    model_api.embeddings.queue.clear()
    model_api.embeddings.default = ok()


@pytest.fixture(scope="session")
def served(postgres: EmbeddedPostgres, settings: Settings, model_api: FakeOpenAI) -> Iterator[Served]:
    asked = {"memory_embedding_model": "bags", "memory_embedding_base_url": model_api.url}
    with serve(build_app(settings.model_copy(update=asked), postgres.app_dsn)) as running:
        yield running


@pytest.fixture
def client(served: Served, clean: None) -> Iterator[httpx.Client]:
    """The worker that gives memories their vectors stops with the test."""
    with working(served), httpx.Client(base_url=served.url, timeout=30) as opened:
        yield opened


@pytest.fixture
def seeded(client: httpx.Client, models: FakeOpenAI) -> httpx.Client:
    return client
