"""Versions of a conversation's rolling summary. Append-only."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from app.postgres.transactions import ReadTx, Tx

VERSIONS_LOOKED_AT = 50
"""More than a window's body could make due."""


@dataclass(frozen=True, slots=True)
class StoredSummary:
    version: int = 0
    through_seq: int = 0
    text: str = ""
    """A sentence on each line."""
    tokens: int = 0
    model: str = ""


NEWEST = """
SELECT version, through_seq, text, tokens, model FROM summaries
 WHERE tenant_id = $1 AND conversation_id = $2 ORDER BY version DESC LIMIT 1
"""


async def newest(tx: ReadTx, conversation_id: str) -> StoredSummary:
    """Return the newest version, or an empty one that covers nothing."""
    row = await tx.fetchrow(NEWEST, conversation_id)
    return StoredSummary(**row) if row else StoredSummary()


INSERT = """
INSERT INTO summaries (tenant_id, conversation_id, version, through_seq, text, tokens, model, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (tenant_id, conversation_id, version) DO NOTHING
RETURNING version
"""
COVER = "UPDATE conversations SET summary_through = $3 WHERE tenant_id = $1 AND id = $2"


async def insert(tx: Tx, conversation_id: str, new: StoredSummary, at: datetime) -> bool:
    """Store a version. Return False if it exists. ``at``: when it was written."""
    row = await tx.fetchrow(INSERT, conversation_id, new.version, new.through_seq, new.text, new.tokens, new.model, at)
    if row is None:
        return False
    await tx.execute(COVER, conversation_id, new.through_seq)
    return True


LIST = """
SELECT created_at, version, through_seq, text, tokens, model FROM summaries
 WHERE tenant_id = $1 AND conversation_id = $2 ORDER BY version DESC LIMIT $3
"""


async def browse(tx: ReadTx, conversation_id: str, limit: int) -> list[tuple[StoredSummary, datetime]]:
    """List the newest versions, each with its time."""
    return [(StoredSummary(*of), at) for at, *of in await tx.fetch(LIST, conversation_id, limit)]
