"""What is beyond the messages that a conversation keeps is in search alone; what is past its time is gone."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable

import asyncpg
import httpx
import pytest

from app.jobs.page import index_page
from app.main import runtime_of
from app.postgres.embedded import EmbeddedPostgres
from app.postgres.tenants import DEFAULT_TENANT
from app.queue import table
from app.services.lifecycle import retention
from app.settings import Settings
from tests.api.kit import append, assistant, contents, history, ok, path, recall, turn, user, window
from tests.archive.conftest import Grep
from tests.archive.made import all_text, archived, loaded, made

Sql = Callable[[str], list[asyncpg.Record]]
Retain = Callable[..., Counter[str]]


@pytest.fixture
def retain(settings: Settings, postgres: EmbeddedPostgres) -> Retain:
    async def go(*, dry_run: bool, indexed: bool, **changes: int) -> Counter[str]:
        async with runtime_of(settings.model_copy(update=changes), postgres.app_dsn) as runtime:
            while indexed and (due := await table.claim(runtime.database, DEFAULT_TENANT, "llm", ["page"], 100)):
                for claimed in due:
                    await index_page(runtime, claimed)
            return await retention.retain(runtime, DEFAULT_TENANT, dry_run=dry_run)

    def run(*, dry_run: bool = False, indexed: bool = True, **changes: int) -> Counter[str]:
        return asyncio.run(go(dry_run=dry_run, indexed=indexed, **changes))

    return run


def test_pruned_messages_remain_in_search_only(client: httpx.Client, retain: Retain) -> None:
    append(client, "c", [{"role": "system", "content": "The prompt stays."}, *turn(0)])
    uuid = archived(client, "c", 1, made("prose"))
    append(client, "c", [user("The Xylocarpus seeds are under pier seven."), assistant("Noted.")])
    for number in range(2, 60):
        append(client, "c", turn(number))
    ok(client.patch(path("c"), json={"budget": 4000}))
    append(client, "c", turn(60))
    before = {b: window(client, "c", budget=b) for b in (4000, 6000)}
    wanted = {"memory_max_messages_per_thread": 40}
    assert retain(indexed=False, **wanted)["pruned"] == 0
    counted = retain(dry_run=True, **wanted)["pruned"]
    assert counted > 20
    assert not [m for m in history(client, "c") if "[pruned" in str(m["content"])]
    assert retain(**wanted)["pruned"] == counted
    assert retain(**wanted)["pruned"] == 0

    stored = history(client, "c")
    pruned = [m["seq"] for m in stored if "[pruned" in str(m["content"])]
    assert len(pruned) == counted - 1  # of a call without words its arguments go
    assert max(pruned) <= len(stored) - 40
    assert stored[0]["content"] == "The prompt stays."
    assert [m["seq"] for m in stored] == list(range(1, len(stored) + 1))
    for budget, seen in before.items():
        now = window(client, "c", budget=budget)
        assert (now["messages"] == seen["messages"]) == (budget == 4000)  # its own; larger ones show marks
        assert len(now["messages"]) == len(seen["messages"])
        assert now["usage"]["total"] <= budget
    assert window(client, "c", budget=60_000)["usage"]["total"] <= 60_000
    assert "[pruned" in recall(client, "c", 3)["content"]
    assert contents(client, "c")["entries"]
    found = ok(client.post("/memories/search", json={"user_id": "u", "query": "Xylocarpus seeds"}))["results"]
    assert "under pier seven" in found[0]["content_preview"]
    assert len(loaded(client, uuid)["content"]) > 10_000
    append(client, "c", turn(61))
    assert window(client, "c")["usage"]["total"]


def test_pruned_messages_can_be_erased(client: httpx.Client, retain: Retain, tables_with: Grep) -> None:
    append(client, "c", [user("The Xylocarpus seeds are under pier seven."), assistant("Noted.")])
    for number in range(2, 60):
        append(client, "c", turn(number))
    ok(client.patch(path("c"), json={"budget": 4000}))
    append(client, "c", turn(60))
    assert retain(memory_max_messages_per_thread=10)["pruned"]
    assert tables_with("Xylocarpus")
    ok(client.delete(path("c", "messages", "1")))
    assert tables_with("Xylocarpus") == []
    assert "Xylocarpus" not in json.dumps(history(client, "c")) + all_text(window(client, "c"))


def test_conversations_without_activity_for_long_are_erased(
    client: httpx.Client, retain: Retain, run_as_superuser: Sql
) -> None:
    for name in ("old", "new"):
        append(client, name, turn(1))
    run_as_superuser("UPDATE conversations SET updated_at = now() - interval '8 days' WHERE id = 'old'")
    wanted = {"memory_conversation_ttl_days": 7}
    assert retain(dry_run=True, **wanted)["conversations"] == 1
    assert retain(**wanted)["conversations"] == 1
    assert [c["id"] for c in ok(client.get("/conversations"))["items"]] == ["new"]
    assert retain()["conversations"] == 0
