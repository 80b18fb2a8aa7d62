"""The audit log. Rows are added, and deleted when they are old; nothing changes them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from app.core.canonical import dumps, loads
from app.core.edge.audit import Action, AuditEntry
from app.core.times import first_id
from app.ids import uuid7
from app.postgres.database import Database
from app.postgres.statements import SqlFile
from app.postgres.transactions import ReadTx, Tx

PRUNED_AT_ONCE = 5_000

_SQL = SqlFile(__file__)
ADD = _SQL.statement("add")
_AS_THEY_ARE = ("action", "route", "key", "user_id", "address", "status", "request_id")


async def add(database: Database, tenant: UUID, entries: Sequence[AuditEntry]) -> None:
    """Add all of them or none."""
    await database.write_row(
        ADD, str(tenant), id=[uuid7() for _ in entries], ids=[dumps(entry.ids) for entry in entries],
        **{name: [getattr(entry, name) for entry in entries] for name in _AS_THEY_ARE},
    )  # fmt: skip


LIST = """
SELECT id, action, route, ids, key, user_id, address, status, request_id FROM audit
 WHERE tenant_id = $1 AND id > $2 AND ($3::text IS NULL OR action = $3) AND ($4::text IS NULL OR user_id = $4)
 ORDER BY id LIMIT $5
"""


async def browse(
    tx: ReadTx, after: UUID, since: datetime, action: Action | None, user_id: str | None, limit: int
) -> list[tuple[UUID, AuditEntry]]:
    """List entries after one, the oldest first."""
    rows = await tx.fetch(LIST, max(after, first_id(since)), action, user_id, limit)
    return [(name, AuditEntry(action_, route, loads(ids), *rest)) for name, action_, route, ids, *rest in rows]


# Those older than a UUIDv7 of that time.
PRUNE = """
DELETE FROM audit WHERE tenant_id = $1 AND id = ANY (ARRAY(
  SELECT id FROM audit WHERE tenant_id = $1 AND id < $2 ORDER BY id LIMIT $3))
"""


async def prune(tx: Tx, before: UUID) -> bool:
    """Delete old entries, some at a time; return whether there may be more."""
    return await tx.execute(PRUNE, before, PRUNED_AT_ONCE) == PRUNED_AT_ONCE
