"""A key with ten thousand versions, in a table that was never analyzed."""

from typing import Any

import httpx
import pytest

from app.core.scope import owner_of
from app.postgres.database import Database
from app.postgres.tenants import DEFAULT_TENANT
from tests.api.kit import append, ok, user, window

pytestmark = pytest.mark.anyio

VERSIONS = 10_000
COPIES = """
INSERT INTO memories (tenant_id, id, owner, type, start, length, terms, content, source, scope, holder, key, pinned,
                      tokens, valid_from, learnt_at)
SELECT tenant_id, gen_random_uuid(), owner, type, 0, 0, '{}/1000000000', 'Mood ' || n, source, scope, holder, key,
       pinned, tokens, valid_from - n * interval '1 minute', learnt_at
  FROM memories, generate_series(1, $3) n WHERE tenant_id = $1 AND holder = $2 AND key = 'mood'
"""


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


async def test_a_key_with_ten_thousand_versions_hides_nothing(client: httpx.Client, database: Database) -> None:
    put(client, "Never use tables.", valid_from="2001-01-01T00:00:00Z")
    put(client, "Ann is in Rome.", key="place", valid_from="2001-01-01T00:00:00Z")
    latest = put(client, "Mood 0", key="mood")
    async with database.begin(DEFAULT_TENANT) as tx:
        await tx.execute(COPIES, owner_of("u:ann"), VERSIONS - 1)
    append(client, "talk", [user("Hello there")], user_id="ann")
    head = str(window(client, "talk")["messages"])
    assert [text in head for text in ("Never use tables.", "Ann is in Rome.", "Mood 0", "Mood 1")] == [True] * 3 + [
        False
    ]
    assert every_version(client, latest["memory_key"]) == [f"Mood {n}" for n in range(VERSIONS)]
    put(client, "Mood now", key="mood")
    assert listed(client, key="mood") == ["Mood now"]
