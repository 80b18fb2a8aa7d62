"""Going on with the keyword index of texts that are too long for the append that brought them.

Some hundred passages are indexed in a transaction, from where the indexed ones end, so it does not matter where the
last one was cut off. Each locks the row of what it indexes: two workers do not index the same passages, and nothing
is indexed that is erased meanwhile. The terms are worked out before, while nothing is locked.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

import anyio.to_thread
from asyncpg import Record

from app.core.rows import NewMemory
from app.core.scope import owner_of, scope_of
from app.core.times import dated
from app.ids import uuid7
from app.postgres.database import Connection
from app.queue import enqueue
from app.runtime import Runtime
from app.services.memory import recalling
from app.services.memory.archiving import ends, vectors
from app.store import archives, conversations, memories, messages


@dataclass(frozen=True, slots=True)
class Text:
    """What is indexed: an archive, or a message of a conversation."""

    archive: UUID | None = None
    conversation_id: str = ""
    uid: UUID | None = None
    seq: int = 0


async def index_rest(runtime: Runtime, tenant: UUID, of: Text) -> None:
    """Index the passages that are left. Does nothing where the text is gone, or none is left."""
    async with runtime.database.snapshot(tenant) as connection:
        row = await _row(connection, tenant, of)
        text = await _text(connection, tenant, row) if row else ""
        speaker = recalling.speaker(row) if row and of.archive is None else None
        start = await _indexed(connection, tenant, of)
    while start < len(text):
        found = await anyio.to_thread.run_sync(vectors, text, start, speaker)
        async with runtime.database.begin(tenant) as connection:
            if row and row["conversation_id"] is not None:
                await conversations.hold(connection, tenant, row["conversation_id"])
            row = await _row(connection, tenant, of, locked=True)
            if row is None or await _indexed(connection, tenant, of) != start:
                return
            await _insert(runtime, connection, tenant, row, of, found)
        start = ends(found)


async def _row(connection: Connection, tenant: UUID, of: Text, *, locked: bool = False) -> Record | None:
    if of.archive is not None:
        return await archives.whole(connection, tenant, of.archive, locked=locked)
    assert of.uid is not None
    return await messages.whole(connection, tenant, of.conversation_id, of.uid, of.seq, locked=locked)


async def _text(connection: Connection, tenant: UUID, row: Record) -> str:
    if "digest" in row.keys():  # noqa: SIM118 - a Record's own `in` looks at values
        return await archives.content(connection, tenant, row["scope"], row["digest"])
    return recalling.searchable_text(row)


async def _indexed(connection: Connection, tenant: UUID, of: Text) -> int:
    if of.archive is not None:
        return await memories.archive_indexed(connection, tenant, of.archive)
    return await memories.message_indexed(connection, tenant, of.conversation_id, of.seq)


async def _insert(
    runtime: Runtime,
    connection: Connection,
    tenant: UUID,
    row: Record,
    of: Text,
    found: list[tuple[int, int, str]],
) -> None:
    scope = row["scope"] if of.archive else scope_of(row["user_id"], row["conversation_id"])
    owner = owner_of(scope)
    embeds = runtime.embedder is not None
    said_at = row["said_at"]
    rows = [
        NewMemory(
            id=dated(uuid7(), said_at), owner=owner, type="passage" if of.archive else "episode",
            conversation_id=row["conversation_id"], conversation_uid=row["uid"], seq=row["seq"], page=row["page"],
            archive_id=of.archive, start=start, length=length, terms=terms, created_at=said_at or row["created_at"],
        )
        for start, length, terms in found
    ]  # fmt: skip
    await messages.remember(connection, tenant, rows, embeds=embeds)
    if embeds:
        await enqueue.enqueue(connection, tenant, [enqueue.embed(owner)])
