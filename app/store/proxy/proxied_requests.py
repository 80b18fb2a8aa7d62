"""The requests that went through the proxy: what became of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from asyncpg import Record

from app.core.dialects.usage import ModelUsage
from app.ids import uuid7
from app.postgres.statements import SqlFile
from app.postgres.transactions import ReadTx, Tx

KEPT = timedelta(days=30)
PRUNED_AT_ONCE = 5_000
ERROR_CHARACTERS_MAX = 200


@dataclass(frozen=True, slots=True)
class ProxiedRequest:
    """One request, with all calls of the model that its answer took."""

    dialect: str
    mode: str
    model: str
    calls: int
    total_ms: int
    first_ms: int | None = None
    first_seq: int | None = None
    last_seq: int | None = None
    window_tokens: int | None = None
    usage: ModelUsage | None = None
    error: str | None = None
    window_number: int | None = None
    """Of the last window that the model saw, among those served."""


_SQL = SqlFile(__file__)
RECORD = _SQL.statement("record")


async def record(tx: Tx, conversation_id: str, done: ProxiedRequest) -> None:
    usage = done.usage
    error = done.error[:ERROR_CHARACTERS_MAX] if done.error is not None else None
    await tx.execute(
        RECORD, conversation=conversation_id, id=uuid7(), dialect=done.dialect, mode=done.mode, model=done.model,
        calls=done.calls, total_ms=done.total_ms, first_ms=done.first_ms, first_seq=done.first_seq,
        last_seq=done.last_seq, window_tokens=done.window_tokens, prompt_tokens=usage and usage.prompt_tokens,
        cached_tokens=usage and usage.cached_tokens, written_tokens=usage and usage.written_tokens,
        completion_tokens=usage and usage.completion_tokens, error=error, window_number=done.window_number,
    )  # fmt: skip


BROWSE = """
SELECT id, created_at, dialect, mode, model, calls, total_ms, first_ms, first_seq, last_seq, window_tokens,
       window_number, prompt_tokens, cached_tokens, written_tokens, completion_tokens, error
  FROM proxied_requests
 WHERE tenant_id = $1 AND conversation_id = $2 AND ($3::uuid IS NULL OR id < $3) ORDER BY id DESC LIMIT $4
"""


async def browse(tx: ReadTx, conversation_id: str, before: UUID | None, limit: int) -> Sequence[Record]:
    """Return the newest ones before another, newest first."""
    return await tx.fetch(BROWSE, conversation_id, before, limit)


# Those older than a UUIDv7 of that time; what is being erased goes with its conversation.
PRUNE = """
DELETE FROM proxied_requests WHERE tenant_id = $1 AND id = ANY (ARRAY(
  SELECT id FROM proxied_requests WHERE tenant_id = $1 AND id < $2 ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED))
"""


async def prune(tx: Tx, before: UUID) -> bool:
    """Forget old ones, some at a time; return whether there may be more."""
    return await tx.execute(PRUNE, before, PRUNED_AT_ONCE) == PRUNED_AT_ONCE
