"""Putting work on the table, in the statement or transaction that makes it necessary.

One row stands for a tenant, kind and subject. Enqueueing what is there already bumps the row's version: whoever
works on it finds at the end that it has to be done once more, so nothing that arrives meanwhile is forgotten. A dead
letter comes back to life by it, since what it failed on may be different now.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal
from uuid import UUID

from app.core.canonical import dumps
from app.ids import uuid7
from app.postgres.database import Connection

Kind = Literal["page", "summary", "embed", "passages"]
Lane = Literal["llm", "embedding", "local"]
"""The provider that work needs, if any: while one is down, the others' work goes on."""


@dataclass(frozen=True, slots=True)
class NewWork:
    """A row of ``work``. Subject and arguments hold ids and numbers only, never what somebody said."""

    kind: Kind
    subject: str
    id: UUID
    lane: Lane
    conversation_id: str | None
    args: str
    """JSON."""


COLUMNS = ("kind", "subject", "id", "lane", "conversation_id", "args")

AGAIN = """ON CONFLICT (tenant_id, kind, subject) DO UPDATE
       SET version = work.version + 1, failed_at = NULL,
           due = CASE WHEN work.failed_at IS NULL THEN work.due ELSE now() END,
           created_at = CASE WHEN work.failed_at IS NULL THEN work.created_at ELSE now() END,
           attempts = CASE WHEN work.failed_at IS NULL THEN work.attempts ELSE 0 END,
           excused = CASE WHEN work.failed_at IS NULL THEN work.excused ELSE 0 END"""
"""What follows an INSERT INTO work of COLUMNS."""

ENQUEUE = f"""
INSERT INTO work (tenant_id, {", ".join(COLUMNS)})
SELECT $1, * FROM unnest($2::text[], $3::text[], $4::uuid[], $5::text[], $6::text[], $7::text[])
{AGAIN}
"""


async def enqueue(connection: Connection, tenant: UUID, rows: Sequence[NewWork]) -> None:
    """In the transaction that makes the work necessary. What is named twice is enqueued once."""
    some = in_lock_order(rows)
    await connection.execute(ENQUEUE, tenant, *([getattr(row, name) for row in some] for name in COLUMNS))


def in_lock_order(rows: Sequence[NewWork]) -> list[NewWork]:
    """Return each row once, sorted as every transaction locks them (see app.store)."""
    once = {(row.kind, row.subject): row for row in rows}
    return [once[name] for name in sorted(once)]


def traced(rows: Sequence[NewWork], traceparent: str | None) -> list[NewWork]:
    """Work that knows the trace of the request that made it necessary."""
    if traceparent is None:
        return list(rows)
    return [replace(row, args=dumps({**json.loads(row.args), "traceparent": traceparent})) for row in rows]


def page(conversation_id: str, uid: UUID, number: int) -> NewWork:
    """Indexing a closed page."""
    return NewWork("page", f"{uid}:{number}", uuid7(), "llm", conversation_id, f'{{"page":{number}}}')


def summary(conversation_id: str, uid: UUID) -> NewWork:
    """Bringing the rolling summary up to date."""
    return NewWork("summary", str(uid), uuid7(), "llm", conversation_id, "{}")


def archive_passages(archive: UUID, conversation_id: str | None) -> NewWork:
    """Indexing what an append or archiving left of a very long result."""
    return NewWork("passages", str(archive), uuid7(), "local", conversation_id, f'{{"archive":"{archive}"}}')


def message_passages(conversation_id: str, uid: UUID, seq: int) -> NewWork:
    """The same for a very long message."""
    return NewWork("passages", f"{uid}:{seq}", uuid7(), "local", conversation_id, f'{{"seq":{seq}}}')


def embed(owner: UUID) -> NewWork:
    """Giving vectors to an owner's new memories."""
    return NewWork("embed", str(owner), uuid7(), "embedding", None, "{}")
