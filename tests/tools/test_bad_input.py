"""Whatever a model asks of a search tool is answered in words, over HTTP and MCP alike, and with its user's rows."""

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.api.kit import append, assistant, ok, path, user
from tests.tools.kit import use

Door = Callable[..., tuple[str, bool]]
QUERIES = [
    "?!… ——", "the of and", "我们 什么", "tea & coffee | !mug", "tea:* <-> *", "'; DROP TABLE memories; --", '"tea',
    "' OR '1'='1", "(a+)+$ [", ".*", "☕☕", "👩‍👩‍👧",
    "الشاي الأخضر", "תה ירוק", "\u202etea", "tea\x00",
    "%_\\", "{1:1}/2", "$1", "</quire-memories>", "x" * 10_000, "茶" * 10_000, "NaN", "\ufeff",
]  # fmt: skip
WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("search_memories", {"query": ""}, "query"),
    ("search_memories", {}, "query"),
    ("search_memories", {"query": "w" * 900_000}, "10000"),
    ("search_memories", {"query": "tea", "memory_types": ["dream"]}, "memory_types"),
    ("search_memories", {"query": "tea", "limit": 0}, "1 to 10"),
    ("search_memories", {"query": "tea", "limit": 10_000}, "1 to 10"),
    ("search_memories", {"query": "tea", "time_range_days": -3}, "time_range_days"),
    ("search_memories", {"query": "tea", "min_relevance_score": 7}, "min_relevance_score"),
    ("search_memories", {"query": "tea", "search_mode": "magic"}, "search_mode"),
    ("search_memories", {"query": "tea", "user_id": "bob"}, "user_id"),
    ("search_memories", {"query": "tea", "since": "2026-01-02", "until": "2026-01-01"}, "since"),
    ("recall_memory", {"query": ""}, "query"),
    ("recall_memory", {"query": "w" * 900_000}, "10000"),
    ("recall_memory", {"query": "tea", "limit": 3}, "limit"),
    ("get_memory_detail", {"memory_key": ""}, "memory_key"),
    ("get_memory_detail", {"memory_key": "no-key"}, "no such memory"),
    ("get_memory_detail", {"memory_key": "x" * 900_000}, "64"),
    ("get_memory_detail", {"memory_key": "'; --"}, "no such memory"),
    ("extract_search_keywords", {"query": ""}, "query"),
    ("extract_search_keywords", {"query": "w" * 900_000}, "10000"),
    ("extract_search_keywords", {"query": "tea", "max_keywords": 0}, "1 to 30"),
    ("extract_search_keywords", {"query": "tea", "max_keywords": 10_000}, "1 to 30"),
]


@pytest.fixture(params=["http", "mcp"])
def door(request: pytest.FixtureRequest, client: httpx.Client) -> Door:
    """Calls a tool for Ann's conversation; what it says, and whether it is an error."""
    append(client, "c", [user("My favourite tea is Longjing."), assistant("Noted.")], user_id="ann")
    append(client, "b", [user("The vault code is QX7-4410, the tea is oolong.")], user_id="bob")

    def over_http(name: str, **arguments: Any) -> tuple[str, bool]:
        found = use(client, "c", name, **arguments)
        return found["content"], found["is_error"]

    def over_mcp(name: str, **arguments: Any) -> tuple[str, bool]:
        sent = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        headers = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
        where = f"/mcp?conversation_id={quote('c')}"
        found = ok(client.post(where, content=json.dumps(sent).encode(), headers=headers))["result"]
        return found["content"][0]["text"], found["isError"]

    return over_http if request.param == "http" else over_mcp


def test_any_query_returns_only_own_rows(door: Door) -> None:
    for query in QUERIES:
        for name, argument in (
            ("search_memories", "query"),
            ("recall_memory", "query"),
            ("extract_search_keywords", "query"),
        ):
            said, is_error = door(name, **{argument: query})
            assert said, (name, query)
            assert "QX7" not in said
            assert "oolong" not in said
            if name != "extract_search_keywords":
                assert is_error == ("no words to search for" in said), (name, query, said)
        if any(word in query for word in ("tea", "茶")) and len(query) < 100:
            assert "Longjing" in door("search_memories", query=query)[0], query


def test_mistakes_are_explained(door: Door) -> None:
    for name, arguments, named in WRONG:
        said, is_error = door(name, **arguments)
        assert is_error, (name, str(arguments)[:80], said)
        assert named in said, (name, str(arguments)[:80], said)
        assert len(said) < 500
    assert "Longjing" in door("search_memories", query="tea")[0]


def test_a_key_of_another_user_and_a_deleted_one_are_no_keys(door: Door, client: httpx.Client) -> None:
    def key_of(user_id: str, query: str) -> str:
        found = ok(client.get("/memories/search", params={"user_id": user_id, "query": query}))
        return str(found["results"][0]["memory_key"])

    made = ok(client.post("/memories", json={"user_id": "ann", "content": "Takes no sugar."}), 201)["memory_key"]
    assert "no sugar" in door("get_memory_detail", memory_key=made)[0]
    ok(client.delete(f"/memories/{made}"))
    unknown = door("get_memory_detail", memory_key="00000000-0000-7000-8000-000000000000")
    assert unknown[1]
    assert door("get_memory_detail", memory_key=made) == unknown
    assert door("get_memory_detail", memory_key=key_of("bob", "vault code")) == unknown
    mine = key_of("ann", "favourite tea")
    assert "Longjing" in door("get_memory_detail", memory_key=mine)[0]
    ok(client.delete(path("c", "messages", "1")))
    assert door("get_memory_detail", memory_key=mine) == unknown
