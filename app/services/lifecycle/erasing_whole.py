"""Erase a conversation, a user or a space with everything that belongs to it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from app import errors
from app.core.canonical import dumps
from app.core.conversation import Conversation
from app.core.history import erasure_plan
from app.core.history.erasure import Redaction
from app.core.scope import Scope, keys_member, scope_of
from app.postgres.sight import widen
from app.queue import outbox
from app.runtime import Runtime
from app.services.lifecycle import erasing, repeats
from app.services.lifecycle.erasing import ErasingTx, Erasure, erased_event
from app.services.lifecycle.repeats import RepeatedPlaces
from app.store import archives, branches, conversations, kept_answers, keys, locks, served, spaces
from app.store import erasing as stored
from app.store.memory import files, kept, search_index
from app.store.operators import limits
from quire_verify.issuer import short_name

ARCHIVES_AT_ONCE = 50
MEMORIES_AT_ONCE = 500


async def erase_tree(tx: ErasingTx, conversation: Conversation, *, branches_too: bool) -> Erasure:
    """Delete a conversation that ``erasing.lock`` returned; of a branch, only its own rows. Raises Conflict if it has
    branches that are not to go too.
    """
    names = await branches.descendants(tx, [conversation.id])
    if names and not branches_too:
        raise errors.Conflict(
            "Branches share messages of the conversation. Erase them first, or send `branches=erase`.",
            errors=[{"loc": ["query", "branches"], "msg": f"must be `erase` to erase the branches too: {len(names)}"}],
            extra={"branches": len(names)},
        )
    locked: dict[str, Conversation | None] = {}
    while missing := sorted(set(names) - locked.keys()):
        for name in missing:
            locked[name] = await conversations.lock(tx, name)
        names = await branches.descendants(tx, [conversation.id])
    done = Erasure()
    for one in (*map(locked.get, names), conversation):
        if one is not None:
            done.add(await erase_conversation(tx, one))
    return done


async def erase_conversation(tx: ErasingTx, conversation: Conversation, *, alone: bool = True) -> Erasure:
    """Delete a conversation that ``erasing.lock`` returned, with everything that depends on it or repeats it, except
    what it shares. Its branches must go too. ``alone``: its user stays.
    """
    scope = conversation.scope
    owner = scope.owner

    def everything() -> AsyncIterator[str]:
        return repeats.texts(tx, conversation.line.own, 1, conversation.totals.last_seq)

    if conversation.space_id is not None or (alone and conversation.user_id is not None):
        repeated = await repeats.find(tx, scope, everything)
    else:
        repeated = RepeatedPlaces(answers=await repeats.answers(tx, owner, everything))
    elsewhere = RepeatedPlaces([place for place in repeated.messages if place[0] != conversation.id])
    loaded = await erasing.lock_repeats(tx, elsewhere)
    quoted = dumps(conversation.id)
    named = {key async for key, _ in kept_answers.answers_of(tx, owner, conversation.id, quoted)}
    done = Erasure()
    await erasing.put_marks(tx, erasure_plan.marks(loaded, tx.rules), done)
    await erasing.begin_generations(tx, {message.conversation_id for message in loaded}, done)
    carried = await kept.carried_by(tx, conversation.id)
    done.add_texts(await served.forget_quoted(tx, conversation.id))
    done.add_texts(await served.forget_memories(tx, [one.id for one in carried]))
    shared = conversation.line.stretches[-1].seq if conversation.line.stretches else 0
    await erasing.certify(tx, conversation, done, conversation.totals.last_seq - shared)
    done.counts.update(await conversations.erase(tx, conversation))
    await limits.recount(tx, conversation.user_id)
    if conversation.user_id is None and conversation.space_id is None:
        await files.delete_all(tx, scope)
    if conversation.line.stretches:
        await branches.unshow(tx, conversation.line.root, conversation.id)
    await kept.settle(tx, carried)
    redaction = Redaction(erased=erasing.names(message.id for message in loaded))
    await erasing.redact(tx, owner, redaction, named | set(repeated.answers), done)
    await outbox.tell(tx, erased_event("conversation", conversation.id))
    return done


async def erase_user(runtime: Runtime, tenant: UUID, user_id: str) -> Erasure:
    """Erase everything of a user: each conversation in its own transaction, then data outside of conversations, then
    the user's keys. A repeated call continues an interrupted one.
    """
    done = await _erase_scope(runtime, tenant, Scope("user", user_id))
    async with runtime.database.begin(tenant) as tx:
        if gone := await keys.delete_of_user(tx, user_id):
            done.counts["keys"] += gone
        if gone := await spaces.forget_member(tx, user_id):
            done.counts["space_members"] += gone
        await limits.forget_user(tx, user_id)
        await outbox.tell(tx, erased_event("user", user_id))
    return done


async def erase_space(runtime: Runtime, tenant: UUID, space_id: str) -> Erasure:
    """Erase everything of a space in the same way, at last the space itself, its memberships and its keys."""
    done = await _erase_scope(runtime, tenant, Scope("space", space_id))
    async with runtime.database.begin(tenant) as tx:
        members, _ = await spaces.count(tx, space_id)
        await spaces.forget_readers(tx, space_id)
        if gone := await keys.delete_of_user(tx, keys_member(space_id)):
            done.counts["keys"] += gone
        await spaces.delete(tx, space_id)
        await outbox.tell(tx, erased_event("space", space_id))
        done.counts.update(spaces=1, space_members=members)
    return done


async def _erase_scope(runtime: Runtime, tenant: UUID, scope: Scope) -> Erasure:
    done, since = Erasure(), datetime.now(UTC)
    while (one := await _erase_next(runtime, tenant, scope, since)) is not None:
        done.add(one)
    while (one := await _erase_archives(runtime, tenant, scope)) is not None:
        done.add(one)
    for held in (scope, scope.files):
        while (one := await _erase_memories(runtime, tenant, held)) is not None:
            done.add(one)
    async with runtime.database.begin(tenant) as tx:
        await kept.forget_withdrawals(tx, scope.owner)
    return done


async def _erase_next(runtime: Runtime, tenant: UUID, scope: Scope, since: datetime) -> Erasure | None:
    """Erase one of the conversations that existed at a time. Return None if none is left."""
    async with runtime.database.begin(tenant) as tx:
        name = await stored.conversation_of(tx, scope, since)
        if name is None:
            return None
        try:
            conversation = await erasing.lock(tx, name)
        except errors.NotFound:  # another request has just erased it
            return Erasure()
        if scope.id not in (conversation.user_id, conversation.space_id):
            return Erasure()
        return await erase_conversation(ErasingTx(runtime, tx), conversation, alone=False)


async def _erase_archives(runtime: Runtime, tenant: UUID, scope: Scope) -> Erasure | None:
    one = Erasure()
    async with runtime.database.begin(tenant) as opened:
        tx = ErasingTx(runtime, opened)
        await locks.lock_owner(tx, scope.owner)
        ids = await stored.archives_in(tx, scope, ARCHIVES_AT_ONCE)
        if not ids:
            return None
        await archives.lock_contents(tx, ids)
        for archive in ids:
            one.counts.update(archives=1, **await archives.delete(tx, archive, scope))
        await erasing.redact(tx, scope.owner, Redaction(erased=erasing.names(ids)), (), one)
    return one


async def _erase_memories(runtime: Runtime, tenant: UUID, scope: Scope) -> Erasure | None:
    one, owner = Erasure(), scope.owner
    async with runtime.database.begin(tenant) as opened:
        await widen(opened, scope)
        tx = ErasingTx(runtime, opened)
        await locks.lock_owner(tx, owner)
        gone = await stored.forget_owned(tx, owner, MEMORIES_AT_ONCE)
        one.counts["memories"] += len(gone)
        if not gone:
            await search_index.forget(tx, owner)
        await erasing.redact(tx, owner, Redaction(erased=erasing.names(gone)), (), one)
    return one if gone else None


async def erase_again(tx: ErasingTx, name: str, entry: Mapping[str, Any], bound_to: str | None) -> Erasure:
    """Erase what a certificate names. What was stored later under the same id stays."""
    at = datetime.fromtimestamp(entry["at"] / 1000, UTC)
    try:
        if entry["type"] == "gone":
            return await _erase_gone(tx, entry["of"], UUID(entry["id"]), bound_to)
        conversation = await erasing.lock(tx, name, bound_to=bound_to)
    except errors.NotFound:
        return Erasure()
    if conversation.created_at > at or entry["conversation"] != short_name(conversation.line.own):
        return Erasure()
    if entry["type"] == "end":
        return await erase_tree(tx, conversation, branches_too=True)
    seqs = await stored.seqs_before(tx, name, (entry["first"], entry["last"]), at)
    return await erasing.erase_shared(tx, conversation, seqs) if seqs else Erasure()


async def _erase_gone(tx: ErasingTx, of: str, name: UUID, bound_to: str | None) -> Erasure:
    if of == "archive":
        _, done = await erasing.erase_archive(tx, name, scope_of(bound_to, None) if bound_to is not None else None)
    else:
        _, done = await erasing.erase_memory(tx, name, bound_to, sensitive=True)
    return done
