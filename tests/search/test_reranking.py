"""A reranker puts a search's results in order, and nothing waits for it that must not."""

from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import httpx
import pytest

from app.main import build_app
from app.postgres.embedded import EmbeddedPostgres
from app.providers.model_api import ModelApi
from app.providers.reranker import ApiReranker
from app.runtime import Runtime
from app.services.memory import reranking
from app.settings import Settings
from tests.api.kit import append, ok, user
from tests.conftest import Served, serve
from tests.providers import fake_openai as fake
from tests.providers.conftest import Time
from tests.providers.fake_openai import Behaviour, FakeOpenAI
from tests.search.kit import drain, find, say, texts

pytestmark = pytest.mark.anyio

TEA = [f"Tea number {number} is from Hangzhou." for number in range(60)]


@pytest.fixture
def api() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as server:
        yield server


@pytest.fixture
async def reranking_runtime(made: Runtime, api: FakeOpenAI) -> AsyncIterator[Runtime]:
    reranker = ApiReranker(model="fake", api=ModelApi(api.url), clock=Time().clock())
    yield replace(made, reranker=reranker)
    await reranker.close()


async def told(made: Runtime, count: int) -> None:
    for number, text in enumerate(TEA[:count]):
        await say(made, f"c{number}", [user(text, name="Mei")])
    await drain(made)


async def test_the_rerankers_order_counts_and_scores_stay_by_place(
    reranking_runtime: Runtime, made: Runtime, api: FakeOpenAI
) -> None:
    await told(made, 5)
    before = await find(made, "tea from Hangzhou")
    api.rerank.default = fake.last_first()
    found = await find(reranking_runtime, "tea from Hangzhou")
    assert texts(found) == texts(before)[::-1]
    assert [one.score for one in found.hits] == [one.score for one in before.hits]
    assert (found.total, found.mode, found.warnings) == (before.total, before.mode, before.warnings)
    [request] = api.rerank.requests
    assert request.body["documents"] == [f"Mei: {text}" for text in texts(before)]


async def test_the_first_fifty_are_reranked_whatever_the_limit(
    reranking_runtime: Runtime, made: Runtime, api: FakeOpenAI
) -> None:
    await told(made, 60)
    every = texts(await find(made, "tea from Hangzhou", limit=60))
    api.rerank.default = fake.last_first()
    assert texts(await find(reranking_runtime, "tea from Hangzhou", limit=1)) == [every[49]]
    assert texts(await find(reranking_runtime, "tea from Hangzhou", limit=60)) == every[49::-1] + every[50:]
    assert [len(request.body["documents"]) for request in api.rerank.requests] == [reranking.RERANKED_MAX] * 2


async def test_several_queries_are_reranked_once_together(
    reranking_runtime: Runtime, made: Runtime, api: FakeOpenAI
) -> None:
    await told(made, 5)
    await find(reranking_runtime, "tea from Hangzhou", queries=("Tea number 3",))
    [request] = api.rerank.requests
    assert request.body["query"] == "tea from Hangzhou\nTea number 3"


@pytest.mark.parametrize(
    "fault",
    [
        fake.status(503),
        fake.status(401),
        fake.html(),
        fake.reset(),
        fake.scored(1.0),
        fake.scored(*[float("nan")] * 5),
        Behaviour(edit=lambda answer: {"results": answer["results"][:1] * 5}),
    ],
)
async def test_a_reranker_that_fails_leaves_the_order_and_a_warning(
    reranking_runtime: Runtime, made: Runtime, api: FakeOpenAI, fault: Behaviour
) -> None:
    await told(made, 5)
    before = await find(made, "tea from Hangzhou")
    api.rerank.default = fault
    found = await find(reranking_runtime, "tea from Hangzhou")
    assert found.hits == before.hits
    assert found.warnings == [reranking.UNAVAILABLE]


async def test_nothing_and_a_single_result_need_no_reranker(
    reranking_runtime: Runtime, made: Runtime, api: FakeOpenAI
) -> None:
    await told(made, 1)
    assert len((await find(reranking_runtime, "tea")).hits) == 1
    assert (await find(reranking_runtime, "tea", user_id="another")).hits == []
    assert api.rerank.requests == []


@pytest.fixture
def served(postgres: EmbeddedPostgres, settings: Settings, api: FakeOpenAI) -> Iterator[Served]:
    asked = {
        "memory_embedding_model": "none", "quire_pool_size": 1,
        "memory_rerank_model": "fake", "memory_rerank_base_url": api.url,
    }  # fmt: skip
    with serve(build_app(settings.model_copy(update=asked), postgres.app_dsn)) as running:
        yield running


def test_no_connection_is_held_while_the_reranker_thinks(client: httpx.Client, api: FakeOpenAI) -> None:
    append(client, "c", [user(text) for text in TEA[:3]], user_id="u")
    api.rerank.default = fake.held()
    with ThreadPoolExecutor() as pool:
        searching = pool.submit(client.get, "/memories/search", params={"user_id": "u", "query": "tea"})
        api.wait_until(lambda: api.rerank.running == 1)
        assert ok(client.get("/conversations"))["items"], "the only connection is free"
        api.release()
        assert len(ok(searching.result())["results"]) == 3


def test_a_window_never_waits_for_the_reranker(client: httpx.Client, api: FakeOpenAI) -> None:
    append(client, "c", [user(text) for text in TEA[:3]], user_id="u")
    api.rerank.default = fake.hang()
    ok(client.get("/conversations/c/context", params={"budget": 4000, "query": "tea from Hangzhou"}))
    append(client, "new", [user("Hello there.")], user_id="u")
    brought_in = ok(client.get("/conversations/new/context", params={"budget": 4000, "query": "tea from Hangzhou"}))
    assert "Hangzhou" in str(brought_in["messages"])
    assert api.rerank.requests == []
