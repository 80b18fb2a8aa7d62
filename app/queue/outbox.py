"""Events: written in the transaction that causes them, numbered after its commit, then sent.

A worker numbers rows in an order that no later commit can precede, so readers by number miss nothing. Rows are written
only for tenants with events on.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from app.core.canonical import dumps
from app.core.edge import webhooks
from app.core.edge.webhooks import OFF_AFTER, EventType, wants
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
    id: UUID
    type: EventType
    data: str
    """JSON of ids and numbers."""


def event(type_: EventType, **data: str | int | None) -> NewEvent:
    return NewEvent(uuid7(), type_, dumps({name: value for name, value in data.items() if value is not None}))


def of_memory(memory: UUID, status: str, conversation_id: str | None) -> NewEvent:
    return event(webhooks.of_memory(status), memory_key=str(memory), conversation_id=conversation_id)


_SQL = SqlFile(__file__, numbered_at_once=NUMBERED_AT_ONCE)
TELL, AFTER = _SQL.statement("tell"), _SQL.statement("after")
DROP_UNFOUNDED, NUMBER = _SQL.statement("drop_unfounded"), _SQL.statement("number")
PRUNE, NEXT = _SQL.statement("prune"), _SQL.statement("next")
DELIVERED, FAILED = _SQL.statement("delivered"), _SQL.statement("failed")


async def tell(tx: Tx, *events: NewEvent) -> None:
    """Write events in the transaction that causes them, if the tenant has events on."""
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
    await tx.execute(SWITCH, on)


async def is_on(database: Database, tenant: UUID) -> bool:
    row = await database.fetch_row(IS_ON, tenant)
    return bool(row and row["events"])


UNNUMBERED = "SELECT DISTINCT tenant_id AS tenant FROM events WHERE seq IS NULL"


async def unnumbered(database: Database) -> list[UUID]:
    """Return the tenants with work for ``number``."""
    async with database.watching() as connection:
        return sorted(row["tenant"] for row in await connection.fetch(UNNUMBERED))


# The last number, held by this transaction.
HOLD = "SELECT last_event FROM tenants WHERE tenant_id = $1 FOR NO KEY UPDATE"
COUNT_UP = "UPDATE tenants SET last_event = $2 WHERE tenant_id = $1"
_HOOK = "id, url, types, last_status, failing_since, disabled_at, created_at"
WEBHOOKS = f"SELECT {_HOOK} FROM webhooks WHERE tenant_id = $1 ORDER BY id"


async def number(tx: Tx) -> int:
    """Number a tenant's new events, enqueue their delivery to its webhooks, and return their count."""
    last = await tx.fetchval(HOLD)
    await tx.execute(DROP_UNFOUNDED)
    rows = await tx.fetch(NUMBER, last=last)
    if not rows:
        return 0
    await tx.execute(COUNT_UP, last + len(rows))
    types = {row["type"] for row in rows}
    listening = [hook for hook in await hooks(tx) if hook.disabled_at is None]
    work = [enqueue.webhook(hook.id) for hook in listening if any(wants(hook.types, type_) for type_ in types)]
    await enqueue.enqueue(tx, work)
    return len(rows)


LAST = "SELECT last_event FROM tenants WHERE tenant_id = $1"


@dataclass(frozen=True, slots=True)
class StoredEvent:
    id: UUID
    seq: int
    type: str
    data: str

    @property
    def body(self) -> str:
        """Return the event's body, for webhooks and streams."""
        return webhooks.body(self.id, self.seq, self.type, json.loads(self.data))


async def after(database: Database, tenant: UUID, seq: int) -> list[StoredEvent]:
    """Return at most two hundred events after one."""
    return [StoredEvent(*row) for row in await database.fetch_all(AFTER, str(tenant), seq=seq)]


async def last(database: Database, tenant: UUID) -> int:
    """Return the number of a tenant's newest event."""
    row = await database.fetch_row(LAST, tenant)
    return int(row["last_event"]) if row else 0


# --- Webhooks ---------------------------------------------------------------------------------------

ADD = f"""
INSERT INTO webhooks (tenant_id, id, url, secret, types, cursor)
SELECT $1, $2, $3, $4, $5, t.last_event FROM tenants t WHERE t.tenant_id = $1 RETURNING {_HOOK}
"""
COUNT = "SELECT count(*) FROM webhooks WHERE tenant_id = $1"
REMOVE = f"DELETE FROM webhooks WHERE tenant_id = $1 AND id = $2 RETURNING {_HOOK}"
RECEIVER = "SELECT url, secret, types, cursor FROM webhooks WHERE tenant_id = $1 AND id = $2 AND disabled_at IS NULL"


@dataclass(frozen=True, slots=True)
class StoredWebhook:
    id: UUID
    url: str
    types: Sequence[str]
    last_status: str | None
    failing_since: datetime | None
    disabled_at: datetime | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Receiver:
    """A webhook to deliver to, and its progress."""

    url: str
    secret: str
    types: Sequence[str]
    cursor: int


async def hooks(tx: ReadTx) -> list[StoredWebhook]:
    return [StoredWebhook(*row) for row in await tx.fetch(WEBHOOKS)]


async def add_webhook(tx: Tx, id_: UUID, url: str, secret: str, types: Sequence[str]) -> StoredWebhook:
    """Add a webhook, and turn events on."""
    await switch(tx, on=True)
    [row] = await tx.fetch(ADD, id_, url, secret, list(types))
    return StoredWebhook(*row)


async def remove_webhook(tx: Tx, id_: UUID) -> StoredWebhook | None:
    """Remove a webhook; None if it does not exist. Events stay on, for streams."""
    row = await tx.fetchrow(REMOVE, id_)
    return StoredWebhook(*row) if row is not None else None


async def count_webhooks(tx: ReadTx) -> int:
    return int(await tx.fetchval(COUNT))


async def receiver(tx: ReadTx, id_: UUID) -> Receiver | None:
    """Return a webhook to deliver to; None if it is removed or turned off."""
    row = await tx.fetchrow(RECEIVER, id_)
    return Receiver(*row) if row is not None else None


async def next_event(tx: ReadTx, receiver: Receiver) -> StoredEvent | None:
    row = await tx.fetchrow(NEXT, cursor=receiver.cursor, types=receiver.types)
    return StoredEvent(*row) if row is not None else None


async def note_delivery(tx: Tx, id_: UUID, seq: int, problem: str | None, *, is_gone: bool = False) -> bool:
    """Move the cursor past a delivered event, or note the failure. Return whether the webhook was turned off."""
    if problem is None:
        await tx.execute(DELIVERED, id=id_, seq=seq)
        return False
    row = await tx.fetchrow(FAILED, id=id_, status=problem, is_gone=is_gone, off_after=OFF_AFTER)
    if row is not None and row["disabled_at"] is not None:
        await tell(tx, event("webhook.disabled", webhook_id=str(id_)))
    return row is None or row["disabled_at"] is not None


async def prune(tx: Tx, before: UUID) -> bool:
    """Delete some old events. Return whether there can be more."""
    return await tx.execute(PRUNE, before=before, limit=PRUNED_AT_ONCE) == PRUNED_AT_ONCE
