"""Write and erase the notes of a conversation: its pinned memories, by another name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from app import errors
from app.core.canonical import dumps
from app.core.neutral import flat
from app.core.times import time_text
from app.core.window.kept import StoredMemory
from app.postgres.transactions import Tx
from app.runtime import Runtime
from app.services.idempotency import StoredResponse
from app.services.lifecycle import erasing
from app.services.lifecycle.erasing import ErasingTx
from app.services.memory import remembering, revising
from app.services.memory.remembering import MemoryRequest
from app.services.memory.revising import Change
from app.store import conversations
from app.store.memory import kept


@dataclass(frozen=True, slots=True)
class Noting:
    """A pinned memory of one conversation, and who writes it."""

    conversation_id: str
    note: UUID | None = None
    """None: a new one."""
    bound_to: str | None = None
    """The one user whose conversations are there."""


async def write(runtime: Runtime, tx: Tx, noting: Noting, text: str) -> StoredResponse:
    """Add or edit a pinned memory and return its response. Raises Invalid for a blank text, and NotFound."""
    line, named, bound_to = flat(" ".join(text.split())), noting.conversation_id, noting.bound_to
    if not line:
        raise errors.Invalid.at(["body", "text"], "must not be blank")
    conversation = await conversations.get(tx, named, bound_to=bound_to)
    if noting.note is None:
        request = MemoryRequest(line, "preference", conversation_id=named, pinned=True, alone=True, bound_to=bound_to)
        note = (await remembering.remember(runtime, tx, request))[0].key
    else:
        note = noting.note
        await _require(tx, conversation.line.own, note)
        wanted = Change(line, status="held", sees_key=False)
        await revising.change(runtime, tx, note, wanted, bound_to=bound_to, sensitive=True)
    row = await kept.one(tx, note)
    assert row is not None
    return StoredResponse.about(dumps(view(row)), conversation)


async def _require(tx: Tx, conversation_id: str, note: UUID) -> None:
    row = await kept.one(tx, note)
    if row is None or (row.conversation_id, row.pinned, row.status) != (conversation_id, True, "held"):
        raise errors.NotFound("There is no such note.")


async def erase(runtime: Runtime, tx: Tx, noting: Noting) -> StoredResponse:
    """Erase a pinned memory and return the rows by table as a response. Raises NotFound."""
    note = noting.note
    assert note is not None, "a new note cannot be erased"
    conversation = await erasing.lock(tx, noting.conversation_id, bound_to=noting.bound_to)
    await _require(tx, conversation.line.own, note)
    _, done = await erasing.erase_memory(ErasingTx(runtime, tx), note, noting.bound_to, sensitive=True)
    return StoredResponse.about(dumps({"id": str(note), "erased": dict(sorted(done.counts.items()))}), conversation)


def view(memory: StoredMemory) -> dict[str, Any]:
    return {
        "id": str(memory.id), "text": memory.content, "tokens": memory.tokens, "source": memory.source,
        "scope": memory.scope.name, "seq": memory.seq, "created_at": time_text(memory.created_at),
    }  # fmt: skip
