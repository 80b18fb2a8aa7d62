"""Explicit memories: texts that a caller stores outside of messages, to be found again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from uuid import UUID

import anyio.to_thread

from app.core.conversation import Conversation
from app.core.encoded import marked
from app.core.line import named
from app.core.neutral import flat, without_nul
from app.core.scope import Scope, scope_of
from app.core.window.kept import Status
from app.ids import uuid7
from app.postgres.transactions import Tx
from app.runtime import Runtime
from app.services.memory import insertion
from app.services.memory.archiving import all_vectors
from app.services.memory.hits import SearchHit, find_memory
from app.services.memory.views import hold
from app.store import conversations, locks, spaces
from app.store.memory import kept
from app.store.memory.remembered import Remembered
from app.text.language import fold
from app.text.masks import Masks


@dataclass(frozen=True, slots=True)
class MemoryRequest:
    content: str
    memory_type: str
    user_id: str | None = None
    conversation_id: str | None = None
    keywords: tuple[str, ...] = ()
    metadata: str = "{}"
    sensitive: bool = False
    expires_at: datetime | None = None
    source: str = "person"
    status: Status = "held"
    key: str | None = None
    pinned: bool | None = None
    """None: as its key is."""
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    space_id: str | None = None
    """The space that it holds for."""
    alone: bool = False
    """It holds in its conversation and nowhere else."""
    bound_to: str | None = None
    """The one user whose conversations are there."""


async def remember(runtime: Runtime, tx: Tx, request: MemoryRequest) -> tuple[SearchHit, Conversation | None]:
    """Store a memory in the caller's transaction. Return it and its conversation. Raises NotFound."""
    conversation: Conversation | None = None
    if request.conversation_id is not None:
        if request.alone:  # where a new generation begins
            await conversations.lock(tx, named(request.conversation_id), bound_to=request.bound_to)
        conversation = await hold(tx, named(request.conversation_id), request.user_id, request.bound_to)
        request = replace(request, conversation_id=conversation.line.own)
    scope = await _scope(tx, request, conversation)
    if conversation is not None and request.space_id not in (None, conversation.space_id):
        request, conversation = replace(request, conversation_id=None), None  # which the space's members need not see
    uid, found_in = (conversation.uid, conversation.scope) if conversation else (None, None)
    new = await anyio.to_thread.run_sync(prepared, runtime.masks, request, scope, uid, found_in)
    await keep(runtime, tx, new, pinned=request.pinned)
    if request.alone and conversation is not None:
        await conversations.begin_generation(tx, conversation.id)
    found = await find_memory(tx, new.id, sensitive=True)
    assert found is not None
    return found, conversation


async def _scope(tx: Tx, request: MemoryRequest, conversation: Conversation | None) -> Scope:
    """Return the scope of a memory. Raises NotFound or Forbidden for a space that the caller cannot write to."""
    if request.space_id is not None:
        await spaces.hold(tx, request.space_id, request.bound_to)
        return Scope("space", request.space_id)
    if conversation is None:
        return scope_of(request.user_id, None)
    return Scope("conversation", conversation.id) if request.alone else conversation.scope


async def keep(runtime: Runtime, tx: Tx, new: Remembered, *, pinned: bool | None) -> None:
    """Store a memory. A new value of a key is in view if the former one was."""
    if new.key is not None:
        holder = new.scope.owner
        await locks.lock_key(tx, holder, new.key)
        _, is_pinned = await kept.value(tx, holder, new.key)
        if pinned not in (None, is_pinned):
            await kept.pin_key(tx, holder, new.key, pinned=bool(pinned))
        new = replace(new, pinned=is_pinned if pinned is None else pinned)
    if new.pinned:
        new = replace(new, tokens=await runtime.count(flat(marked(new.content))))
    await insertion.insert_remembered(runtime, tx, [new])


def prepared(
    masks: Masks, request: MemoryRequest, scope: Scope, uid: UUID | None, found_in: Scope | None = None
) -> Remembered:
    """Return the masked rows of a memory. Use a thread for a long one.

    ``found_in``: the scope of its conversation, which alone finds a memory that holds only there.
    """
    said = masks.text(request.content)
    content, offsets = without_nul(said)
    passages = all_vectors(searchable(said, request.keywords))
    ids = [uuid7() for _ in passages]
    return Remembered(
        id=ids[0], scope=scope, type=request.memory_type, content=content,
        nul_offsets=f"{{{','.join(map(str, offsets))}}}", keywords=request.keywords, metadata=request.metadata,
        source=request.source, sensitive=request.sensitive, expires_at=request.expires_at, created_at=datetime.now(UTC),
        passages=[(i, *passage) for i, passage in zip(ids, passages, strict=True)],
        conversation_id=request.conversation_id, conversation_uid=uid, key=request.key, pinned=request.pinned or False,
        valid_from=request.valid_from, valid_to=request.valid_to,
        status=request.status, found_in=found_in if scope.is_alone else None,
    )  # fmt: skip


def searchable(content: str, keywords: tuple[str, ...]) -> str:
    """Return a memory's searchable text: its content and the keywords that do not occur in it."""
    folded = fold(content)
    more = [word for word in keywords if fold(word) not in folded]
    return "\n".join([content, *more]) if more else content
