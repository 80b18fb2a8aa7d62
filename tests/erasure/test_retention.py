"""What is beyond the messages that a conversation keeps is in search alone; what is past its time is gone."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable

import asyncpg
import httpx
import pytest

from app import worker
from app.assembly import runtime_of
from app.jobs.page import index_page
from app.postgres.embedded import EmbeddedPostgres
from app.postgres.tenants import DEFAULT_TENANT
from app.queue import table
from app.services.lifecycle import retention
from app.settings import Settings
from tests.api.kit import append, assistant, call, contents, history, ok, path, recall, result, turn, user, window
from tests.archive.conftest import Grep
from tests.archive.made import all_text, archived, load_tool, loaded, made

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
    seeds = [user("The Xylocarpus seeds are under pier seven."), assistant("Noted.")]
    # Two pages at once are left to jobs, and so are all after them.
    append(client, "c", [{"role": "system", "content": "The prompt stays."}, *turn(0), *seeds, *turn(1)])
    uuid = archived(client, "c", 1, made("prose"))
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
        assert len(now["messages"]) >= len(seen["messages"])
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


# --- Branches ------------------------------------------------------------------------------------------


def forked(client: httpx.Client, conversation: str, **body: object) -> None:
    ok(client.post(path(conversation, "fork"), json=body), 201)


def aged(run_as_superuser: Sql, *names: str) -> None:
    wanted = ", ".join(f"'{name}'" for name in names)
    run_as_superuser(f"UPDATE conversations SET updated_at = now() - interval '8 days' WHERE id IN ({wanted})")


def test_what_a_live_branch_shares_outlives_its_time(
    client: httpx.Client, retain: Retain, run_as_superuser: Sql
) -> None:
    uuid = archived(client, "t", 1, made("prose"))
    append(client, "t", turn(2))
    forked(client, "t", id="b")
    forked(client, "b", id="c", at=2)
    append(client, "b", turn(3))
    before = window(client, "b")["messages"]
    aged(run_as_superuser, "t", "c")
    wanted = {"memory_conversation_ttl_days": 7}
    assert retain(dry_run=True, **wanted)["conversations"] == 1
    assert retain(**wanted)["conversations"] == 1
    assert window(client, "b")["messages"] == before
    assert len(loaded(client, uuid)["content"]) > 10_000
    assert [one["id"] for one in ok(client.get(path("b", "branches")))["items"]] == ["b"]
    aged(run_as_superuser, "b")
    assert retain(dry_run=True, **wanted)["conversations"] == 2
    assert retain(**wanted)["conversations"] == 2
    assert ok(client.get("/conversations"))["items"] == []
    assert [row["n"] for row in run_as_superuser("SELECT count(*) AS n FROM archive_contents")] == [0]


def test_an_old_branch_leaves_what_it_shares(client: httpx.Client, retain: Retain, run_as_superuser: Sql) -> None:
    append(client, "t", turn(1))
    forked(client, "t", id="b")
    append(client, "b", turn(2))
    aged(run_as_superuser, "b")
    assert retain(memory_conversation_ttl_days=7)["conversations"] == 1
    assert len(history(client, "t")) == 2
    assert ok(client.get(path("t", "branches")))["items"] == []
    append(client, "t", turn(3))
    assert len(window(client, "t")["messages"]) == 1 + 4


@pytest.mark.slow
def test_messages_that_a_branch_shares_are_pruned_once_it_is_gone(client: httpx.Client, retain: Retain) -> None:
    for number in range(1, 60):
        append(client, "t", turn(number))
    ok(client.patch(path("t"), json={"budget": 4000}))
    append(client, "t", turn(60))
    forked(client, "t", id="b", at=100)
    before = window(client, "b", budget=20_000)["messages"]
    wanted = {"memory_max_messages_per_thread": 40}
    assert retain(**wanted)["pruned"] == 0
    assert window(client, "b", budget=20_000)["messages"] == before
    ok(client.delete(path("b")))
    assert retain(**wanted)["pruned"] > 20


def test_an_archive_that_expires_is_hidden_in_every_branch(client: httpx.Client, run_as_superuser: Sql) -> None:
    uuid = archived(client, "t", 1, made("prose"))
    forked(client, "t", id="b")
    append(client, "b", turn(2))
    assert "error" not in load_tool(client, "b", uuid=uuid)
    run_as_superuser("UPDATE archives SET expires_at = now() - interval '1 second'")
    for name in "tb":
        assert "There is no such archive" in load_tool(client, name, uuid=uuid)["content"]
    assert len(history(client, "b")) == len(history(client, "t")) + 2


def test_a_memory_that_expires_takes_every_copy_with_it(
    client: httpx.Client, settings: Settings, postgres: EmbeddedPostgres, run_as_superuser: Sql, tables_with: Grep
) -> None:
    for text, pinned in (
        ("The alarm's code is Xylocarpus 4471.", True),
        ("The kettle's service code is Xylocarpus green.", False),
    ):
        body = {"user_id": "u", "content": text, "expires_at": "2100-01-01T00:00:00Z", "pinned": pinned}
        ok(client.post("/memories", json=body, headers={"Idempotency-Key": f"pinned: {pinned}"}), 201)
    append(client, "c", [user("Tell me about the kettle."), call("a", name="recall_memory")])
    found = ok(client.post(path("c", "tools", "recall_memory"), json={"arguments": {"query": "the green kettle"}}))
    append(client, "c", [result("a", found["content"])])
    append(client, "d", [user("What is the kettle's service code?")])
    assert ("green" in all_text(window(client, "c")), "4471" in all_text(window(client, "d"))) == (True, True)
    assert "green" in all_text(window(client, "d"))

    async def housekeep() -> None:
        async with runtime_of(settings, postgres.app_dsn) as runtime:
            await worker.keep_house(runtime)

    run_as_superuser("UPDATE memories SET expires_at = now() - interval '1 second' WHERE content LIKE '%Xylocarpus%'")
    asyncio.run(housekeep())
    assert tables_with("Xylocarpus") == []
    for name in "cd":
        assert "Xylocarpus" not in all_text(window(client, name))


def test_only_what_nobody_shares_goes_with_a_branch(client: httpx.Client, run_as_superuser: Sql) -> None:
    append(client, "t", turn(1))
    forked(client, "t", id="b")
    uuid = archived(client, "b", 2, made("prose"))
    forked(client, "b", id="c")
    append(client, "c", turn(3))
    assert client.delete(path("b")).status_code == 409
    ok(client.delete(path("c")))
    assert len(loaded(client, uuid)["content"]) > 10_000
    ok(client.delete(path("b")))
    assert client.get(f"/archive/{uuid}").status_code == 404
    assert [row["id"] for row in run_as_superuser("SELECT id FROM conversations")] == ["t"]
    assert len(history(client, "t")) == 2
