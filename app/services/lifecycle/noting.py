"""Write and erase the pinned memories of a conversation. Windows show the change from then on."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from asyncpg import Record

from app import errors
from app.core.canonical import dumps
from app.core.conversation import Conversation
from app.core.neutral import flat
from app.core.scope import conversation_scope, shown
from app.core.times import time_text
from app.ids import uuid7
from app.postgres.transactions import Tx
from app.runtime import Runtime
from app.services.idempotency import IdempotencyKey, StoredResponse, run_idempotently
from app.services.lifecycle import erasing
from app.services.lifecycle.erasing import ErasingTx
from app.store import conversations
from app.store.memory import kept, remembered
from app.store.memory.kept import NO_TERMS
from app.store.memory.remembered import Remembered


@dataclass(frozen=True, slots=True)
class Noting:
    """A pinned memory of one conversation, and who writes it."""

    tenant: UUID
    conversation_id: str
    note: UUID | None = None
    """None: a new one."""
    bound_to: str | None = None
    """The one user whose conversations are there."""


async def write(runtime: Runtime, noting: Noting, text: str, key: IdempotencyKey | None = None) -> str:
    """Add or edit a pinned memory and return its response. Raises Invalid for a blank text, and NotFound."""
    line = flat(" ".join(text.split()))
    if not line:
        raise errors.Invalid.at(["body", "text"], "must not be blank")
    tokens = await runtime.count(line)
    tenant, conversation_id = noting.tenant, noting.conversation_id

    async def work(tx: Tx) -> StoredResponse:
        conversation = await conversations.lock(tx, conversation_id, bound_to=noting.bound_to)
        if conversation is None:
            raise conversations.unknown()
        if noting.note is None:
            row = await _insert(tx, conversation, line, tokens)
        else:
            row = await kept.reword(tx, conversation.line.own, noting.note, line, tokens)
        if row is None:
            raise errors.NotFound("There is no such note.")
        await kept.withdraw(tx, {row["holder"]} if noting.note else ())
        await conversations.begin_generation(tx, conversation.line.own)
        return StoredResponse.about(dumps(view(row)), conversation)

    response = await run_idempotently(runtime.database, tenant, key, work)
    runtime.caches.forget_conversation(tenant, conversation_id)
    return response


async def _insert(tx: Tx, conversation: Conversation, line: str, tokens: int) -> Record | None:
    name, now = uuid7(), datetime.now(UTC)
    new = Remembered(
        id=name, scope=conversation_scope(conversation.id), type="preference", content=line, nul_offsets="{}",
        keywords=(), metadata="{}", source="person", sensitive=False, expires_at=None, created_at=now,
        passages=[(name, 0, 0, NO_TERMS)], conversation_id=conversation.id, conversation_uid=conversation.uid,
        pinned=True, tokens=tokens, found_in=conversation.scope,
    )  # fmt: skip
    await remembered.insert(tx, new, embeds=False)
    return await kept.one(tx, name)


async def erase(runtime: Runtime, noting: Noting, key: IdempotencyKey | None = None) -> str:
    """Erase a pinned memory and return the rows by table as a response. Raises NotFound."""
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
        "text": row["content"],
        "tokens": row["tokens"],
        "source": row["source"],
        "scope": shown(row["scope"]),
        "seq": row["seq"],
        "created_at": time_text(row["created_at"]),
    }
