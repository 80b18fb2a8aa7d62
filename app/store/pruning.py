"""Retention: find expired messages and conversations, and prune messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from uuid import UUID

from app.core.history.erasure import Forms
from app.postgres.statements import SqlFile
from app.postgres.transactions import ReadTx, Tx
from app.queue import enqueue

_UNSHARED = "NOT EXISTS (SELECT FROM conversations b WHERE b.tenant_id = $1 AND b.parent_id = c.id)"
"""Whether nothing branches off from a conversation ``c``: what a branch shares stays as long as the branch."""

# Conversations with more messages than are kept, that are not pruned as far as that.
LONG = f"""
SELECT id FROM conversations c
 WHERE tenant_id = $1 AND id > $3 AND last_seq > $2 AND pruned_through < last_seq - $2 AND {_UNSHARED}
 ORDER BY id LIMIT $4
"""


async def long(tx: ReadTx, keep: int, after: str, limit: int) -> list[str]:
    return [row["id"] for row in await tx.fetch(LONG, keep, after, limit)]


_SQL = SqlFile(__file__, passages=enqueue.PASSAGES.name)
READY = _SQL.statement("ready")


@dataclass(frozen=True, slots=True)
class PrunedMessage:
    seq: int
    kind: str
    role: str
    page: int
    body: str
    view: str | None
    anthropic: str | None


async def ready(
    tx: ReadTx, conversation_id: str, keep: int, before: int, through: int, limit: int
) -> list[PrunedMessage]:
    rows = await tx.fetch(READY, conversation=conversation_id, keep=keep, before=before, through=through, limit=limit)
    return [PrunedMessage(*fields) for *fields, _ in takewhile(lambda row: not row["waits"], rows)]


PASSAGES = """
SELECT id, start, length FROM memories
 WHERE tenant_id = $1 AND conversation_id = $2 AND seq = $3 AND type = 'episode' AND content IS NULL
"""
KEEP = "UPDATE memories SET content = $3, nul_offsets = $4::text::int[] WHERE tenant_id = $1 AND id = $2"
PRUNE = """
UPDATE messages
   SET body = $4, view = $5, short = NULL, anthropic = $6, loaded = NULL, loaded_tokens = 0, marks = '{}',
       salt = DEFAULT,
       full_tokens = CASE WHEN full_tokens < $7 THEN $7 ELSE full_tokens END,
       short_tokens = CASE WHEN short_tokens < $7 THEN $7 ELSE short_tokens END
 WHERE tenant_id = $1 AND conversation_id = $2 AND seq = $3
"""
ADVANCE = "UPDATE conversations SET pruned_through = $3 WHERE tenant_id = $1 AND id = $2"


async def passages(tx: ReadTx, conversation_id: str, seq: int) -> list[tuple[UUID, int, int]]:
    """Return id, start and length of a message's passages."""
    return [(row["id"], row["start"], row["length"]) for row in await tx.fetch(PASSAGES, conversation_id, seq)]


async def keep(tx: Tx, memory: UUID, content: str, nul_offsets: Sequence[int]) -> None:
    """Give a passage its own text."""
    await tx.execute(KEEP, memory, content, f"{{{','.join(map(str, nul_offsets))}}}")


async def prune(tx: Tx, conversation_id: str, seq: int, forms: Forms, tokens: int) -> None:
    """Replace a message's forms, but not its line, place and offsets. ``tokens``: the size of the new forms."""
    await tx.execute(PRUNE, conversation_id, seq, forms.body, forms.view, forms.anthropic, tokens)


async def advance(tx: Tx, conversation_id: str, through: int) -> None:
    await tx.execute(ADVANCE, conversation_id, through)


# Conversations without any activity since a time.
OLD = f"""
SELECT id FROM conversations c WHERE tenant_id = $1 AND updated_at < $2 AND {_UNSHARED} ORDER BY updated_at LIMIT $3
"""
# Those that no conversation with activity since then shares messages of, directly or by other branches.
COUNT_OLD = """
WITH RECURSIVE live AS (
  SELECT id, parent_id FROM conversations WHERE tenant_id = $1 AND updated_at >= $2
  UNION
  SELECT c.id, c.parent_id FROM live JOIN conversations c ON c.tenant_id = $1 AND c.id = live.parent_id
)
SELECT (SELECT count(*) FROM conversations WHERE tenant_id = $1) - count(*) FROM live
"""


async def old(tx: ReadTx, since: datetime, limit: int) -> list[str]:
    return [row["id"] for row in await tx.fetch(OLD, since, limit)]


async def count_old(tx: ReadTx, since: datetime) -> int:
    return int(await tx.fetchval(COUNT_OLD, since))
