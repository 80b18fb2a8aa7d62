"""Give a memory another text: it is stored anew, and the old one is erased."""

from __future__ import annotations

from uuid import UUID

import anyio.to_thread

from app import errors
from app.core.search.narrowing import OWN_TYPES
from app.core.window.kept import PINNED_MAX
from app.services.lifecycle import erasing
from app.services.lifecycle.erasing import ErasingTx, Erasure
from app.services.memory import remembering, searching, views
from app.services.memory.remembering import MemoryRequest, prepared
from app.store import conversations, locks
from app.store.memory import kept, remembered


async def reword(
    tx: ErasingTx, key: UUID, bound_to: str | None, content: str, *, sensitive: bool
) -> tuple[UUID, Erasure]:
    """Store a memory with another text in place of one that somebody stored, which is erased; its key, and the erasure.

    ``bound_to``: the only user whose memories are there. Raises NotFound, and Forbidden where they only read.
    """
    owner = await remembered.owner(tx, key)
    if owner is None:
        raise errors.NotFound("There is no such memory.")
    await views.require_write(tx, owner, bound_to)
    await locks.lock_owner(tx, owner)
    old, known = await searching.memory(tx, key, sensitive=sensitive), await kept.one(tx, key)
    if old is None or known is None or old.whole is None or old.hit.type not in OWN_TYPES:
        raise errors.NotFound("There is no such memory.")
    if known["pinned"] and len(content) > PINNED_MAX:
        raise errors.Invalid.at(["body", "content"], f"must have at most {PINNED_MAX} characters when pinned")
    place = old.hit.conversation_id
    # Locked before anything of it is erased, and as strongly as erasing can need it: see store/locks.py.
    conversation = await conversations.lock(tx, place) if place is not None else None
    _, done = await erasing.erase_memory(tx, key, sensitive=sensitive)
    request = MemoryRequest(
        content, old.hit.type, conversation_id=place, keywords=tuple(old.whole["keywords"]),
        metadata=old.whole["metadata"], sensitive=old.whole["sensitive"], expires_at=old.whole["expires_at"],
        key=known["key"], pinned=known["pinned"], status=known["status"],
    )  # fmt: skip
    uid = conversation.uid if conversation else None
    found_in = conversation.scope if conversation else None
    new = await anyio.to_thread.run_sync(prepared, request, known["scope"], uid, found_in)
    await remembering.keep(tx.runtime, tx, new, pinned=request.pinned)
    if known["pinned"] and known["status"] == "held":
        await kept.withdraw(tx, [known["holder"]])  # after it is there, so that the next window shows it
    return new.id, done
