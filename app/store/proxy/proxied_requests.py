"""The requests that went through the proxy, and their outcomes."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from uuid import UUID

from app.core.canonical import dumps, loads
from app.core.dialects.usage import ModelUsage
from app.ids import uuid7
from app.postgres.transactions import ReadTx, Tx

KEPT = timedelta(days=30)
PRUNED_AT_ONCE = 5_000
ERROR_CHARACTERS_MAX = 200


@dataclass(frozen=True, slots=True)
class ProxiedRequest:
    """A request, with all model calls for its answer."""

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


# Nothing, if the conversation was erased meanwhile.
RECORD = """
INSERT INTO proxied_requests (tenant_id, conversation_id, id, request)
SELECT $1, c.id, $3, $4 FROM conversations c WHERE c.tenant_id = $1 AND c.id = $2 FOR KEY SHARE RETURNING id
"""


async def record(tx: Tx, conversation_id: str, done: ProxiedRequest) -> None:
    error = done.error[:ERROR_CHARACTERS_MAX] if done.error is not None else None
    await tx.execute(RECORD, conversation_id, uuid7(), dumps(asdict(replace(done, error=error))))


BROWSE = """
SELECT id, request FROM proxied_requests
 WHERE tenant_id = $1 AND conversation_id = $2 AND ($3::uuid IS NULL OR id < $3) ORDER BY id DESC LIMIT $4
"""


async def browse(
    tx: ReadTx, conversation_id: str, before: UUID | None, limit: int
) -> list[tuple[UUID, ProxiedRequest]]:
    """Return the requests before another, newest first."""
    return [(row["id"], _read(row["request"])) for row in await tx.fetch(BROWSE, conversation_id, before, limit)]


def _read(text: str) -> ProxiedRequest:
    members = loads(text)
    used = members["usage"]
    return ProxiedRequest(**members | {"usage": used and ModelUsage(**used)})


# Those older than a UUIDv7 of that time; what is being erased goes with its conversation.
PRUNE = """
DELETE FROM proxied_requests WHERE tenant_id = $1 AND id = ANY (ARRAY(
  SELECT id FROM proxied_requests WHERE tenant_id = $1 AND id < $2 ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED))
"""


async def prune(tx: Tx, before: UUID) -> bool:
    """Delete some old requests. Return whether there can be more."""
    return await tx.execute(PRUNE, before, PRUNED_AT_ONCE) == PRUNED_AT_ONCE
