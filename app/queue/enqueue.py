"""Enqueue work in the statement or transaction that makes it necessary.

There is one row for each tenant, kind and subject. Enqueueing an existing row raises its version, so that a worker that
is running it sees at the end that it must run again: nothing that arrives meanwhile is lost. A dead job is revived,
because the cause of its failure can be gone.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal
from uuid import UUID

from app.core.canonical import dumps
from app.ids import uuid7
from app.postgres.database import wake_at_commit
from app.postgres.transactions import Tx

Lane = Literal["llm", "embedding", "local", "delivery"]
"""The provider that work needs, if any: while one is down, work for the others continues."""


@dataclass(frozen=True, slots=True)
class NewWork:
    """A row of ``work``. Subject and arguments contain ids and numbers only, never user content."""

    kind: str
    subject: str
    id: UUID
    lane: Lane
    conversation_id: str | None
    args: str
    """JSON."""


@dataclass(frozen=True, slots=True)
class JobKind:
    """A kind of work. Its handler is in ``app.worker.HANDLERS``, its label "job <name>" in the inspector's texts."""

    name: str
    lane: Lane
    indexes: bool = False
    """A closed page or a long text counts as unindexed until such work is done."""

    def work(self, subject: str, conversation_id: str | None, **args: str | int) -> NewWork:
        return NewWork(self.name, subject, uuid7(), self.lane, conversation_id, dumps(args))


PAGE = JobKind("page", "llm", indexes=True)
CHAPTER = JobKind("chapter", "llm")
SUMMARY = JobKind("summary", "llm")
PASSAGES = JobKind("passages", "local", indexes=True)
EMBED = JobKind("embed", "embedding")
SEARCH_INDEX = JobKind("search_index", "local")
WEBHOOK = JobKind("webhook", "delivery")
KINDS = (PAGE, CHAPTER, SUMMARY, PASSAGES, EMBED, SEARCH_INDEX, WEBHOOK)
INDEXING = ", ".join(f"'{kind.name}'" for kind in KINDS if kind.indexes)
"""The names of the kinds that index, for an SQL list."""

COLUMNS = ("kind", "subject", "id", "lane", "conversation_id", "args")

AGAIN = """ON CONFLICT (tenant_id, kind, subject) DO UPDATE
       SET version = work.version + 1, failed_at = NULL,
           due = CASE WHEN work.failed_at IS NULL THEN work.due ELSE excluded.due END,
           created_at = CASE WHEN work.failed_at IS NULL THEN work.created_at ELSE excluded.created_at END,
           attempts = CASE WHEN work.failed_at IS NULL THEN work.attempts ELSE 0 END,
           excused = CASE WHEN work.failed_at IS NULL THEN work.excused ELSE 0 END"""
"""Follows an INSERT INTO work of COLUMNS."""

ENQUEUE = f"""
INSERT INTO work (tenant_id, {", ".join(COLUMNS)})
SELECT $1, * FROM unnest($2::text[], $3::text[], $4::uuid[], $5::text[], $6::text[], $7::text[])
{AGAIN}
"""


async def enqueue(tx: Tx, rows: Sequence[NewWork]) -> None:
    """Enqueue rows, each once, in the transaction that makes them necessary."""
    if not rows:
        return
    some = in_lock_order(rows)
    wake_at_commit(tx)
    await tx.execute(ENQUEUE, *([getattr(row, name) for row in some] for name in COLUMNS))


def in_lock_order(rows: Sequence[NewWork]) -> list[NewWork]:
    """Return each row once, sorted as every transaction locks them (see app.store)."""
    once = {(row.kind, row.subject): row for row in rows}
    return [once[name] for name in sorted(once)]


def traced(rows: Sequence[NewWork], traceparent: str | None) -> list[NewWork]:
    """Attach the trace of the request that made the work necessary."""
    if traceparent is None:
        return list(rows)
    return [replace(row, args=dumps({**json.loads(row.args), "traceparent": traceparent})) for row in rows]


def page(conversation_id: str, uid: UUID, number: int) -> NewWork:
    return PAGE.work(f"{uid}:{number}", conversation_id, page=number)


def chapter(conversation_id: str, uid: UUID, first_page: int) -> NewWork:
    return CHAPTER.work(f"{uid}:{first_page}", conversation_id, first_page=first_page)


def summary(conversation_id: str, uid: UUID) -> NewWork:
    return SUMMARY.work(str(uid), conversation_id)


def archive_passages(archive: UUID, conversation_id: str | None) -> NewWork:
    """Return the work that indexes the remaining passages of a very long result."""
    return PASSAGES.work(str(archive), conversation_id, archive=str(archive))


def message_passages(conversation_id: str, uid: UUID, seq: int) -> NewWork:
    """Return the work that indexes the remaining passages of a very long message."""
    return PASSAGES.work(f"{uid}:{seq}", conversation_id, seq=seq)


def embed(owner: UUID) -> NewWork:
    return EMBED.work(str(owner), None)


def search_index(owner: UUID) -> NewWork:
    return SEARCH_INDEX.work(str(owner), None)


def webhook(hook: UUID) -> NewWork:
    """Return the work that delivers pending events to a webhook."""
    return WEBHOOK.work(str(hook), None, webhook=str(hook))
