"""Property: LangGraph's store keeps items by namespace and key in the memories of one user, and finds them by words."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from quire_client import AsyncQuire, ConnectionFailed, Invalid, Quire, Retries

pytest.importorskip("langgraph", reason="langgraph is not installed: it comes with the development requirements")

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.config import get_store
from langgraph.store.base import GetOp, InvalidNamespaceError, PutOp

from quire_client.langgraph import QuireStore
from tests.client.test_langchain import Scripted, calling

HOME = ("homes", "ada")


class Waiting:
    """A store by its async methods, waited for."""

    def __init__(self, store: QuireStore, runner: asyncio.Runner) -> None:
        self.store, self.runner = store, runner

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **options: self.runner.run(getattr(self.store, f"a{name}")(*args, **options))


@pytest.fixture(params=["blocking", "awaited"])
def store(request: pytest.FixtureRequest, base_url: str, client: httpx.Client) -> Iterator[Any]:
    if request.param == "blocking":
        with Quire(base_url) as quire:
            yield QuireStore(quire, user_id="me")
        return
    with asyncio.Runner() as runner:
        aquire = AsyncQuire(base_url)
        yield Waiting(QuireStore(aquire=aquire, user_id="me"), runner)
        runner.run(aquire.close())


def listed(client: httpx.Client, user_id: str = "me") -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = client.get("/memories", params={"user_id": user_id}).json()["items"]
    return items


def test_an_item_is_kept_replaced_and_erased(store: Any, client: httpx.Client) -> None:
    value = {"likes": "龙井", "cups": 3, "nested": {"hot": True, "sizes": [0.5, None]}}
    assert store.get(HOME, "tea") is None
    store.put(HOME, "tea", value)
    first = store.get(HOME, "tea")
    assert (first.namespace, first.key, first.value) == (HOME, "tea", value)
    store.put(HOME, "tea", {"likes": "oolong"})
    second = store.get(HOME, "tea")
    assert second.value == {"likes": "oolong"}
    assert first.created_at == second.created_at < second.updated_at
    assert len(listed(client)) == 1, "the replaced memory is erased"
    for _ in range(2):
        store.delete(HOME, "tea")
        assert store.get(HOME, "tea") is None
    assert listed(client) == []


def test_namespaces_with_the_same_labels_are_different_places(store: Any) -> None:
    places = [("a", "b"), ("b", "a"), ("a", "b", "b"), ("a",), ("b", "c", "v1")]
    for n, place in enumerate(places):
        store.put(place, "k", {"n": n})
    assert [store.get(place, "k").value["n"] for place in places] == [0, 1, 2, 3, 4]
    assert {item.value["n"] for item in store.search(("a",))} == {0, 2, 3}
    assert {item.value["n"] for item in store.search(())} == {0, 1, 2, 3, 4}
    assert store.list_namespaces() == sorted(places)
    assert store.list_namespaces(prefix=("a", "*"), max_depth=2) == [("a", "b")]
    assert store.list_namespaces(suffix=("v1",)) == [("b", "c", "v1")]
    assert store.list_namespaces(limit=2, offset=1) == sorted(places)[1:3]


def test_search_filters_pages_and_ranks(store: Any) -> None:
    for n, drink in enumerate(("green tea from Hangzhou", "espresso without sugar", "apple juice, cold")):
        store.put(HOME, str(n), {"drink": drink, "rank": n, "by": {"name": "Ada"}})
    store.put(("elsewhere",), "0", {"drink": "green tea from Hangzhou, elsewhere"})
    store.put(HOME, "unseen", {"drink": "green tea that no search finds"}, index=False)
    store.put(HOME, "titled", {"title": "kettle", "drink": "green tea from Hangzhou"}, index=["title"])
    found = store.search(HOME, query="green tea of Hangzhou")
    assert found[0].value["rank"] == 0
    assert found[0].score > 0
    assert "unseen" not in [item.key for item in found]
    assert store.search(HOME, query="kettle")[0].key == "titled"
    assert [item.key for item in store.search(HOME, filter={"rank": {"$gte": 1}})] == ["2", "1"]
    assert [item.key for item in store.search(HOME, filter={"by": {"name": "Ada"}}, limit=1, offset=1)] == ["1"]
    assert store.search(HOME, filter={"rank": {"$gte": 1, "$ne": 1}})[0].key == "2"
    assert len(store.search(HOME)) == 5


def test_a_batch_reads_before_it_writes_and_the_last_write_counts(store: Any, client: httpx.Client) -> None:
    ops = [PutOp(HOME, "k", {"n": 1}), GetOp(HOME, "k"), PutOp(HOME, "k", {"n": 2})]
    assert store.batch(ops) == [None, None, None]
    assert store.get(HOME, "k").value == {"n": 2}
    assert len(listed(client)) == 1


def test_what_cannot_be_kept_is_refused_and_changes_nothing(store: Any, client: httpx.Client) -> None:
    store.put(HOME, "k", {"n": 1})
    with pytest.raises(Invalid, match="metadata must have at most 16384 characters"):
        store.put(HOME, "k", {"text": "x" * 20_000})
    with pytest.raises(TypeError, match="JSON"):
        store.put(HOME, "k", {"n": object()})
    with pytest.raises(NotImplementedError, match="TTL"):
        store.put(HOME, "k", {"n": 2}, ttl=5)
    with pytest.raises(InvalidNamespaceError):
        store.batch([GetOp(("a.b",), "k")])
    assert store.get(HOME, "k").value == {"n": 1}
    assert len(listed(client)) == 1


def test_users_never_see_each_others_items(base_url: str, client: httpx.Client) -> None:
    with Quire(base_url) as quire:
        mine, yours = QuireStore(quire, user_id="me"), QuireStore(quire, user_id="you")
        mine.put(HOME, "k", {"secret": "the blue gate"})
        assert yours.get(HOME, "k") is None
        assert yours.search((), query="the blue gate") == yours.search(()) == yours.list_namespaces() == []
        yours.delete(HOME, "k")
        yours.put(HOME, "k", {"n": 1})
        found = mine.get(HOME, "k")
        assert found is not None
        assert found.value == {"secret": "the blue gate"}


@pytest.mark.slow
def test_puts_at_once_leave_one_whole_value(base_url: str, client: httpx.Client) -> None:
    with Quire(base_url) as quire, ThreadPoolExecutor(8) as threads:
        store = QuireStore(quire, user_id="me")
        list(threads.map(lambda n: store.put(HOME, "k", {"n": n, "again": n}), range(16)))
        (only,) = store.search(HOME)
        assert only.value["n"] == only.value["again"]
        store.put(HOME, "k", {"n": 99})
        assert len(listed(client)) == 1, "the next put erases what was left"


class Cut(httpx.HTTPTransport):
    """A network that breaks before anything is erased."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if request.method == "DELETE":
            raise httpx.ConnectError("cut")
        return super().handle_request(request)


def test_a_put_that_is_cut_off_has_happened_and_an_erased_item_stays_erased(
    base_url: str, client: httpx.Client
) -> None:
    with Quire(base_url) as quire, Quire(base_url, transport=Cut(), retries=Retries(times=0)) as cut:
        store, broken = QuireStore(quire, user_id="me"), QuireStore(cut, user_id="me")
        store.put(HOME, "k", {"n": "old"})
        with pytest.raises(ConnectionFailed):
            broken.put(HOME, "k", {"n": "new"})
        assert len(listed(client)) == 2
        assert [item.value for item in store.search(HOME)] == [{"n": "new"}]
        store.delete(HOME, "k")
        assert listed(client) == []


@tool
def keep(fact: str) -> str:
    """Keep a fact."""
    get_store().put(HOME, "fact", {"fact": fact})
    return "Kept."


@tool
def find(question: str) -> str:
    """Find a fact."""
    return "; ".join(item.value["fact"] for item in get_store().search(HOME, query=question))


def test_an_agent_finds_in_one_thread_what_it_kept_in_another(base_url: str, client: httpx.Client) -> None:
    script = [
        lambda _: calling("keep", fact="The blue gate opens at nine."), lambda _: AIMessage("Noted."),
        lambda _: calling("find", question="When does the blue gate open?"), lambda m: AIMessage(m[-1].content),
    ]  # fmt: skip
    with Quire(base_url) as quire:
        model = Scripted(script=script, given=[], offered=[])
        agent: Any = create_agent(model, [keep, find], store=QuireStore(quire, user_id="me"))
        agent.invoke({"messages": [("user", "The blue gate opens at nine.")]})
        state = agent.invoke({"messages": [("user", "When does the blue gate open?")]})
    assert isinstance(state["messages"][-2], ToolMessage)
    assert state["messages"][-1].content == "The blue gate opens at nine."
