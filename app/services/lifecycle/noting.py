"""Write and erase a conversation's notes, which are its pinned memories under another name."""

from __future__ import annotations

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


async def write(
    runtime: Runtime, tx: Tx, conversation_id: str, note: UUID | None, text: str, *, bound_to: str | None
) -> StoredResponse:
    """Edit a pinned memory, or add one if none is named. Raises NotFound, and Invalid for a blank text."""
    line = flat(" ".join(text.split()))
    if not line:
        raise errors.Invalid.at(["body", "text"], "must not be blank")
    conversation = await conversations.get(tx, conversation_id, bound_to=bound_to)
    if note is None:
        request = MemoryRequest(
            line, "preference", conversation_id=conversation_id, pinned=True, alone=True, bound_to=bound_to
        )
        note = (await remembering.remember(runtime, tx, request))[0].key
    else:
        await _require(tx, conversation.line.own, note)
        wanted = Change(line, status="held", sees_key=False)
        await revising.change(runtime, tx, note, wanted, bound_to=bound_to, sensitive=True)
    row = await kept.one(tx, note)
    assert row is not None
    return StoredResponse.about(dumps(view(row)), conversation)


async def _require(tx: Tx, conversation_id: str, note: UUID) -> None:
    row = await kept.one(tx, note)
    if row is None or (row.conversation_id, row.pinned, row.status) != (conversation_id, True, "held"):
        raise errors.missing("note")


async def erase(tx: ErasingTx, conversation_id: str, note: UUID, *, bound_to: str | None) -> StoredResponse:
    """Erase a pinned memory and return the rows by table as a response. Raises NotFound."""
    conversation = await erasing.lock(tx, conversation_id, bound_to=bound_to)
    await _require(tx, conversation.line.own, note)
    _, done = await erasing.erase_memory(tx, note, bound_to, sensitive=True)
    return StoredResponse.about(dumps({"id": str(note), **done.view}), conversation)


def view(memory: StoredMemory) -> dict[str, Any]:
    return {
        "id": str(memory.id), "text": memory.content, "tokens": memory.tokens, "source": memory.source,
        "scope": memory.scope.name, "seq": memory.seq, "created_at": time_text(memory.created_at),
    }  # fmt: skip
