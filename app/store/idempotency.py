"""Stored responses to requests with an Idempotency-Key."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from app.postgres.transactions import ReadTx, Tx

KEPT = timedelta(hours=24)
PRUNED_AT_ONCE = 5_000
UNKNOWN = UUID(int=0)
"""The owner of a response that may concern any scope: every erasure checks it too."""

FIND = "SELECT digest, response FROM idempotency WHERE tenant_id = $1 AND key = $2"

# Waits for a transaction that inserted the same key; then does nothing.
CLAIM = """
INSERT INTO idempotency (tenant_id, key, digest, response) VALUES ($1, $2, $3, '')
ON CONFLICT (tenant_id, key) DO NOTHING RETURNING key
"""
STORE = "UPDATE idempotency SET response = $3, owner = $4 WHERE tenant_id = $1 AND key = $2"
# What an erasure is redacting goes the next time.
PRUNE = """
DELETE FROM idempotency WHERE tenant_id = $1 AND key = ANY (ARRAY(
  SELECT key FROM idempotency WHERE tenant_id = $1 AND created_at < now() - $2::interval
   ORDER BY created_at LIMIT $3 FOR UPDATE SKIP LOCKED))
"""


async def find(tx: ReadTx, key: str) -> tuple[bytes, str] | None:
    """Return a request's digest and response, by key."""
    row = await tx.fetchrow(FIND, key)
    return (row["digest"], row["response"]) if row is not None else None


async def claim(tx: ReadTx, key: str, digest: bytes) -> bool:
    return await tx.fetchrow(CLAIM, key, digest) is not None


async def store(tx: Tx, key: str, response: str, owner: UUID) -> None:
    """Store a response. ``owner`` is the only owner whose data it contains, or UNKNOWN."""
    await tx.execute(STORE, key, response, owner)


async def prune(tx: Tx, kept: timedelta) -> bool:
    """Delete some old responses. Return whether there can be more."""
    return await tx.execute(PRUNE, kept, PRUNED_AT_ONCE) == PRUNED_AT_ONCE
