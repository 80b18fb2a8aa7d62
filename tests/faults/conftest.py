"""One service for a module, a worker for each test, and one provider that can be told to fail."""

from collections.abc import Iterator

import httpx
import pytest

from app.postgres.embedded import EmbeddedPostgres
from app.settings import Settings
from app.text.tokens import TokenCounter
from tests.conftest import Served, serve, working
from tests.faults.kit import PACE, Conversation, Provider, Sql, service
from tests.jobs.kit import Model
from tests.providers.fake_openai import FakeOpenAI


@pytest.fixture(scope="module")
def always() -> Iterator[Provider]:
    model = Model()
    with FakeOpenAI(reply=model) as api:
        yield Provider(api, model)


@pytest.fixture(scope="module")
def served(postgres: EmbeddedPostgres, settings: Settings, always: Provider) -> Iterator[Served]:
    with serve(service(settings, postgres.app_dsn, always.api.url, with_worker=False)) as running:
        yield running


@pytest.fixture
def client(served: Served, clean: None) -> Iterator[httpx.Client]:
    """The worker stops with the test."""
    with working(served, PACE), httpx.Client(base_url=served.url, timeout=30) as opened:
        yield opened


@pytest.fixture
def provider(always: Provider) -> Iterator[Provider]:
    """In good health before and after."""
    always.heal()
    yield always
    always.heal()


@pytest.fixture
def conversation(
    client: httpx.Client, provider: Provider, run_as_superuser: Sql, counter: TokenCounter
) -> Conversation:
    """A conversation with all that jobs make of it, up to now, and a head that quotes it."""
    conversation = Conversation(client, run_as_superuser, counter)
    for turns in (8, 6):
        conversation.says(turns)
        conversation.settles()
    conversation.assert_complete()
    return conversation
