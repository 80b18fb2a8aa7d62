"""Events: what happened, written in the transaction that did it, numbered once that is committed, and then sent.

A row has no number until a worker gives it one, in an order in which no later commit can come before it: so whoever
reads by number misses nothing. Rows are written only for tenants that have events on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from asyncpg import Record

from app.core.canonical import dumps
from app.core.edge.webhooks import EventType, proposed, wants
from app.core.history.rows import NewWish
from app.ids import uuid7
from app.postgres.database import Database
from app.postgres.statements import SqlFile
from app.postgres.transactions import ReadTx, Tx
from app.queue import enqueue

KEPT = timedelta(days=7)
NUMBERED_AT_ONCE = 500
PRUNED_AT_ONCE = 5_000


@dataclass(frozen=True, slots=True)
class NewEvent:
    """A row of ``events``."""

    id: UUID
    type: EventType
    data: str
    """JSON of ids and numbers."""


def event(type_: EventType, **data: str | int | None) -> NewEvent:
    return NewEvent(uuid7(), type_, dumps({name: value for name, value in data.items() if value is not None}))


def proposals(wishes: Iterable[NewWish], conversation_id: str) -> list[NewEvent]:
    """Return the events of wishes that wait for a person."""
    return [event(type_, **data) for type_, data in proposed(wishes, conversation_id)]


_SQL = SqlFile(__file__, numbered_at_once=NUMBERED_AT_ONCE)
TELL, AFTER = _SQL.statement("tell"), _SQL.statement("after")
DROP_UNFOUNDED, NUMBER = _SQL.statement("drop_unfounded"), _SQL.statement("number")
PRUNE = _SQL.statement("prune")


async def tell(tx: Tx, *events: NewEvent) -> None:
    """Write events in the transaction that makes them true, if the tenant has them on."""
    if events:
        await tx.execute(
            TELL, ids=[e.id for e in events], types=[e.type for e in events], data=[e.data for e in events]
        )


SWITCH = """
INSERT INTO tenants (tenant_id, name, events) VALUES ($1, 'default', $2)
ON CONFLICT (tenant_id) DO UPDATE SET events = excluded.events
"""
# Row-level security shows this row to everybody.
IS_ON = "SELECT events FROM tenants WHERE tenant_id = $1"


async def switch(tx: Tx, *, on: bool) -> None:
    """Turn a tenant's events on or off."""
    await tx.execute(SWITCH, on)


async def is_on(database: Database, tenant: UUID) -> bool:
    row = await database.fetch_row(IS_ON, tenant)
    return bool(row and row["events"])


UNNUMBERED = "SELECT DISTINCT tenant_id AS tenant FROM events WHERE seq IS NULL"


async def unnumbered(database: Database) -> list[UUID]:
    """Return the tenants that have something to do for ``number``."""
    async with database.watching() as connection:
        return sorted(row["tenant"] for row in await connection.fetch(UNNUMBERED))


# The last number, held by this transaction.
HOLD = "SELECT last_event FROM tenants WHERE tenant_id = $1 FOR NO KEY UPDATE"
COUNT_UP = "UPDATE tenants SET last_event = $2 WHERE tenant_id = $1"
WEBHOOKS = "SELECT id, url, types, created_at FROM webhooks WHERE tenant_id = $1 ORDER BY id"


async def number(tx: Tx) -> int:
    """Number a tenant's new events, and enqueue their delivery to its webhooks; how many they were."""
    last = await tx.fetchval(HOLD)
    await tx.execute(DROP_UNFOUNDED)
    rows = await tx.fetch(NUMBER, last=last)
    if not rows:
        return 0
    await tx.execute(COUNT_UP, last + len(rows))
    hooks = await tx.fetch(WEBHOOKS)
    work = [
        enqueue.webhook(hook["id"], row["seq"]) for hook in hooks for row in rows if wants(hook["types"], row["type"])
    ]
    await enqueue.enqueue(tx, work)
    return len(rows)


LAST = "SELECT last_event FROM tenants WHERE tenant_id = $1"
ONE = "SELECT id, seq, type, data, created_at FROM events WHERE tenant_id = $1 AND seq = $2"


async def after(database: Database, tenant: UUID, seq: int) -> Sequence[Record]:
    """Return the next events after one, at most two hundred."""
    return await database.fetch_all(AFTER, str(tenant), seq=seq)


async def last(database: Database, tenant: UUID) -> int:
    """Return the number of a tenant's newest event."""
    row = await database.fetch_row(LAST, tenant)
    return int(row["last_event"]) if row else 0


async def one(tx: ReadTx, seq: int) -> Record | None:
    return await tx.fetchrow(ONE, seq)


# --- Webhooks ---------------------------------------------------------------------------------------

ADD = """
INSERT INTO webhooks (tenant_id, id, url, secret, types) VALUES ($1, $2, $3, $4, $5)
RETURNING id, url, types, created_at
"""
COUNT = "SELECT count(*) FROM webhooks WHERE tenant_id = $1"
REMOVE = "DELETE FROM webhooks WHERE tenant_id = $1 AND id = $2 RETURNING id, url, types, created_at"
RECEIVER = "SELECT url, secret FROM webhooks WHERE tenant_id = $1 AND id = $2"


async def webhooks(tx: ReadTx) -> Sequence[Record]:
    return await tx.fetch(WEBHOOKS)


async def add_webhook(tx: Tx, id_: UUID, url: str, secret: str, types: Sequence[str]) -> Record:
    """Add a webhook, and turn events on."""
    await switch(tx, on=True)
    row = await tx.fetchrow(ADD, id_, url, secret, list(types))
    assert row is not None
    return row


async def remove_webhook(tx: Tx, id_: UUID) -> Record | None:
    """Remove a webhook; None if there is no such. Events stay on, for streams."""
    return await tx.fetchrow(REMOVE, id_)


async def count_webhooks(tx: ReadTx) -> int:
    return int(await tx.fetchval(COUNT))


async def receiver(tx: ReadTx, id_: UUID) -> Record | None:
    return await tx.fetchrow(RECEIVER, id_)


async def prune(tx: Tx, before: UUID) -> bool:
    """Forget old events, some at a time; return whether there may be more."""
    return await tx.execute(PRUNE, before=before, limit=PRUNED_AT_ONCE) == PRUNED_AT_ONCE
