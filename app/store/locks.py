"""The order in which transactions lock what they write. Nobody waits in a circle if everybody keeps to it.

1. The request's own ``Idempotency-Key`` (appends: last, in the statement that stores them).
2. The **owner** of memories and archives (``lock_owner``): by whoever erases or expires something of a user's, or of a
   conversation's that has no user; shared by whoever gives vectors to memories.
3. The **conversation**: ``conversations.lock`` to change it, ``conversations.hold`` to add what belongs to it, such as
   an archive, a memory or passages. Only who holds the owner's lock may lock several.
4. Messages, pages and archives.
5. Contents of archives (``archive_contents``), by scope and digest, all at once.
6. Memories, then what hangs from them: vectors and the marks of those that want one.
7. ``work``, by kind and subject, once in a transaction. What claims, beats, fails or reaps work locks nothing else.
8. Answers kept for other requests' keys, by key.

What is later in the list may be left out, but not locked before what is earlier. Housekeeping that goes by time, not by
conversation, passes over what is locked (``SKIP LOCKED``).
"""

from __future__ import annotations

from uuid import UUID

from app.postgres.database import Connection

LOCK_OWNER = "SELECT pg_advisory_xact_lock(hashtextextended($1::text || $2::text, 0))"
SHARE_OWNER = "SELECT pg_advisory_xact_lock_shared(hashtextextended($1::text || $2::text, 0))"


async def lock_owner(connection: Connection, tenant: UUID, owner: UUID) -> None:
    """Let nobody else erase anything of an owner until the transaction ends."""
    await connection.execute(LOCK_OWNER, str(tenant), str(owner))


async def share_owner(connection: Connection, tenant: UUID, owner: UUID) -> None:
    """Let nobody erase anything of an owner until the transaction ends."""
    await connection.execute(SHARE_OWNER, str(tenant), str(owner))
