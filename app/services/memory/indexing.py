"""Continue the keyword index of texts that were too long for their append.

A transaction indexes some hundred passages from where the index ends, so an interruption is harmless. It locks the row
of what it indexes: two workers never index the same passages, and nothing is indexed while it is erased. The terms are
computed beforehand, without a lock.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

import anyio.to_thread
from asyncpg import Record

from app.core.encoded import blanked
from app.core.history.rows import NewMemory
from app.core.scope import Scope, scope_of
from app.core.times import dated
from app.ids import uuid7
from app.postgres.transactions import ReadTx, Tx
from app.runtime import Runtime
from app.services.memory import insertion, recalling
from app.services.memory.archiving import ends, vectors
from app.store import archives, conversations, messages
from app.store.memory import memories


@dataclass(frozen=True, slots=True)
class Text:
    """The text to index: an archive, or a message of a conversation."""

    archive: UUID | None = None
    conversation_id: str = ""
    uid: UUID | None = None
    seq: int = 0


async def index_rest(runtime: Runtime, tenant: UUID, of: Text) -> None:
    """Index the passages that are left. Does nothing where the text is gone, or none is left."""
    async with runtime.database.snapshot(tenant) as tx:
        row = await _row(tx, of)
        text = await _text(tx, row) if row else ""
        speaker = recalling.speaker(row) if row and of.archive is None else None
        start = await _indexed(tx, of)
    while start < len(text):
        passages = await anyio.to_thread.run_sync(vectors, text, start, speaker)
        async with runtime.database.begin(tenant) as tx:
            if row and row["conversation_id"] is not None:
                await conversations.hold(tx, row["conversation_id"])
            row = await _row(tx, of, locked=True)
            if row is None or await _indexed(tx, of) != start:
                return
            await _insert(runtime, tx, row, of, passages)
        start = ends(passages)


async def _row(tx: ReadTx, of: Text, *, locked: bool = False) -> Record | None:
    if of.archive is not None:
        return await archives.whole(tx, of.archive, locked=locked)
    assert of.uid is not None
    return await messages.whole(tx, of.conversation_id, of.uid, of.seq, locked=locked)


async def _text(tx: ReadTx, row: Record) -> str:
    if "digest" in row.keys():  # noqa: SIM118 - a Record's own `in` looks at values
        content = await archives.content(tx, Scope.read(row["scope"]), row["digest"])
        return await anyio.to_thread.run_sync(blanked, content)
    return recalling.searchable_text(row)


async def _indexed(tx: ReadTx, of: Text) -> int:
    if of.archive is not None:
        return await memories.archive_indexed(tx, of.archive)
    return await memories.message_indexed(tx, of.conversation_id, of.seq)


async def _insert(
    runtime: Runtime,
    tx: Tx,
    row: Record,
    of: Text,
    passages: list[tuple[int, int, str]],
) -> None:
    scope = Scope.read(row["scope"]) if of.archive else scope_of(row["user_id"], row["trunk"], row["space_id"])
    if not of.archive and row["is_apart"]:
        scope = Scope("conversation", row["trunk"])
    owner = scope.owner
    said_at = row["said_at"]
    rows = [
        NewMemory(
            id=dated(uuid7(), said_at), owner=owner, type="passage" if of.archive else "episode",
            conversation_id=row["conversation_id"], conversation_uid=row["uid"], seq=row["seq"], page=row["page"],
            archive_id=of.archive, start=start, length=length, terms=terms, created_at=said_at or row["created_at"],
        )
        for start, length, terms in passages
    ]  # fmt: skip
    await insertion.insert_memories(runtime, tx, rows)
