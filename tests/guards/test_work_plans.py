"""With a long backlog, no statement of the work table reads it from end to end."""

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from itertools import product
from uuid import UUID, uuid4

import asyncpg
import pytest

from app.postgres.database import ORDERED, Database
from app.postgres.transactions import Tx
from app.queue import depths, outbox, table
from app.store import spending, unindexed
from tests.guards.tenants import ANN, BOB, Sql
from tests.guards.test_query_plans import BLOCKS_MAX, ROWS_FILTERED_MAX, literal, steps

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

BACKLOG = 20_000
A_MINUTE = timedelta(minutes=1)
HELD = (ANN, "page", "s1", uuid4())

STATEMENTS: dict[str, tuple[Sql, tuple[object, ...]]] = {
    "due": (table.DUE, ([ANN],)),
    "astray": (table.ASTRAY, ([ANN], A_MINUTE)),
    "claim": (table.CLAIM, (str(ANN), "llm", ["page", "summary"], uuid4(), A_MINUTE)),
    "claim in an idle lane": (table.CLAIM, (str(ANN), "embedding", ["embed"], uuid4(), A_MINUTE)),
    "beat": (table.BEAT, (*HELD, A_MINUTE)),
    "delete": (table.DELETE, HELD),
    "re-arm": (table.REARM, HELD),
    "fail": (table.FAIL, (*HELD, "e", A_MINUTE, 0)),
    "bury": (table.BURY, (*HELD, "e")),
    "release": (table.RELEASE, (*HELD, A_MINUTE, "e")),
    "expired": (table.EXPIRED, (ANN,)),
    "reap": (table.REAP, (*HELD, "e", A_MINUTE)),
    "neglected": (depths.NEGLECTED, (str(ANN),)),
    "neglected of each": (depths.NEGLECTED_OF_EACH, ([ANN, BOB],)),
    "retry": (table.RETRY, (ANN, UUID(int=1))),
    "retry some": (table.RETRY_SOME, (ANN, 20)),
    "find": (table.FIND, (ANN, UUID(int=1))),
    "dead letters": (table.DEAD, (ANN, UUID(int=0), 20)),
    "jobs": (table.ALL, (ANN, 400)),
    "jobs of a conversation": (table.ALL_OF, (ANN, "c17", 400)),
    "of a conversation": (depths.DEPTH_OF, (ANN, "c17")),
    "memories of a conversation without a vector": (unindexed.WITHOUT_VECTOR, (ANN, UUID(int=5), "c17")),
    "spent": (spending.TOTALS, (ANN,)),
    "spent today": (spending.BACKGROUND_TODAY, (ANN,)),
    "spent on a conversation": (spending.TOTALS_OF, (ANN, "c17")),
}

FILL = """
INSERT INTO work (tenant_id, kind, subject, id, lane, conversation_id, due, token, claimed, failed_at, created_at)
SELECT '{tenant}', 'page', 's' || n, gen_random_uuid(), 'llm', 'c' || n % 2000, now() - make_interval(secs => n),
       CASE WHEN n <= 8 THEN gen_random_uuid() END, CASE WHEN n <= 8 THEN 1 END,
       CASE WHEN n % 50 = 49 THEN now() END, now()
  FROM generate_series(1, {rows}) n
"""


# What workers go on executing while the table fills and empties.
UNCEASING = (
    *("due", "claim", "claim in an idle lane", "beat", "delete", "re-arm", "fail", "bury", "release"),
    *("expired", "reap", "neglected", "neglected of each"),
)
READ_IN_ORDER = ("due", "claim", "claim in an idle lane", "neglected", "neglected of each")
EXECUTIONS = 8
"""PostgreSQL decides after five whether it keeps a plan."""


@pytest.fixture
async def tx(database: Database, superuser: asyncpg.Connection, fresh: None) -> AsyncIterator[Tx]:
    await fill(superuser, BACKLOG)
    await superuser.execute("ANALYZE work")
    async with database.begin(ANN) as opened:
        yield opened


async def fill(superuser: asyncpg.Connection, rows: int) -> None:
    await superuser.execute("SET session_replication_role = replica; DELETE FROM work")
    for tenant, several in ((ANN, rows), (BOB, rows // 10)):
        await superuser.execute(
            f"INSERT INTO conversations (tenant_id, id, uid) SELECT '{tenant}', 'c' || n, gen_random_uuid()"
            " FROM generate_series(0, 1999) n ON CONFLICT DO NOTHING"
        )
        await superuser.execute(FILL.format(tenant=tenant, rows=several))


async def test_a_backlog_is_not_read_from_end_to_end(tx: Tx) -> None:
    for plan, name in product(("custom", "generic"), STATEMENTS):
        await tx.connection.execute(f"SET LOCAL plan_cache_mode = force_{plan}_plan; {prepare(plan, name)}")
        await assert_found_by_index(tx, plan, name)


@pytest.mark.parametrize("left", [0, 1])
async def test_late_work_is_found_after_many_empty_polls(
    database: Database, superuser: asyncpg.Connection, fresh: None, left: int
) -> None:
    """Plans that PostgreSQL would keep were made for a table that it knew to be all but empty."""
    await fill(superuser, left)
    await superuser.execute("VACUUM ANALYZE work")
    async with database.begin(ANN) as tx:
        for name in UNCEASING:
            await tx.connection.execute(prepare("stale", name))
            await tx.connection.execute(f"SAVEPOINT before; {settings(name)}")
            for _ in range(EXECUTIONS):
                await tx.connection.execute(execute("stale", name))
            await tx.connection.execute("ROLLBACK TO before")
        await fill(superuser, BACKLOG)
        for name in UNCEASING:
            await assert_found_by_index(tx, "stale", name)


def settings(name: str) -> str:
    return "".join(f"SET LOCAL {k} = {v};" for k, v in ORDERED.items()) if name in READ_IN_ORDER else ""


def prepare(plan: str, name: str) -> str:
    return f'PREPARE "{plan} {name}" AS {STATEMENTS[name][0]}'


def execute(plan: str, name: str) -> str:
    given = ", ".join(f"'{a}'" if isinstance(a, timedelta) else literal(a) for a in STATEMENTS[name][1])
    return f'EXECUTE "{plan} {name}"({given})'


async def test_idle_tenants_cost_nothing(database: Database, superuser: asyncpg.Connection, fresh: None) -> None:
    """Nor do tenants with a long backlog more than those with a short one."""
    touched: dict[str, list[int]] = {}
    for idle in (0, 5_000):
        await fill(superuser, BACKLOG)
        await superuser.execute(
            "INSERT INTO tenants (tenant_id, name)"
            f" SELECT gen_random_uuid(), 't' || n FROM generate_series(1, {idle}) n"
        )
        await superuser.execute("VACUUM ANALYZE")
        assert await table.busy(database) == [ANN, BOB]
        async with database.watching() as connection:
            for sql in (table.BUSY, outbox.UNNUMBERED, depths.ABANDONED):
                [row] = await connection.fetch(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}")
                whole = json.loads(row[0])[0]["Plan"]
                touched.setdefault(str(sql), []).append(whole["Shared Hit Blocks"] + whole["Shared Read Blocks"])
    for sql, (before, after) in touched.items():
        assert after <= before + 2, sql
        assert after < BLOCKS_MAX, sql


async def assert_found_by_index(tx: Tx, plan: str, name: str) -> None:
    await tx.connection.execute(f"SAVEPOINT before; {settings(name)}")
    [row] = await tx.connection.fetch(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {execute(plan, name)}")
    await tx.connection.execute("ROLLBACK TO before")
    whole = json.loads(row[0])[0]["Plan"]
    for step in steps(whole):
        seen = f"{plan} {name}: {step}"
        assert step["Node Type"] != "Seq Scan" or step["Relation Name"] != "work" or not step["Actual Loops"], seen
        for reason in ("Filter", "Join Filter"):
            assert step.get(f"Rows Removed by {reason}", 0) < ROWS_FILTERED_MAX, seen
    touched = whole["Shared Hit Blocks"] + whole["Shared Read Blocks"]
    assert touched < BLOCKS_MAX, f"{plan} {name} touches {touched} blocks of 8 kB: {json.dumps(whole)[:4000]}"
