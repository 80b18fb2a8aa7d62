"""With a long backlog, no statement of the work table reads it from end to end."""

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from itertools import product
from uuid import UUID, uuid4

import asyncpg
import pytest

from app.db import Connection, Database
from app.store import spending, unindexed
from app.work import table
from tests.guards.tenants import ANN, BOB
from tests.guards.test_query_plans import BLOCKS_MAX, ROWS_FILTERED_MAX, literal, steps

pytestmark = pytest.mark.anyio

BACKLOG = 20_000
A_MINUTE = timedelta(minutes=1)
HELD = (ANN, "page", "s1", uuid4())

STATEMENTS: dict[str, tuple[str, tuple[object, ...]]] = {
    "due": (table.DUE, (str(ANN),)),
    "claim": (table.CLAIM, (ANN, "llm", ["page", "summary"], uuid4(), A_MINUTE)),
    "claim in an idle lane": (table.CLAIM, (ANN, "embedding", ["embed"], uuid4(), A_MINUTE)),
    "beat": (table.BEAT, (*HELD, A_MINUTE)),
    "lock": (table.LOCK, HELD),
    "delete": (table.DELETE, HELD),
    "re-arm": (table.REARM, HELD),
    "fail": (table.FAIL, (*HELD, "e", A_MINUTE, 0)),
    "bury": (table.BURY, (*HELD, "e")),
    "release": (table.RELEASE, (*HELD, A_MINUTE, "e")),
    "expired": (table.EXPIRED, (ANN,)),
    "reap": (table.REAP, (ANN, ["page"], ["s1"], ["1 minute"], "e")),
    "retry": (table.RETRY, (ANN, UUID(int=1))),
    "retry some": (table.RETRY_SOME, (ANN, 20)),
    "find": (table.FIND, (ANN, UUID(int=1))),
    "dead letters": (table.DEAD, (ANN, UUID(int=0), 20)),
    "jobs": (table.ALL, (ANN, 400)),
    "jobs of a conversation": (table.ALL_OF, (ANN, "c17", 400)),
    "neglected": (table.NEGLECTED, (ANN,)),
    "abandoned": (table.ABANDONED, (ANN,)),
    "of a conversation": (table.DEPTH_OF, (ANN, "c17")),
    "memories of a conversation without a vector": (unindexed.WITHOUT_VECTOR, (ANN, UUID(int=5), "c17")),
    "spent": (spending.TOTALS, (ANN,)),
    "spent on a conversation": (spending.TOTALS_OF, (ANN, "c17")),
}

FILL = """
INSERT INTO work (tenant_id, kind, subject, id, lane, conversation_id, due, token, claimed, failed_at, created_at)
SELECT '{tenant}', 'page', 's' || n, gen_random_uuid(), 'llm', 'c' || n % 2000, now() - make_interval(secs => n),
       CASE WHEN n <= 8 THEN gen_random_uuid() END, CASE WHEN n <= 8 THEN 1 END,
       CASE WHEN n % 50 = 49 THEN now() END, now()
  FROM generate_series(1, {rows}) n
"""


@pytest.fixture
async def connection(database: Database, superuser: asyncpg.Connection) -> AsyncIterator[Connection]:
    await superuser.execute("SET session_replication_role = replica")
    for tenant, rows in ((ANN, BACKLOG), (BOB, 2000)):
        await superuser.execute(
            "INSERT INTO conversations (tenant_id, id, uid)"
            f" SELECT '{tenant}', 'c' || n, gen_random_uuid() FROM generate_series(0, 1999) n"
        )
        await superuser.execute(FILL.format(tenant=tenant, rows=rows))
    await superuser.execute("ANALYZE work")
    async with database.begin(ANN) as opened:
        yield opened


async def test_a_backlog_is_not_read_from_end_to_end(connection: Connection) -> None:
    for index, (plan, name) in enumerate(product(("custom", "generic"), STATEMENTS)):
        sql, arguments = STATEMENTS[name]
        await connection.execute(f"SET LOCAL plan_cache_mode = force_{plan}_plan; PREPARE w{index} AS {sql}")
        given = ", ".join(f"'{a}'" if isinstance(a, timedelta) else literal(a) for a in arguments)
        [row] = await connection.fetch(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE w{index}({given})")
        whole = json.loads(row[0])[0]["Plan"]
        for step in steps(whole):
            seen = f"{plan} {name}: {step}"
            assert step["Node Type"] != "Seq Scan" or step["Relation Name"] != "work" or not step["Actual Loops"], seen
            assert step.get("Rows Removed by Filter", 0) < ROWS_FILTERED_MAX, seen
        touched = whole["Shared Hit Blocks"] + whole["Shared Read Blocks"]
        assert touched < BLOCKS_MAX, f"{plan} {name} touches {touched} blocks of 8 kB: {json.dumps(whole)[:4000]}"
