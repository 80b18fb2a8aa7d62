"""A key with ten thousand versions."""

import json
from typing import Any

import asyncpg
import httpx
import pytest

from app.core.scope import Scope
from app.postgres.database import Database
from app.postgres.embedded import EmbeddedPostgres
from app.postgres.tenants import DEFAULT_TENANT
from app.store.memory.remembered import HELD_AT
from tests.api.kit import append, ok, user, window
from tests.conftest import CITUS
from tests.guards.tenants import Arguments, in_order
from tests.guards.test_bounded_reads import nodes, read
from tests.guards.test_query_plans import literal

pytestmark = pytest.mark.anyio

VERSIONS = 10_000
KEYS = 1_500
COPIES = """
INSERT INTO memories (tenant_id, id, owner, type, start, length, terms, content, source, scope, holder, key, pinned,
                      tokens, valid_from, learnt_at, former)
SELECT tenant_id, gen_random_uuid(), owner, type, 0, 0, '{}/1000000000', 'Mood ' || n, source, scope, holder, key,
       pinned, tokens, valid_from - n * interval '1 minute', learnt_at, true
  FROM memories, generate_series(1, $3) n WHERE tenant_id = $1 AND holder = $2 AND key = 'mood'
RETURNING id
"""

MANY_KEYS = """
INSERT INTO memories (tenant_id, id, owner, type, start, length, terms, content, source, scope, holder, key, words,
                      valid_from, learnt_at, former)
SELECT tenant_id, gen_random_uuid(), owner, type, 0, 0, '{}/1000000000', 'Thing ' || n, source, scope, holder,
       'thing/' || n, '{1}', valid_from + n * interval '1 minute', learnt_at, former
  FROM memories, generate_series(1, $3) n WHERE tenant_id = $1 AND holder = $2 AND key = 'place'
RETURNING id
"""
READ_MAX = 60
"""Rows that a search for another time reads, of eleven thousand."""


def put(client: httpx.Client, content: str, **more: Any) -> Any:
    return ok(client.post("/memories", json={"user_id": "ann", "content": content, "pinned": True, **more}), 201)


def every_version(client: httpx.Client, memory_key: str) -> list[str]:
    seen: list[str] = []
    more: dict[str, str] = {}
    while True:
        page = ok(client.get(f"/memories/{memory_key}/versions", params={"limit": 200, **more}))
        seen += [one["content"] for one in page["items"]]
        if page["next_cursor"] is None:
            return seen
        more = {"cursor": page["next_cursor"]}


def listed(client: httpx.Client, **query: Any) -> list[str]:
    items = ok(client.get("/memories", params={"user_id": "ann", **query}))["items"]
    return [one["content_preview"] for one in items]


@pytest.mark.slow
async def test_a_key_with_ten_thousand_versions_hides_nothing(client: httpx.Client, database: Database) -> None:
    put(client, "Never use tables.", valid_from="2001-01-01T00:00:00Z")
    put(client, "Ann is in Rome.", key="place", valid_from="2001-01-01T00:00:00Z")
    latest = put(client, "Mood 0", key="mood")
    async with database.begin(DEFAULT_TENANT) as tx:
        await tx.execute(COPIES, Scope("user", "ann").owner, VERSIONS - 1)
    append(client, "talk", [user("Hello there")], user_id="ann")
    head = str(window(client, "talk")["messages"])
    assert [text in head for text in ("Never use tables.", "Ann is in Rome.", "Mood 0", "Mood 1")] == [True] * 3 + [
        False
    ]
    assert every_version(client, latest["memory_key"]) == [f"Mood {n}" for n in range(VERSIONS)]
    put(client, "Mood now", key="mood")
    assert listed(client, key="mood") == ["Mood now"]


def searched(client: httpx.Client, query: str, as_of: str) -> list[str]:
    body = {"user_id": "ann", "query": query, "search_mode": "keyword", "as_of": as_of}
    found = ok(client.post("/memories/search", json=body))["results"]
    return [one["content_preview"].replace("**", "") for one in found]


@pytest.mark.skipif(bool(CITUS), reason="it looks at a plan of plain PostgreSQL")
async def test_a_search_for_another_time_finds_a_value_among_many_keys_and_versions(
    client: httpx.Client, database: Database, postgres: EmbeddedPostgres
) -> None:
    put(client, "Ann is in Rome.", key="place", valid_from="2001-01-01T00:00:00Z")
    put(client, "Ann is in Lima.", key="place", valid_from="2020-01-01T00:00:00Z")
    put(client, "Mood 0", key="mood", valid_from="2020-01-01T00:00:00Z")
    async with database.begin(DEFAULT_TENANT) as tx:
        await tx.execute(COPIES, Scope("user", "ann").owner, VERSIONS - 1)
    await analyzed(
        postgres
    )  # by what was there before them, rows would be sorted; PostgreSQL looks again within seconds
    assert await rows_read(database) <= READ_MAX
    async with database.begin(DEFAULT_TENANT) as tx:
        await tx.execute(MANY_KEYS, Scope("user", "ann").owner, KEYS)
    assert searched(client, "Rome", "2019-01-01T00:00:00Z") == ["Ann is in Rome."]
    assert searched(client, "Rome", "2021-01-01T00:00:00Z") == []
    assert searched(client, "Lima", "2021-01-01T00:00:00Z") == ["Ann is in Lima."]


async def analyzed(postgres: EmbeddedPostgres) -> None:
    superuser = await asyncpg.connect(postgres.superuser_dsn)
    try:
        await superuser.execute("ANALYZE memories")
    finally:
        await superuser.close()


async def rows_read(database: Database) -> float:
    """Return how many rows the statement reads for a time at which each key has another value."""
    arguments: Arguments = {
        "holders": [Scope("user", "ann").owner], "as_of": "2019-12-31T00:00:00Z", "known_at": None, "sensitive": True,
        "terms": [1], "share_min": 0.3, "limit": 10,
    }  # fmt: skip
    values = ", ".join(literal(one) for one in (DEFAULT_TENANT, *in_order(HELD_AT, arguments)))
    async with database.begin(DEFAULT_TENANT) as tx:
        await tx.connection.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        await tx.connection.execute(f"PREPARE guarded AS {HELD_AT}")
        plan = await tx.connection.fetchval(f"EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE guarded ({values})")
        await tx.connection.execute("DEALLOCATE guarded")
    return sum(read(node) for node in nodes(json.loads(plan)[0]["Plan"]))
