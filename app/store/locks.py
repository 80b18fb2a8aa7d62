"""The order in which transactions lock what they write. Following it rules out deadlocks.

1. The request's own ``Idempotency-Key`` (appends: last, in the statement that stores them).
2. The **owner** of memories and archives: exclusively (``lock_owner``) to erase or expire anything of a user, or of a
   conversation without a user, or to index it; shared (``Database.begin``) to store what can quote its memories.
3. The **conversation**: ``conversations.lock`` to change it, ``conversations.hold`` to add what belongs to it, such as
   an archive, a memory or passages. Only a holder of the owner's lock may lock several.
4. Messages, pages and archives.
5. Contents of archives (``archive_contents``), by scope and digest, all at once.
6. Keys of memories, in their order; memories, then their dependents: vectors and the marks of those that need one.
7. ``work``, by kind and subject, once per transaction. Claiming, beating, failing and reaping lock nothing else.
8. Responses stored for other requests' keys, by key.

A transaction may skip steps but not go back. Housekeeping by time instead of by conversation skips locked rows
(``SKIP LOCKED``).
"""

from __future__ import annotations

from uuid import UUID

from app.postgres.transactions import Tx

LOCK_OWNER = "SELECT pg_advisory_xact_lock(hashtextextended($1::uuid::text || $2::text, 0))"


async def lock_owner(tx: Tx, owner: UUID) -> None:
    """Lock an owner against other erasures until the transaction ends."""
    await tx.execute(LOCK_OWNER, str(owner))


async def lock_key(tx: Tx, holder: UUID, key: str) -> None:
    """Lock a memory's key against other changes until the transaction ends."""
    await tx.execute(LOCK_OWNER, f"{holder}/{key}")
