"""Store memories: keyword search finds them from the commit on, and a job adds their vectors.

Appends store theirs themselves, within their single statement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from app.core.encoded import blanked
from app.core.history.rows import NewMemory
from app.postgres.transactions import Tx
from app.queue import enqueue, outbox
from app.runtime import Runtime
from app.services import limits
from app.store import appending
from app.store.memory import remembered
from app.store.memory.remembered import Remembered
from app.text import bm25


async def insert_memories(runtime: Runtime, tx: Tx, memories: Sequence[NewMemory]) -> None:
    """Store episodes or passages of one owner."""
    await appending.remember(tx, memories, embeds=runtime.embedder is not None)
    if memories:
        await enqueue_embedding(runtime, tx, memories[0].owner)


async def insert_remembered(runtime: Runtime, tx: Tx, memories: Sequence[Remembered]) -> None:
    """Store explicit memories of one owner with their texts. Raises TooManyRequests if the owner has no storage left. A
    model's facts are counted but never refused, because nobody could react.
    """
    for memory in memories:
        if memory.source != "llm":
            await limits.require_room_in(runtime, tx, memory.finder.user_id)
        has_words = memory.key is not None and memory.is_found
        words = bm25.query(blanked(memory.content)) if has_words else None
        await remembered.insert(tx, replace(memory, words=words), embeds=runtime.embedder is not None)
        await outbox.tell(tx, outbox.of_memory(memory.id, memory.status, memory.conversation_id))
    if memories:
        await enqueue_embedding(runtime, tx, memories[0].finder.owner)


async def enqueue_embedding(runtime: Runtime, tx: Tx, owner: UUID) -> None:
    """Enqueue the embedding of an owner's memories, if there is a model.

    Enqueue other work afterwards, because rows of `work` are locked in the order of their kinds.
    """
    if runtime.embedder is not None:
        await enqueue.enqueue(tx, [enqueue.embed(owner)])
