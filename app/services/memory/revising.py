"""Change a memory: its text, its period, a proposal's status. A key's former values stay as versions."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from uuid import UUID

import anyio.to_thread

from app import errors
from app.core.canonical import dumps
from app.core.encoded import marked
from app.core.scope import scope_of
from app.core.window.kept import CLOSED_KEYS, PINNED_MAX, Status, StoredMemory
from app.extractive.wishes import wish_of
from app.ids import uuid7
from app.postgres.transactions import Tx
from app.queue import outbox
from app.runtime import Runtime
from app.services.memory import remembering
from app.services.memory.hits import SearchHit, find_memory
from app.services.memory.remembering import MemoryRequest
from app.store import conversations, locks, spaces
from app.store.memory import kept, remembered
from app.store.operators import limits


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a memory. None keeps a member unchanged."""

    content: str | None = None
    pinned: bool | None = None
    status: Status | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    sensitive: bool | None = None
    sees_key: bool = True
    """The writer is shown the memory's key; else one that a rule read in the former words goes with them."""


async def change(
    runtime: Runtime, tx: Tx, memory: UUID, wanted: Change, *, bound_to: str | None, sensitive: bool
) -> tuple[SearchHit, StoredMemory]:
    """Change a memory. Return it afterwards and its row before. Raises NotFound or Invalid."""
    before = await _locked(tx, memory, bound_to, sensitive=sensitive)
    _check(before, wanted)
    if wanted.content is not None and wanted.content != before.text:
        await _reworded(runtime, tx, before, wanted)
    else:
        await _moved(runtime, tx, before, wanted)
    was_in_view = before.pinned and before.status == "held"
    if was_in_view or (before.valid_to == before.valid_from and wanted.status == "held"):
        await kept.withdraw(tx, [before.holder])
    if before.scope.is_alone and before.conversation_id is not None:
        await conversations.begin_generation(tx, before.conversation_id)
    found = await find_memory(tx, memory, sensitive=True)
    assert found is not None
    return found, before


async def _locked(tx: Tx, memory: UUID, bound_to: str | None, *, sensitive: bool) -> StoredMemory:
    await locks.lock_owner(tx, errors.existing(await remembered.owner(tx, memory), "memory"))
    row = await kept.one(tx, memory)
    if row is None or (row.sensitive and not sensitive):
        raise errors.missing("memory")
    await _admit(tx, row, bound_to)
    if row.conversation_id is not None and await conversations.lock(tx, row.conversation_id) is None:
        raise errors.missing("memory")
    return row


async def _admit(tx: Tx, row: StoredMemory, bound_to: str | None) -> None:
    if bound_to is None:
        return
    scope, own = row.scope, scope_of(bound_to, None)
    space = row.space_id if scope.is_alone else scope.space_id
    if space is not None:
        await spaces.get(tx, space, bound_to, right="write")
    elif own not in (scope_of(row.user_id, None), scope):
        raise errors.missing("memory")


def _check(before: StoredMemory, wanted: Change) -> None:
    problems: list[errors.FieldError] = []
    pinned = before.pinned if wanted.pinned is None else wanted.pinned
    if pinned and len(wanted.content or before.content) > PINNED_MAX:
        problems.append({"loc": ["body", "content"], "msg": f"must have at most {PINNED_MAX} characters when pinned"})
    since = wanted.valid_from or (datetime.now(UTC) if wanted.content else before.valid_from)
    until = wanted.valid_to or (None if wanted.content else before.valid_to)
    if until is not None and until < since:
        problems.append({"loc": ["body", "valid_to"], "msg": "must not be earlier than `valid_from`"})
    if wanted.status not in (None, "held", "refused") and before.status != wanted.status:
        problems.append({"loc": ["body", "status"], "msg": "must be held or refused"})
    if problems:
        raise errors.Invalid(errors=problems)


async def _reworded(runtime: Runtime, tx: Tx, before: StoredMemory, wanted: Change) -> None:
    key = before.key if wanted.sees_key else await anyio.to_thread.run_sync(_key, before, wanted.content or "")
    if key is not None:
        await kept.keep_version(tx, before.id, uuid7())
    request = MemoryRequest(
        wanted.content or "", before.type, conversation_id=before.conversation_id,
        keywords=tuple(before.keywords), metadata=before.metadata, key=key,
        sensitive=before.sensitive if wanted.sensitive is None else wanted.sensitive,
        expires_at=before.expires_at, pinned=before.pinned if wanted.pinned is None else wanted.pinned,
        valid_from=wanted.valid_from, valid_to=wanted.valid_to,
    )  # fmt: skip
    known = before.conversation_id and await conversations.find(tx, before.conversation_id)
    uid, found_in = (known.uid, known.scope) if known else (None, None)
    await remembered.delete(tx, before.id, sensitive=True)
    if key is None:
        await kept.settle(tx, [before])
    new = await anyio.to_thread.run_sync(remembering.prepared, runtime.masks, request, before.scope, uid, found_in)
    passages = [(before.id, *new.passages[0][1:]), *new.passages[1:]]
    new = replace(new, id=before.id, passages=passages, status=wanted.status or before.status)
    await remembering.keep(runtime, tx, new, pinned=request.pinned)
    await limits.recount(tx, new.finder.user_id)


def _key(before: StoredMemory, content: str) -> str | None:
    """Return the key of a memory with new words. A key that a rule found is kept only if the rule finds it again."""
    key = before.key
    if before.source == "person" or key not in CLOSED_KEYS:
        return key
    wish = wish_of(content)
    return key if wish is not None and wish.key == key else None


def _metadata_with_answer(before: StoredMemory, status: Status | None) -> str:
    """Return a memory's metadata with a person's decision about what a head proposed."""
    known = before.metadata
    if status in (None, before.status) or before.source != "rule" or "head" not in (why := json.loads(known)):
        return known
    return dumps({**why, "answer": "yes" if status == "held" else "no"})


async def _moved(runtime: Runtime, tx: Tx, before: StoredMemory, wanted: Change) -> None:
    pinned = before.pinned if wanted.pinned is None else wanted.pinned
    is_accepted = wanted.status == "held" and before.status != "held"
    after = replace(
        before,
        pinned=pinned,
        status=wanted.status or before.status,
        valid_from=wanted.valid_from or before.valid_from,
        valid_to=wanted.valid_to or before.valid_to,
        sensitive=before.sensitive if wanted.sensitive is None else wanted.sensitive,
        tokens=before.tokens or (await runtime.count(marked(before.content)) if pinned else 0),
        metadata=_metadata_with_answer(before, wanted.status),
        learnt_at=datetime.now(UTC) if is_accepted else before.learnt_at,
    )
    await kept.change(tx, after)
    await outbox.tell(tx, outbox.of_memory(after.id, after.status, after.conversation_id))
    meant = json.loads(before.metadata).get("ends") if is_accepted and before.source == "rule" else None
    if meant is not None and before.valid_to is not None:
        await kept.end(tx, before.holder, UUID(meant), before.valid_to)
    if before.key is not None:
        if pinned != before.pinned:
            await kept.pin_key(tx, before.holder, before.key, pinned=pinned)
        await kept.decide(tx, [(before.holder, before.key)])
