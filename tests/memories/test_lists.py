"""Lists of memories and conversations are narrowed by type, topic and metadata, page by page, and never widened."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from app.core.messages import METADATA_MAX
from app.core.scope import Scope
from app.core.search.narrowing import OWN_TYPES
from app.postgres.database import Database
from app.postgres.tenants import DEFAULT_TENANT
from app.store.memory.remembered import LIST
from tests.api.kit import Json, append, assistant, created, ok, problem, user

pytestmark = pytest.mark.anyio

TOPICS = """
INSERT INTO page_index (tenant_id, conversation_id, page, source, topics)
SELECT tenant_id, id, 1, 'extractive', '{Shipping}' FROM conversations WHERE id IN ('c0', 'c3')
"""
MANY = """
INSERT INTO memories (tenant_id, id, owner, type, start, length, terms, content, valid_from, learnt_at)
SELECT '{tenant}', gen_random_uuid(), CASE n % 2 WHEN 0 THEN '{owner}'::uuid ELSE gen_random_uuid() END,
       CASE n % 100 WHEN 0 THEN 'fact' ELSE 'episode' END, 0, 9, '{{1:1}}/1000000000',
       CASE n % 100 WHEN 0 THEN 'content' END, now(), now() FROM generate_series(1, 20000) n
"""
BLOCKS_MAX = 1000
"""The table has more."""


def remember(client: httpx.Client, content: str, **more: Any) -> str:
    body = {"user_id": "u", "content": content, **more}
    key: str = ok(client.post("/memories", json=body), 201)["memory_key"]
    return key


def items(client: httpx.Client, url: str, **query: Any) -> list[Json]:
    """Return all items, page by page."""
    found: list[Json] = []
    cursor = None
    while True:
        asked = {"limit": 2, **query, **({"cursor": cursor} if cursor else {})}
        page = ok(client.get(url, params=asked))
        assert len(page["items"]) <= 2
        found += page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            return found


def contents(client: httpx.Client, **query: Any) -> list[str]:
    return [one["content_preview"] for one in items(client, "/memories", **{"user_id": "u", **query})]


@pytest.fixture
def seeded(client: httpx.Client) -> httpx.Client:
    """Seven memories of one user, some with metadata and keywords, one of another user, and a message."""
    for number in range(7):
        metadata = {"project": "harbour", "n": number} if number % 2 else {}
        remember(
            client, f"Fact {number}", memory_type="fact", metadata=metadata, keywords=["Boats"] * (number in (1, 4))
        )
    remember(client, "Bob's", user_id="bob", metadata={"project": "harbour"}, keywords=["boats"])
    append(client, "talk", [user("A message about boats.")], user_id="u")
    return client


def test_search_results_carry_the_metadata_of_their_memory_or_message(client: httpx.Client) -> None:
    remember(client, "The ferry leaves at nine.", metadata={"from": "form 7", "n": [1, {"汉": None}]})
    for text, metadata in (("short", {"ticket": 4711}), ("long", {"x": "y" * METADATA_MAX}), ("none", "no object")):
        append(client, text, [user(f"A {text} ferry.", metadata=metadata), assistant("OK.")])
    append(client, "plain", [user('A plain ferry with "metadata".'), assistant("OK.")])
    found = ok(client.post("/memories/search", json={"user_id": "u", "query": "ferry"}))["results"]
    expected: dict[str | None, Json] = {
        None: {"from": "form 7", "n": [1, {"汉": None}]},
        "short": {"ticket": 4711},
        "long": {},
        "none": {},
        "plain": {},
    }
    assert {one["conversation_id"]: one["metadata"] for one in found if "ferry" in one["summary"]} == expected
    for one in found:
        assert ok(client.get(f"/memories/{one['memory_key']}"))["metadata"] == one["metadata"]


def test_memories_are_listed_newest_first_without_messages(seeded: httpx.Client) -> None:
    assert contents(seeded) == [f"Fact {number}" for number in range(6, -1, -1)]
    assert contents(seeded, user_id="bob") == ["Bob's"]
    assert contents(seeded, user_id="nobody") == []
    [one] = items(seeded, "/memories", user_id="bob")
    full = ok(seeded.get(f"/memories/{one['memory_key']}"))
    assert one == {name: full[name] for name in one}


def test_memories_are_narrowed_and_cursors_keep_their_place(seeded: httpx.Client) -> None:
    assert contents(seeded, metadata='{"project":"harbour"}') == ["Fact 5", "Fact 3", "Fact 1"]
    assert contents(seeded, metadata='{"n":3}') == ["Fact 3"]
    assert contents(seeded, topics=["BOATS", "other"]) == ["Fact 4", "Fact 1"]
    assert contents(seeded, topics=["boats"], metadata='{"project":"harbour"}') == ["Fact 1"]
    assert contents(seeded, memory_types=["preference"]) == contents(seeded, topics=["nothing"]) == []
    remember(seeded, "Likes boats", memory_type="user_preference", keywords=["boats"])
    assert contents(seeded, memory_types=["user_preference", "general"]) == ["Likes boats"]
    assert len(contents(seeded, memory_types=["fact", "preference"])) == 8


def test_a_conversations_memories_are_its_own(seeded: httpx.Client) -> None:
    created(seeded, id="work", user_id="u", metadata={"team": "blue"})
    remember(seeded, "The contract is signed.", conversation_id="work")
    assert contents(seeded, conversation_id="work") == ["The contract is signed."]
    assert contents(seeded, metadata='{"team":"blue"}') == ["The contract is signed."]
    asked: Json = {"user_id": "bob", "conversation_id": "work"}
    problem(seeded.get("/memories", params=asked), 404)
    problem(seeded.get("/memories", params={"conversation_id": "none"}), 404)


def test_a_long_memory_and_an_expired_one(client: httpx.Client, run_as_superuser: Callable[[str], object]) -> None:
    remember(client, "word " * 5000)
    remember(client, "Old", expires_at="2100-01-01T00:00:00Z")
    [_, long] = items(client, "/memories", user_id="u")
    assert len(long["content_preview"]) <= 200
    run_as_superuser("UPDATE memories SET expires_at = now() - interval '1 s' WHERE expires_at IS NOT NULL")
    assert [one["memory_key"] for one in items(client, "/memories", user_id="u")] == [long["memory_key"]]


def test_conversations_are_narrowed_by_topics_and_metadata(
    client: httpx.Client, run_as_superuser: Callable[[str], object]
) -> None:
    for number in range(6):
        created(client, id=f"c{number}", user_id="u" if number % 2 else "bob", metadata={"even": number % 2 == 0})
    run_as_superuser(TOPICS)

    def ids(**query: Any) -> list[str]:
        return [one["id"] for one in items(client, "/conversations", **query)]

    assert ids(metadata='{"even":true}') == ["c4", "c2", "c0"]
    assert ids(metadata='{"even":true}', user_id="u") == []
    assert ids(topics=["SHIPPING", "x"]) == ["c3", "c0"]
    assert ids(topics=["shipping"], user_id="u") == ["c3"]
    assert ids(topics=["shipping"], metadata='{"even":true}') == ["c0"]
    assert ids(topics=["nothing"]) == []
    assert len(ids()) == 6


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ({"metadata": "["}, "metadata"), ({"metadata": "[1]"}, "metadata"), ({"metadata": "x"}, "metadata"),
        ({"metadata": '{"a":NaN}'}, "metadata"), ({"metadata": '{"a":1,"a":2}'}, "metadata"),
        ({"metadata": '{"a":"\\u0000"}'}, "metadata"), ({"metadata": '{"a":"\\ud800"}'}, "metadata"),
        ({"metadata": "{" * 5000}, "metadata"), ({"metadata": json.dumps({"a": "x" * 20_000})}, "metadata"),
        ({"topics": ["x"] * 21}, "topics"), ({"topics": ["a\x00"]}, "topics"), ({"topics": [""]}, "topics"),
        ({"cursor": "x"}, "cursor"), ({"limit": 0}, "limit"), ({"limit": 201}, "limit"),
    ],
)  # fmt: skip
def test_a_wrong_filter_is_named(client: httpx.Client, query: Json, name: str) -> None:
    problem(client.get("/memories", params={"user_id": "u", **query}), 422, name)
    problem(client.get("/conversations", params=query), 422, name)


def test_metadata_with_an_escaped_nul_does_not_break_a_filter(client: httpx.Client) -> None:
    client.post("/conversations", json={"id": "nul", "user_id": "u", "metadata": {"a": "x\x00"}})
    created(client, id="c", user_id="u", metadata={"a": 1})
    append(client, "nul", [user("A ferry.")], user_id="u")
    remember(client, "Of it", conversation_id="nul")
    assert [one["id"] for one in items(client, "/conversations", metadata='{"a":1}')] == ["c"]
    assert contents(client, metadata='{"a":1}') == []
    asked: Json = {"user_id": "u", "query": "ferry", "metadata": {"a": 1}}
    assert ok(client.post("/memories/search", json=asked))["results"] == []


def test_memories_have_types_of_their_own_and_an_owner(client: httpx.Client) -> None:
    problem(client.get("/memories", params={"user_id": "u", "memory_types": "episode"}), 422, "memory_types")
    problem(client.get("/memories"), 422, "user_id")


@pytest.fixture
def many(run_as_superuser: Callable[[str], object], fresh: None) -> None:
    """A user's few memories among many passages of messages."""
    run_as_superuser(MANY.format(tenant=DEFAULT_TENANT, owner=Scope("user", "u").owner))
    run_as_superuser("VACUUM ANALYZE memories")


async def test_a_list_of_memories_reads_the_index_of_its_owner(many: None, database: Database) -> None:
    async with database.snapshot(DEFAULT_TENANT) as tx:
        wanted = {"owners": [Scope("user", "u").owner], "types": list(OWN_TYPES), "sensitive": False, "status": "held"}
        page = {"topics": [], "metadata": "{}", "limit": 51, "characters": 800}
        arguments = LIST.arguments({**dict.fromkeys(LIST.names), **wanted, **page})
        [row] = await tx.fetch(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {LIST}", *arguments)
    plan = json.loads(row[0])[0]["Plan"]
    assert plan["Actual Rows"] == 51
    assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] < BLOCKS_MAX
    assert "Seq Scan" not in json.dumps(plan)
