"""Background work of two tenants whose conversations have the same names: no statement touches the other's."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from types import ModuleType
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from app.ids import uuid7
from app.postgres.database import Database
from app.queue import depths, enqueue, outbox, table
from app.store import spending, unindexed
from app.store.operators import chores, limits
from tests.guards.tenants import ANN, BOB, Sql, fingerprint

pytestmark = pytest.mark.anyio

MODULES = (table, depths, outbox, spending, limits, unindexed, chores)
LONG_AGO = date(2000, 1, 1)
A_MINUTE = timedelta(minutes=1)
KINDS = ["page", "summary", "embed"]


@pytest.fixture
async def work(database: Database) -> dict[UUID, dict[str, dict[str, Any]]]:
    """Of each tenant one row in every state, with equal subjects and, as it should never be, equal ids and tokens."""
    ids = {state: uuid7() for state in ("waiting", "running", "expired", "dead")}
    found: dict[UUID, dict[str, dict[str, Any]]] = {}
    for tenant in (ANN, BOB):
        async with database.begin(tenant) as tx:
            for state, uid in ids.items():
                await tx.execute("INSERT INTO conversations (tenant_id, id, uid) VALUES ($1, $2, $3)", state, uid)
                await tx.execute(
                    "INSERT INTO work (tenant_id, kind, subject, id, lane, conversation_id, token, claimed, due,"
                    " failed_at, error) VALUES ($1, 'page', $2, $3, 'llm', $2, $4, 1, now() + $5, $6, $7)", state, uid,
                    uid if state in ("running", "expired") else None,
                    A_MINUTE if state == "running" else -5 * A_MINUTE,
                    await tx.connection.fetchval("SELECT now()") if state == "dead" else None, f"error of {tenant}",
                )  # fmt: skip
            await tx.execute(spending.RECORD, "waiting", "page", f"model of {tenant}", *range(len(spending.COUNTERS)))
            await outbox.add_webhook(tx, ids["running"], f"https://{tenant}/", "whsec_", ())
            await outbox.tell(tx, outbox.event("cut.made", conversation_id=f"of {tenant}"))
            await tx.execute("UPDATE events SET seq = 1 WHERE tenant_id = $1")
            await outbox.tell(tx, outbox.event("memory.proposed", memory_key=str(ids["running"])))
            await tx.execute(limits.ADD_BYTES, ["u"], [7])
            await limits.take_shared(tx, ids["running"], 10, 1)
            rows = await tx.fetch("SELECT * FROM work WHERE tenant_id = $1")
        found[tenant] = {row["subject"]: dict(row) for row in rows}
    return found


def arguments(ids: dict[str, UUID]) -> dict[str, tuple[object, ...]]:
    """Every statement, with what finds a row for its own tenant."""
    held = ("page", "running", ids["running"])
    return {
        table.BEAT: (*held, A_MINUTE),
        table.DELETE: held,
        table.REARM: held,
        table.FAIL: (*held, "forged", A_MINUTE, 1),
        table.BURY: (*held, "forged"),
        table.RELEASE: (*held, A_MINUTE, "forged"),
        str(table.EXPIRED): (),
        table.REAP: ("page", "expired", ids["expired"], "forged", A_MINUTE),
        table.BRING_BACK: (A_MINUTE,),
        table.RETRY: (ids["dead"],),
        table.RETRY_SOME: (10,),
        table.FIND: (ids["dead"],),
        table.ALL: (10,),
        table.ALL_OF: ("waiting", 10),
        table.DEAD: (UUID(int=0), 10),
        str(depths.DEPTH_OF): ("running",),
        spending.TOTALS: (),
        spending.TOTALS_OF: ("waiting",),
        spending.BACKGROUND_TODAY: (),
        spending.SINCE: (LONG_AGO,),
        spending.SINCE_BY_DAY: (LONG_AGO,),
        spending.SINCE_BY_USER: (LONG_AGO, "", 10),
        spending.SINCE_BY_CONVERSATION: (LONG_AGO, "", 10),
        spending.LARGEST: (LONG_AGO, "", 10),
        outbox.HOLD: (),
        str(outbox.DROP_UNFOUNDED): (),
        str(outbox.NUMBER): (7,),
        outbox.COUNT_UP: (7,),
        outbox.WEBHOOKS: (),
        outbox.COUNT: (),
        str(outbox.NEXT): (0, []),
        str(outbox.DELIVERED): (7, ids["running"]),
        str(outbox.FAILED): ("forged", True, 5 * A_MINUTE, ids["running"]),
        outbox.REMOVE: (ids["running"],),
        outbox.RECEIVER: (ids["running"],),
        str(outbox.PRUNE): (UUID(int=2**128 - 1), 10),
        limits.PUT_BUCKET: (ids["running"], 1.0, datetime.now(UTC)),
        limits.FORGET_RATES: (A_MINUTE,),
        limits.TENANT_BYTES: (),
        limits.USER_BYTES: (["u"],),
        limits.UNCOUNTED: (10,),
        limits.RECOUNT: ("u",),
        limits.FORGET_USER: ("u",),
        limits.STORED: ("", 10),
        spending.OF_CONVERSATION: ("waiting",),
        unindexed.UNINDEXED: (),
        unindexed.WITHOUT_VECTOR: (UUID(int=5), "waiting"),
    }


NAMES = [
    f"{module.__name__}.{name}"
    for module in MODULES
    for name, value in vars(module).items()
    if name.isupper() and name[0].isupper() and isinstance(value, Sql) and "$1" in str(value)
]
PUT_IN = {
    "app.store.spending.RECORD", "app.store.operators.limits.BUCKET", "app.store.operators.limits.READ_BUCKET",
    "app.store.operators.limits.ADD_BYTES", "app.store.operators.limits.COUNT",
    "app.store.operators.limits.SET_QUOTA", "app.queue.outbox.TELL", "app.queue.outbox.SWITCH", "app.queue.outbox.ADD",
}  # fmt: skip
SETS_THE_TENANT = {
    "app.queue.outbox.AFTER", "app.store.operators.chores.DUE", "app.store.operators.chores.DUE_OF_TENANT",
    "app.queue.table.DUE_OF_TENANT", "app.queue.table.ASTRAY_OF_TENANT",
    "app.queue.table.DUE", "app.queue.table.ASTRAY", "app.queue.table.CLAIM", "app.queue.depths.NEGLECTED",
    "app.queue.depths.NEGLECTED_OF_EACH", "app.queue.depths.DEPTH", "app.queue.depths.DEPTH_OF_EACH",
}  # fmt: skip
SEEN_BY_ALL = {
    "app.store.operators.limits.QUOTA", "app.store.operators.limits.DOOR", "app.queue.outbox.IS_ON",
    "app.queue.outbox.LAST",
}  # fmt: skip
APART = PUT_IN | SETS_THE_TENANT | SEEN_BY_ALL
COUNTING = {
    "app.queue.depths.DEPTH_OF",
    "app.store.unindexed.UNINDEXED",
    "app.store.unindexed.WITHOUT_VECTOR",
    "app.store.spending.BACKGROUND_TODAY",
    "app.store.operators.limits.TENANT_BYTES",
    "app.queue.outbox.COUNT",
}
"""They answer with a row of noughts where there is nothing."""


def statement(name: str) -> str:
    modules: dict[str, ModuleType] = {module.__name__: module for module in MODULES}
    module, constant = name.rsplit(".", 1)
    return str(getattr(modules[module], constant))


@pytest.mark.parametrize("name", [name for name in NAMES if name not in APART])
async def test_no_statement_touches_another_tenant(
    database: Database, superuser: asyncpg.Connection, work: dict[UUID, Any], name: str
) -> None:
    """Neither if it names the other in a transaction of its own, nor if it names itself."""
    sql = statement(name)
    assert "tenant_id" in sql
    given = arguments({state: row["id"] for state, row in work[ANN].items()})[sql]
    before = await fingerprint(superuser, BOB)
    async with database.begin(ANN) as tx:
        nothing = await tx.connection.fetch(sql, BOB, *given)
        assert not nothing or (name in COUNTING and not any(nothing[0].values()))
        own = await tx.fetch(sql, *given)
        assert str(BOB) not in str(own)
    assert await fingerprint(superuser, BOB) == before
    changes = sql.lstrip().startswith(("UPDATE", "DELETE", "WITH"))
    assert own or changes, "it finds its own"


PUT_IN_SQL = {
    "enqueue": enqueue.ENQUEUE, "record": spending.RECORD, "bucket": limits.BUCKET,
    "read bucket": limits.READ_BUCKET, "bytes": limits.ADD_BYTES,
    "count": limits.COUNT, "quota": limits.SET_QUOTA, "tell": str(outbox.TELL), "switch": outbox.SWITCH,
    "webhook": outbox.ADD,
}  # fmt: skip


@pytest.mark.parametrize("sql", PUT_IN_SQL.values(), ids=PUT_IN_SQL.keys())
async def test_no_work_is_inserted_for_another_tenant(
    database: Database, superuser: asyncpg.Connection, work: dict[UUID, Any], sql: str
) -> None:
    new = enqueue.NewWork("page", "waiting", uuid7(), "llm", "waiting", "{}")
    given: tuple[object, ...] = ("waiting", "page", "m", *[1] * len(spending.COUNTERS))
    if sql in (limits.BUCKET, limits.READ_BUCKET):
        given = (new.id, 1.0)
    if sql == limits.ADD_BYTES:
        given = (["v"], [7])
    if sql == limits.COUNT:
        given = ("v", "u:v", [new.id])
    if sql == str(outbox.TELL):
        given = ([new.id], ["cut.made"], ["{}"])
    if sql == outbox.SWITCH:
        given = (True,)
    if sql == outbox.ADD:
        given = (new.id, "https://forged/", "whsec_", [])
    if sql == limits.SET_QUOTA:
        given = (1, 2, 3, 4)
    if sql == enqueue.ENQUEUE:
        given = tuple([getattr(new, column)] for column in enqueue.COLUMNS)
    before = await fingerprint(superuser, BOB)
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        async with database.begin(ANN) as tx:
            await tx.connection.execute(sql, BOB, *given)
    async with database.begin(ANN) as tx:
        await tx.execute(sql, *given)
    assert await fingerprint(superuser, BOB) == before


@pytest.mark.parametrize("is_analysed", [False, True])
async def test_claiming_sees_the_tenants_own_work_only(
    database: Database, superuser: asyncpg.Connection, work: dict[UUID, Any], *, is_analysed: bool
) -> None:
    """The statements set the tenant in their LIMIT, which must come before the first row; on cached plans too."""
    async with database.begin(BOB) as tx:
        await tx.execute("UPDATE work SET lane = 'embedding' WHERE tenant_id = $1")
    if is_analysed:
        await superuser.execute("ANALYZE work")
    for _ in range(8):  # PostgreSQL turns to a generic plan after five
        assert await table.due(database, [ANN, BOB, UUID(int=7)]) == {"llm": {ANN}, "embedding": {BOB}}
        assert await table.due(database, [BOB]) == {"embedding": {BOB}}
        assert set(await table.astray(database, [ANN, BOB, UUID(int=7)])) <= {ANN, BOB}
        assert await depths.neglected(database, [ANN]) == {"llm": f"error of {ANN}"}
        assert await depths.neglected(database, [BOB]) == {"embedding": f"error of {BOB}"}
        assert await depths.neglected(database, [UUID(int=7)]) == {}
        assert (await depths.neglected(database, [ANN, BOB])).keys() == {"llm", "embedding"}
        assert (await depths.by_lane(database, [BOB]))["embedding"].error == f"error of {BOB}"
        assert (await depths.by_lane(database, [ANN, BOB]))["llm"].pending == 1
        lanes: dict[UUID, enqueue.Lane] = {ANN: "llm", BOB: "embedding"}
        for tenant, lane in lanes.items():
            before = await fingerprint(superuser, BOB if tenant == ANN else ANN)
            [claimed] = await table.claim(database, tenant, lane, KINDS, 10)
            assert (claimed.tenant, claimed.subject) == (tenant, "waiting")
            assert await fingerprint(superuser, BOB if tenant == ANN else ANN) == before
            assert await table.release(database, claimed, after_seconds=-300)
        assert await table.claim(database, UUID(int=7), "llm", KINDS, 10) == []


def every_statement() -> Iterator[str]:
    yield from arguments(dict.fromkeys(("running", "expired", "dead"), UUID(int=0)))


async def test_every_statement_is_tried_here() -> None:
    assert {statement(name) for name in NAMES if name not in APART} == set(every_statement())


async def test_events_of_the_tenant_alone_are_read_and_numbered(database: Database, work: dict[UUID, Any]) -> None:
    """These statements set the tenant in their LIMIT, or are seen by all."""
    for _ in range(8):
        for tenant, other in ((ANN, BOB), (BOB, ANN)):
            assert str(other) not in str(await outbox.after(database, tenant, 0))
            assert str(tenant) in str(await outbox.after(database, tenant, 0))
    assert await outbox.unnumbered(database) == [ANN, BOB]
    async with database.begin(ANN) as tx:
        assert await outbox.number(tx) == 0, "a proposal that was not kept"
    assert await outbox.unnumbered(database) == [BOB]
    assert await outbox.after(database, UUID(int=7), 0) == []
