"""A list of 10,000 messages is compared by a bounded number of index reads. Older conversations get their chains."""

import json
from collections.abc import Callable
from typing import Any

import asyncpg
import httpx
import pytest

from app.core.history.sync import LOOK_BACK
from app.postgres.database import Database
from app.postgres.tenants import DEFAULT_TENANT
from app.services.conversations.selection import PROBES
from app.store import messages
from tests.api.kit import Json, append, assistant, call, created, ok, path, result, system, user
from tests.api.test_concurrency import assert_consistent, at_once
from tests.guards.test_bounded_reads import nodes, read
from tests.sync.kit import dialogue, fork, said, stored, sync

pytestmark = pytest.mark.slow

Ask = Callable[[str], list[asyncpg.Record]]

LENGTH = 10_000
HERE = f"'{DEFAULT_TENANT}', 'c'"
STATEMENTS = {
    "chains": (messages.CHAINS, f"{HERE}, ARRAY[{','.join(str(n) for n in range(300, 9900, 300))}]", PROBES),
    "newest digests": (messages.NEWEST_DIGESTS, f"{HERE}, 10, {LOOK_BACK}", LOOK_BACK),
    "digests of the prompt": (messages.PROMPT_DIGESTS, f"{HERE}, 3", 3),
}


def long_list() -> list[Json]:
    return [m for n in range(LENGTH // 2) for m in (user(f"question {n}"), assistant(f"answer {n}"))]


@pytest.fixture
def whole(fresh: None, client: httpx.Client, run_as_superuser: Ask) -> list[Json]:
    found = long_list()
    for end in range(1000, LENGTH + 1, 1000):
        append(client, "c", found[end - 1000 : end])
    run_as_superuser("ANALYZE messages")
    return found


@pytest.mark.anyio
@pytest.mark.parametrize("plan", ["custom", "generic"])
async def test_a_long_list_is_compared_by_bounded_index_reads(
    client: httpx.Client, whole: list[Json], database: Database, plan: str
) -> None:
    async with database.snapshot(DEFAULT_TENANT) as tx:
        for name, (sql, arguments, most) in STATEMENTS.items():
            await tx.connection.execute(f"SET LOCAL plan_cache_mode = force_{plan}_plan; PREPARE guarded AS {sql}")
            found = await tx.connection.fetchval(f"EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE guarded ({arguments})")
            await tx.connection.execute("DEALLOCATE guarded")
            steps = list(nodes(json.loads(found)[0]["Plan"]))
            assert not [step for step in steps if step["Node Type"] == "Seq Scan"], name
            assert sum(read(step) for step in steps) <= most, name


def test_long_grown_trimmed_and_forked_lists_are_distinguished(client: httpx.Client, whole: list[Json]) -> None:
    asked = [*whole, user("and on")]
    assert sync(client, "c", asked)["matched"] == LENGTH
    assert sync(client, "c", asked)["appended"] == []
    assert sync(client, "c", asked[:5000])["ahead"] == 5001
    assert sync(client, "c", asked[9100:])["matched"] == 901
    for index in (0, 1, 4999, 9999):
        assert fork(client, "c", [*whole[:index], user("changed"), *whole[index + 1 :], user("x")]) == (
            index,
            index + 1,
        )
    answer = sync(client, "c", [*whole[:700], user("changed"), *asked[701:], user("x")], on_fork="append")
    assert len(answer["appended"]) == 1
    assert 700 in answer["passed_over"]


# --- Conversations that are older than chains ---------------------------------------------------------

FORGET = (
    "UPDATE conversations SET chain = NULL, version = version + 1",
    "UPDATE messages SET chain = NULL, digest = NULL",
)


def older(ask: Ask) -> None:
    """As the migration leaves what was stored before it."""
    for statement in FORGET:
        ask(statement)


def test_an_old_conversation_gets_its_chains_when_it_is_synced(client: httpx.Client, run_as_superuser: Ask) -> None:
    whole = [system("Be brief."), *dialogue(*range(60)), user(), call("a"), result("a", "long " * 5000)]
    append(client, "c", whole)
    kept = "SELECT seq, digest, chain FROM messages ORDER BY seq"
    before = run_as_superuser(kept)
    older(run_as_superuser)
    append(client, "c", [assistant("said before the first sync")])
    asked = [*whole, assistant("said before the first sync"), user("new")]
    assert [m["seq"] for m in sync(client, "c", asked)["appended"]] == [len(asked)]
    assert run_as_superuser(kept)[: len(before)] == before
    assert stored(client, "c") == said(asked)
    assert fork(client, "c", [*asked[:9], user("changed")]) == (9, 10)
    assert run_as_superuser("SELECT FROM messages WHERE chain IS NULL OR digest IS NULL") == []


def test_old_conversations_without_messages_or_with_a_prompt_alone_can_be_synced(
    client: httpx.Client, run_as_superuser: Ask
) -> None:
    created(client, id="empty", user_id="u")
    append(client, "prompt", [system("Be brief.")])
    older(run_as_superuser)
    assert sync(client, "empty", dialogue(1))["matched"] == 0
    assert sync(client, "prompt", [system("Be brief."), *dialogue(1)])["matched"] == 1
    assert ok(client.get(path("prompt")))["system"] is None
    for name in ("empty", "prompt"):
        assert len(sync(client, name, [*dialogue(1), *dialogue(2)])["appended"]) == 4


def test_concurrent_syncs_of_an_old_conversation_store_new_messages_once(
    client: httpx.Client, run_as_superuser: Ask
) -> None:
    append(client, "c", dialogue(*range(150)))
    older(run_as_superuser)
    answers: list[Any] = at_once(lambda _: sync(client, "c", dialogue(*range(151))), 6)
    assert sum(len(answer["appended"]) for answer in answers) == 4
    assert_consistent(run_as_superuser, "c")


def test_a_list_still_matches_after_messages_are_deleted(client: httpx.Client, run_as_superuser: Ask) -> None:
    whole = dialogue(*range(10))
    append(client, "c", whole)
    run_as_superuser("DELETE FROM messages WHERE seq <= 8")
    assert sync(client, "c", [*whole, user("a")])["matched"] == 40
    older(run_as_superuser)
    assert fork(client, "c", [*whole, user("a"), user("b")])[0] == 0
    assert sync(client, "c", [*whole[8:], user("a"), user("b")])["matched"] == 33
    assert sync(client, "c", [*whole, user("a"), user("b"), user("c")], on_fork="append")["matched"] == 42
