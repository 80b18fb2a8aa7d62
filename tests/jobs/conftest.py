"""An API that knows of a model, the model played on loopback, and what a worker works with."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any

import asyncpg
import httpx
import pytest
from anyio.from_thread import start_blocking_portal

from app.main import build_app
from app.postgres.database import Database
from app.postgres.embedded import EmbeddedPostgres
from app.providers.breaker import BreakerPolicy
from app.providers.model_api import ModelApi
from app.providers.openai_chat import OpenAIChat
from app.settings import Settings
from app.text.tokens import TokenCounter
from tests.conftest import serving
from tests.guards.tenants import runtime
from tests.jobs.kit import Model, Worker
from tests.providers.conftest import Time
from tests.providers.fake_openai import FakeOpenAI

Sql = Callable[[str], list[asyncpg.Record]]


@pytest.fixture(scope="session")
def base_url(postgres: EmbeddedPostgres, settings: Settings) -> Iterator[str]:
    """It only knows that there is a model: an API never asks it."""
    yield from serving(build_app(settings.model_copy(update={"memory_llm_model": "fake"}), postgres.app_dsn))


@pytest.fixture(scope="session")
def plain_url(postgres: EmbeddedPostgres, settings: Settings) -> Iterator[str]:
    """Without a model."""
    yield from serving(build_app(settings, postgres.app_dsn))


@pytest.fixture
def plain(plain_url: str, clean: None) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=plain_url, timeout=30) as opened:
        yield opened


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def api(model: Model) -> Iterator[FakeOpenAI]:
    with FakeOpenAI(reply=model) as server:
        yield server


MakeWorker = Callable[..., Worker]


@pytest.fixture
def make_worker(
    api: FakeOpenAI, settings: Settings, postgres: EmbeddedPostgres, counter: TokenCounter, clean: None
) -> Iterator[MakeWorker]:
    """Workers with a model (or without: ``url=None``) and connections of their own."""
    with start_blocking_portal() as portal, ExitStack() as stack:

        def make(*, context_window: int = 32_000, url: str | None = api.url, **changes: Any) -> Worker:
            database = portal.call(partial(Database.connect, postgres.app_dsn, pool_size=4))
            stack.callback(portal.call, database.close)
            found = runtime(settings.model_copy(update=changes), database, counter)
            if url is not None:
                chat = portal.call(_chat, url, context_window, counter)
                stack.callback(portal.call, chat.close)
                found = replace(found, chat=chat)
            return Worker(found, portal)

        yield make


async def _chat(url: str, context_window: int, counter: TokenCounter) -> OpenAIChat:
    """Its retries wait for nothing, and it never gives up on the provider."""
    return OpenAIChat(
        model="fake", api=ModelApi(url), context_window=context_window, count=counter.count,
        clock=Time().clock(), policy=BreakerPolicy(failures=10_000),
    )  # fmt: skip


@pytest.fixture
def worker(make_worker: MakeWorker) -> Worker:
    return make_worker()


@pytest.fixture
def sql(run_as_superuser: Sql) -> Sql:
    return run_as_superuser
