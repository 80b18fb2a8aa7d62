"""Continue the keyword index of texts that were too long for their append.

A transaction indexes some hundred passages behind the indexed ones, so an interruption is harmless. It locks the row of
the text: two workers never index the same passages, and nothing is indexed while it is erased. The terms are computed
beforehand, without a lock.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

import anyio.to_thread

from app.core.encoded import blanked
from app.core.history.rows import HistoryMessage, IndexedText, NewMemory
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
    """Index the remaining passages, if the text still exists."""
    async with runtime.database.snapshot(tenant) as tx:
        row = await _row(tx, of)
        text = await _text(tx, row) if row else ""
        speaker = recalling.speaker(row.of) if row and isinstance(row.of, HistoryMessage) else None
        start = await _indexed(tx, of)
    while start < len(text):
        passages = await anyio.to_thread.run_sync(vectors, text, start, speaker)
        async with runtime.database.begin(tenant) as tx:
            if row and row.conversation_id is not None:
                await conversations.hold(tx, row.conversation_id)
            row = await _row(tx, of, locked=True)
            if row is None or await _indexed(tx, of) != start:
                return
            await _insert(runtime, tx, row, of, passages)
        start = ends(passages)


async def _row(tx: ReadTx, of: Text, *, locked: bool = False) -> IndexedText | None:
    if of.archive is not None:
        return await archives.whole(tx, of.archive, locked=locked)
    assert of.uid is not None
    return await messages.whole(tx, of.conversation_id, of.uid, of.seq, locked=locked)


async def _text(tx: ReadTx, text: IndexedText) -> str:
    if isinstance(text.of, HistoryMessage):
        return recalling.searchable_text(text.of)
    return await anyio.to_thread.run_sync(blanked, await archives.content(tx, text.scope, text.of))


async def _indexed(tx: ReadTx, of: Text) -> int:
    if of.archive is not None:
        return await memories.archive_indexed(tx, of.archive)
    return await memories.message_indexed(tx, of.conversation_id, of.seq)


async def _insert(runtime: Runtime, tx: Tx, text: IndexedText, of: Text, passages: list[tuple[int, int, str]]) -> None:
    said_at = text.said_at
    rows = [
        NewMemory(
            id=dated(uuid7(), said_at), owner=text.scope.owner, type="passage" if of.archive else "episode",
            conversation_id=text.conversation_id, conversation_uid=text.uid, seq=text.seq, page=text.page,
            archive_id=of.archive, start=start, length=length, terms=terms, created_at=said_at or text.created_at,
        )
        for start, length, terms in passages
    ]  # fmt: skip
    await insertion.insert_memories(runtime, tx, rows)
