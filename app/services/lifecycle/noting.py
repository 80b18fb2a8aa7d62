"""Write and erase standing notes: for the API and the inspector. Windows show the change from then on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from asyncpg import Record

from app import errors
from app.core.canonical import dumps
from app.core.neutral import flat
from app.core.times import time_text
from app.ids import uuid7
from app.postgres.transactions import Tx
from app.runtime import Runtime
from app.services.idempotency import IdempotencyKey, StoredResponse, run_idempotently
from app.services.lifecycle import erasing
from app.services.lifecycle.erasing import ErasingTx
from app.store import conversations, notes


@dataclass(frozen=True, slots=True)
class Noting:
    """A note of one conversation, and who writes it."""

    tenant: UUID
    conversation_id: str
    note: UUID | None = None
    """None: a new note."""
    bound_to: str | None = None
    """The one user whose conversations are there."""


async def write(runtime: Runtime, noting: Noting, text: str, key: IdempotencyKey | None = None) -> str:
    """Add or edit a note and return its response. Raises Invalid for a blank text, and NotFound."""
    line = flat(" ".join(text.split()))
    if not line:
        raise errors.Invalid(errors=[{"loc": ["body", "text"], "msg": "must not be blank"}])
    tokens = await runtime.count(line)
    tenant, conversation_id = noting.tenant, noting.conversation_id

    async def work(tx: Tx) -> StoredResponse:
        conversation = await conversations.lock(tx, conversation_id, bound_to=noting.bound_to)
        if conversation is None:
            raise conversations.unknown()
        if noting.note is None:
            row: Record | None = await notes.insert(tx, conversation_id, uuid7(), line, tokens)
        else:
            row = await notes.change(tx, conversation_id, noting.note, line, tokens)
        if row is None:
            raise errors.NotFound("There is no such note.")
        await conversations.begin_generation(tx, conversation_id)
        return StoredResponse.about(dumps(view(row)), conversation)

    response = await run_idempotently(runtime.database, tenant, key, work)
    runtime.caches.forget_conversation(tenant, conversation_id)
    return response


async def erase(runtime: Runtime, noting: Noting, key: IdempotencyKey | None = None) -> str:
    """Erase a note and return the rows by table as a response. Raises NotFound."""
    tenant, note = noting.tenant, noting.note
    assert note is not None, "a new note cannot be erased"

    async def work(tx: Tx) -> StoredResponse:
        conversation = await erasing.lock(tx, noting.conversation_id, bound_to=noting.bound_to)
        done = await erasing.erase_note(ErasingTx(runtime, tx), conversation, note)
        return StoredResponse.about(dumps({"id": str(note), "erased": dict(sorted(done.counts.items()))}), conversation)

    response = await run_idempotently(runtime.database, tenant, key, work)
    runtime.caches.forget_conversation(tenant, noting.conversation_id)
    return response


def view(row: Record) -> dict[str, Any]:
    return {
        "id": str(row["id"]),
        "text": row["text"],
        "tokens": row["tokens"],
        "source": row["source"],
        "seq": row["seq"] or None,
        "replaced": row["replaced"] is not None,
        "created_at": time_text(row["created_at"]),
    }
