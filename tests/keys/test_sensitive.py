"""Sensitive memories are there for those who have the scope; for others nothing says that they exist."""

import httpx
import pytest

from tests.api.kit import Json, append, ok, problem, turn
from tests.keys.kit import Mint, bearing

PLAIN = ("read", "write")
SECRET = {"user_id": "ann", "content": "Takes zebrafish pills", "sensitivity": "sensitive"}
OPEN = {"user_id": "ann", "content": "Keeps a zebrafish"}


@pytest.fixture
def keys(locked: httpx.Client, mint: Mint) -> tuple[str, str]:
    """One with the scope, one without."""
    append_as = mint()
    locked.headers = httpx.Headers(bearing(append_as))
    append(locked, "c", turn(1), user_id="ann")
    locked.headers = httpx.Headers()
    return mint(), mint(scopes=PLAIN)


def test_sensitive_memories_need_their_scope(locked: httpx.Client, keys: tuple[str, str]) -> None:
    full, plain = keys
    made = ok(locked.post("/memories", json=SECRET, headers=bearing(plain)), 201)  # to put one in needs no scope
    where, nowhere = f"/memories/{made['memory_key']}", "/memories/00000000-0000-7000-8000-000000000009"
    same = {"X-Request-Id": "same"}
    for verb in ("GET", "DELETE"):
        answer = locked.request(verb, where, headers=bearing(plain, **same))
        problem(answer, 404)
        assert answer.content == locked.request(verb, nowhere, headers=bearing(plain, **same)).content
    assert ok(locked.get(where, headers=bearing(full)))["sensitivity"] == "sensitive"
    assert ok(locked.delete(where, headers=bearing(full)))["erased"] == {"memories": 1}


def search(client: httpx.Client, key: str, **body: object) -> Json:
    sent = {"user_id": "ann", "query": "zebrafish pills", **body}
    return ok(client.post("/memories/search", json=sent, headers=bearing(key)))


def test_no_search_window_or_tool_shows_them(locked: httpx.Client, keys: tuple[str, str]) -> None:
    full, plain = keys
    for body in (SECRET, OPEN):
        ok(locked.post("/memories", json=body, headers=bearing(full)), 201)
    assert len(search(locked, full)["results"]) == 2
    assert [hit["summary"] for hit in search(locked, plain)["results"]] == [OPEN["content"]]
    tools = (
        ("search_memories", {"query": "zebrafish pills"}),
        ("recall_memory", {"query": "zebrafish pills"}),
    )
    for key, seen in ((full, True), (plain, False)):
        headers = bearing(key)
        for tool, arguments in tools:
            answer = ok(locked.post(f"/conversations/c/tools/{tool}", json={"arguments": arguments}, headers=headers))
            assert ("Takes" in answer["content"]) == seen, tool
            assert "Keeps" in answer["content"]
        window = ok(locked.get("/conversations/c/context", params={"query": "zebrafish pills"}, headers=headers))
        assert ("Takes" in str(window["messages"])) == seen
        body = {"user_id": "ann", "query": "zebrafish pills"}
        found = ok(locked.post("/memories/recall", json=body, headers=headers))
        assert ("Takes" in str(found)) == seen
        listed = ok(locked.get("/memories/search", params=body, headers=headers))
        assert ("Takes" in str(listed)) == seen


def test_a_detail_is_not_handed_on_by_an_idempotency_key(locked: httpx.Client, keys: tuple[str, str]) -> None:
    full, plain = keys
    key = ok(locked.post("/memories", json=SECRET, headers=bearing(full)), 201)["memory_key"]
    sent = {"arguments": {"memory_key": key}}
    where = "/conversations/c/tools/get_memory_detail"
    once = {"Idempotency-Key": "k"}
    assert "pills" in ok(locked.post(where, json=sent, headers=bearing(full, **once)))["content"]
    assert "pills" not in ok(locked.post(where, json=sent, headers=bearing(plain, **once)))["content"]


def test_no_total_and_no_limit_hints_at_them(locked: httpx.Client, keys: tuple[str, str]) -> None:
    full, plain = keys
    for body in (SECRET, OPEN):
        ok(locked.post("/memories", json=body, headers=bearing(full)), 201)
    assert search(locked, full)["total_found"] == 2
    assert search(locked, plain)["total_found"] == 1
    assert len(search(locked, plain, limit=1)["results"]) == 1
