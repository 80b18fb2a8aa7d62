"""A list of 10,000 messages is compared by a bounded number of index reads. Older conversations get their chains."""

import json
from collections.abc import Callable

import asyncpg
import httpx
import pytest

from app.core.history.sync import LOOK_BACK
from app.postgres.database import Database
from app.postgres.tenants import DEFAULT_TENANT
from app.services.conversations.selection import PROBES
from app.store import messages
from tests.api.kit import Json, append, assistant, user
from tests.guards.test_bounded_reads import nodes, read
from tests.sync.kit import dialogue, fork, sync

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


def test_a_list_still_matches_after_messages_are_deleted(client: httpx.Client, run_as_superuser: Ask) -> None:
    whole = dialogue(*range(10))
    append(client, "c", whole)
    run_as_superuser("DELETE FROM messages WHERE seq <= 8")
    assert sync(client, "c", [*whole, user("a")])["matched"] == 40
