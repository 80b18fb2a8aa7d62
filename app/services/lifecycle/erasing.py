"""Erase data from every table, index, summary, epoch, stored response and cache.

Gather: lock the owner, then the conversation; find repetitions of the erased data; lock their conversations. Decide:
``core.history.erasure_plan`` decides what becomes a mark, what is deleted and what is derived again. Apply: archives,
messages, derived data, a new generation, jobs, and finally the stored responses.

Locks are taken in the order of ``app.store.locks``. A new generation begins, so that no window with erased data is
continued and no job applies what it read before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from app import errors
from app.concurrency import run_in_thread_if_large
from app.core.conversation import Conversation
from app.core.history import erasure_plan
from app.core.history.erasure import Redaction, redacted
from app.core.history.erasure_plan import Erased, ErasurePlan, ErasureRules, Marked, Place, StoredMessage
from app.core.history.placeholder import ERASED_TOKENS_MAX
from app.core.history.placeholder import erased as erased_placeholder
from app.core.history.rows import ArchiveSpot, StoredArchive
from app.core.model import INTEGER_MAX
from app.core.scope import Scope
from app.extractive.lines import result_line
from app.postgres.transactions import Tx
from app.queue import enqueue, outbox
from app.queue.outbox import NewEvent
from app.recall.tools import TOOL_NAMES
from app.runtime import Runtime
from app.services.conversations import chapters, receipts
from app.services.conversations.reading import titles_of
from app.services.lifecycle import repeats
from app.services.lifecycle.repeats import RepeatedPlaces
from app.services.memory import archiving, views
from app.store import appending, archives, branches, conversations, erasing, kept_answers, locks, messages, served
from app.store.erasing import Derived
from app.store.memory import kept, remembered
from app.store.operators import limits

ANSWERS_AT_ONCE = 200


@dataclass
class Erasure:
    """The progress of an erasure."""

    counts: Counter[str] = field(default_factory=Counter)
    certificates: list[dict[str, Any]] = field(default_factory=list)
    """Signed lines of an export: importing one again erases the same again."""

    def add(self, other: Erasure) -> None:
        self.counts.update(other.counts)
        self.certificates += other.certificates

    @property
    def view(self) -> dict[str, Any]:
        return {"erased": dict(sorted(self.counts.items())), "certificates": self.certificates}

    def add_texts(self, count: int) -> None:
        if count:
            self.counts["served_texts"] += count


class ErasingTx(Tx):
    """A transaction that erases something."""

    __slots__ = ("runtime",)

    def __init__(self, runtime: Runtime, tx: Tx) -> None:
        super().__init__(tx.connection, tx.tenant, is_sharded=tx.is_sharded)
        self.runtime, self.changes = runtime, tx.changes
        self.changes.are_erased = True

    @property
    def rules(self) -> ErasureRules:
        return ErasureRules(self.runtime.tokens.count, TOOL_NAMES, result_line)

    @property
    def embeds(self) -> bool:
        return self.runtime.embedder is not None


def erased_event(what: str, id_: str, **more: int) -> NewEvent:
    """Return the event of an erasure: what was erased, and its id. For messages it is the conversation's."""
    return outbox.event("erasure.done", of=what, id=id_, **more)


# --- Gather -------------------------------------------------------------------------------------------


async def lock(tx: Tx, conversation_id: str, *, bound_to: str | None = None) -> Conversation:
    """Lock a conversation's owner and then the conversation, to erase from it. Raises NotFound."""
    before = await conversations.get(tx, conversation_id, bound_to=bound_to)
    tx.changes.conversations |= {conversation_id, before.line.root, before.id}
    await locks.lock_owner(tx, before.scope.owner)
    if before.line.stretches:  # the trunk first, as everybody: its id may show the branch
        await conversations.lock(tx, before.line.root)
    conversation = await conversations.lock(tx, conversation_id, bound_to=bound_to)
    if conversation is None or conversation.uid != before.uid:
        raise errors.missing("conversation")
    return conversation


async def _gather(
    tx: ErasingTx, conversation: Conversation, sharing: Sequence[Conversation], seqs: Sequence[int]
) -> tuple[Erased, RepeatedPlaces]:
    """Read messages of a locked conversation and all that depends on them, also in branches. Raises NotFound."""
    stored = await erasing.stored(tx, conversation.id, seqs)
    if not stored:
        raise errors.missing("message")
    seqs = [message.seq for message in stored]
    texts = [text async for text in repeats.texts(tx, conversation.id, seqs[0], seqs[-1], set(seqs))]
    repeated = await repeats.find(tx, conversation.scope, repeats.source_of(texts))
    calls = [m.seq for m in stored if m.kind == "call"]
    results = [one for line in (conversation, *sharing) for one in await erasing.results(tx, line.line.own, calls)]
    shown = await archives.known(tx, [archive for result in results for archive in result.archive_ids])
    cards = {one.id: one for one in shown}
    loaded = await lock_repeats(tx, repeated, {conversation.id, *(branch.id for branch in sharing)})
    return Erased(conversation.end, conversation.language or "en", stored, results, cards, loaded), repeated


async def lock_repeats(tx: ErasingTx, repeated: RepeatedPlaces, locked: Collection[str] = ()) -> list[StoredMessage]:
    """Lock the conversations that repeat erased text, then read the repeating messages."""
    by_conversation: dict[str, list[int]] = {}
    for conversation_id, seq in repeated.messages:
        by_conversation.setdefault(conversation_id, []).append(seq)
    for conversation_id in sorted(by_conversation.keys() - locked):
        await conversations.lock(tx, conversation_id)
    stored = [await erasing.stored(tx, name, seqs) for name, seqs in by_conversation.items()]
    return [message for some in stored for message in some if message.is_loaded]


# --- Apply --------------------------------------------------------------------------------------------


async def put_marks(tx: ErasingTx, marked: Sequence[Marked], done: Erasure) -> None:
    for message in marked:
        await erasing.put_mark(tx, message)
    done.counts["messages"] += len(marked)


async def begin_generations(tx: ErasingTx, names: Collection[str], done: Erasure, exact: Collection[str] = ()) -> None:
    """Begin a generation of conversations and their branches: no window continues. Those in ``exact`` go alone."""
    others = set(map(str, names)) - set(exact)
    names = {*map(str, exact), *others, *(await branches.descendants(tx, others) if others else ())}
    for name in sorted(names):
        done.counts["epochs"] += await conversations.begin_generation(tx, name, is_erased=True)


async def _enqueue(tx: ErasingTx, conversation: Conversation, pages: Sequence[int]) -> None:
    """Enqueue the jobs that index, summarise and embed again what is left of some pages."""
    work = [
        enqueue.page(conversation.id, conversation.uid, page) for page in pages if page < conversation.totals.last_page
    ]
    enough = conversation.totals.last_seq >= tx.runtime.defaults.summary_threshold
    if tx.runtime.chat is not None and enough:
        work.append(enqueue.summary(conversation.id, conversation.uid))
    if tx.embeds:
        work.append(enqueue.embed(conversation.scope.owner))
    if work:
        await enqueue.enqueue(tx, work)


async def redact(tx: ErasingTx, owner: UUID, redaction: Redaction, whole: Collection[str], done: Erasure) -> None:
    """Remove erased data from an owner's stored responses, and text recalled unasked from windows.

    ``whole``: keys of responses about nothing else.
    """
    await conversations.forget_anchored(tx, owner)
    done.add_texts(await served.forget_asked(tx, owner))
    keys = set(whole)
    if ids := [UUID(name) for name in redaction.erased | redaction.changed]:
        keys |= {key async for key, _ in kept_answers.answers_naming(tx, owner, ids)}
    for archive in redaction.archives:
        keys |= set(await kept_answers.answers_showing(tx, owner, UUID(archive)))
    in_order = sorted(keys)
    for at in range(0, len(in_order), ANSWERS_AT_ONCE):
        for key, response in (await kept_answers.lock(tx, in_order[at : at + ANSWERS_AT_ONCE])).items():
            corrected = redacted(response, redaction, whole=key in whole)
            if corrected != response:
                await kept_answers.correct(tx, key, corrected)
                done.counts["idempotency"] += 1


def names(ids: Iterable[UUID]) -> frozenset[str]:
    return frozenset(map(str, ids))


# --- Messages and pages -------------------------------------------------------------------------------


async def erase_message(tx: ErasingTx, conversation: Conversation, name: str) -> tuple[int, Erasure]:
    """Erase a message, by seq or id, of a conversation that ``lock`` returned. Return its seq. Raises NotFound."""
    seq = errors.existing(await _seq(tx, conversation, name), "message")
    return seq, await erase_shared(tx, conversation, [seq])


async def _seq(tx: ErasingTx, conversation: Conversation, name: str) -> int | None:
    if name.isascii() and name.isdecimal():
        return int(name) if len(name) < 10 else None
    try:
        return await erasing.seq_of(tx, conversation.id, UUID(name))
    except ValueError:
        return None


async def erase_page(tx: ErasingTx, conversation: Conversation, page: int) -> Erasure:
    """Erase all messages of a page of a conversation that ``lock`` returned. Raises NotFound."""
    stored = await messages.page_messages(tx, conversation.id, page)
    if not stored:
        raise errors.NotFound(f"There is no page {page}; pages 1–{conversation.totals.last_page} exist.")
    return await erase_shared(tx, conversation, [row.seq for row in stored])


async def erase_shared(tx: ErasingTx, conversation: Conversation, seqs: Sequence[int]) -> Erasure:
    """Erase messages of a line, each in the conversation that stores it and in all branches that share it."""
    done, line = Erasure(), conversation.line
    for name in dict.fromkeys(map(line.keeper, seqs)):
        keeper = conversation if name == line else await conversations.lock(tx, name)
        assert keeper is not None, "what it shares is not erased while a branch is there"
        done.add(await _erase(tx, keeper, [seq for seq in seqs if line.keeper(seq) == name]))
    await limits.recount(tx, conversation.user_id)
    await outbox.tell(tx, erased_event("messages", conversation.id, first_seq=min(seqs), last_seq=max(seqs)))
    return done


async def _erase(tx: ErasingTx, conversation: Conversation, seqs: Sequence[int]) -> Erasure:
    sharing = await _sharing(tx, conversation, min(seqs))
    erased, repeated = await _gather(tx, conversation, sharing, seqs)
    rows = await erasing.archives_of(tx, conversation.id, seqs)
    showing = await _lock_showing(tx, rows, {conversation.id, *(branch.id for branch in sharing)})
    plan = erasure_plan.decide(erased, tx.rules)
    done = Erasure(Counter(messages=0))
    if plan.is_done and not rows:
        return done
    size = sum(len(one.body) for one in erased.messages)
    own = await run_in_thread_if_large(size, titles_of, erased.messages)
    titles = [*await erasing.titles(tx, conversation.id, plan.seqs), *own]
    for branch in sharing:
        await _forget_in(tx, branch, erased, plan, titles, done)
    names = {*plan.conversations, *(name for name, _ in showing)}
    exact = (conversation.line.own, *(branch.line.own for branch in sharing))
    await _apply(tx, conversation, plan, titles, rows, repeated, done)
    for one in (conversation, *sharing) if done.counts["messages"] else ():
        await certify(tx, one, done, done.counts["messages"], (min(seqs), max(seqs)))
    await begin_generations(tx, names, done, exact)
    return done


async def certify(
    tx: ErasingTx, conversation: Conversation, done: Erasure, count: int, seqs: tuple[int, int] | None = None
) -> None:
    """Record an erasure, of messages or of the whole conversation, in its chain of receipts."""
    if tx.runtime.signer is not None:
        done.certificates.append(await receipts.enter(tx, tx.runtime.signer, conversation, count, seqs))


async def _sharing(tx: ErasingTx, conversation: Conversation, seq: int) -> list[Conversation]:
    if not conversation.line.is_forked:
        return []
    found = [await conversations.lock(tx, name) for name in sorted(await branches.descendants(tx, [conversation.id]))]
    return [branch for branch in found if branch is not None and branch.line.keeper(seq) == conversation.id]


async def _forget_in(
    tx: ErasingTx, branch: Conversation, erased: Erased, plan: ErasurePlan, titles: Sequence[str], done: Erasure
) -> None:
    derived = Derived(branch.line.own, branch.uid, plan.seqs, plan.pages, plan.near, titles)
    done.counts.update(await erasing.drop_derived(tx, derived))
    end = erasure_plan.without_calls(branch.end, erased.messages, tx.rules)
    calls = conversations.calls_text(end)
    shared = Derived(branch.id, branch.uid, plan.seqs, plan.pages, plan.near, titles)
    await erasing.settle(tx, shared, plan.mark, prompt_tokens=plan.prompt_tokens, open_calls=calls)
    await chapters.describe_again(tx.runtime, tx, branch, plan.pages)
    await _enqueue(tx, branch, plan.pages)


async def _apply(
    tx: ErasingTx,
    conversation: Conversation,
    plan: ErasurePlan,
    titles: Sequence[str],
    rows: Sequence[ArchiveSpot],
    repeated: RepeatedPlaces,
    done: Erasure,
) -> None:
    gone, replacements = await _erase_archives(tx, rows)
    done.counts.update({name: gone[name] for name in ("archives", "archive_contents", "memories")})
    await put_marks(tx, plan.marked, done)
    for result in plan.unasked:
        await erasing.unask(tx, result)
    derived = Derived(conversation.id, conversation.uid, plan.seqs, plan.pages, plan.near, titles)
    done.counts.update(await erasing.drop_derived(tx, derived))
    calls = conversations.calls_text(plan.end)
    await erasing.settle(tx, derived, plan.mark, prompt_tokens=plan.prompt_tokens, open_calls=calls)
    await chapters.describe_again(tx.runtime, tx, conversation, plan.pages)
    await _enqueue(tx, conversation, plan.pages)
    redaction = Redaction(names(plan.erased), names(plan.changed), replacements)
    await redact(tx, conversation.scope.owner, redaction, repeated.answers, done)


# --- Archives -----------------------------------------------------------------------------------------


async def _lock_copies(
    tx: ErasingTx, rows: Sequence[ArchiveSpot], repeated: RepeatedPlaces, locked: Collection[str] = ()
) -> tuple[list[StoredMessage], set[str]]:
    """Lock the conversations that show or repeat archives. Return the messages that only repeat, and all their ids."""
    loaded = await lock_repeats(tx, repeated, locked)
    repeating = {message.conversation_id for message in loaded}
    showing = await _lock_showing(tx, rows, repeating.union(locked))
    return [message for message in loaded if message.place not in showing], repeating | {name for name, _ in showing}


async def _lock_showing(tx: ErasingTx, rows: Sequence[ArchiveSpot], locked: Collection[str]) -> set[Place]:
    """Lock the conversations that show archives. Return the places where they do."""
    shown = [message for row in rows for message in await archives.showing(tx, row)]
    for name in sorted({message.conversation_id for message in shown} - set(locked)):
        await conversations.lock(tx, name)
    return {(message.conversation_id, message.seq) for message in shown}


async def _erase_archives(tx: ErasingTx, rows: Sequence[ArchiveSpot]) -> tuple[Counter[str], dict[str, str]]:
    """Erase archives. Return what windows and stored responses say in their place, by archive."""
    counts: Counter[str] = Counter()
    replacements: dict[str, str] = {}
    if gone := await served.forget_quoting(tx, [row.id for row in rows]):
        counts["served_texts"] = gone
    if rows:
        await archives.lock_contents(tx, [row.id for row in rows])
    for row in rows:
        replacements[str(row.id)] = erased_placeholder(row.id, row.language)
        for message in await archives.showing(tx, row):
            text = replacements[str(row.id)]
            view = await archives.replace_shown(tx, message, row.id, text, ERASED_TOKENS_MAX)
            if view is not None:
                again = archiving.passages_of(message, row.scope.owner, view)
                await appending.remember(tx, again, embeds=tx.embeds)
            counts["messages"] += 1
        counts.update(archives=1, **await archives.delete(tx, row.id, row.scope))
    return counts, replacements


async def erase_archive(tx: ErasingTx, uuid: UUID, scope: Scope | None = None) -> tuple[UUID, Erasure]:
    """Erase an archive, of a ``scope`` if given, and what repeats it. Return its owner. Raises NotFound."""
    row = await _lock_archive(tx, uuid, scope)
    scope, own = row.scope, row.conversation_id
    conversation = await conversations.lock(tx, own) if own is not None else None
    repeated = await repeats.find(tx, scope, repeats.source_of([row.text]))
    loaded, touched = await _lock_copies(tx, [row], repeated, () if own is None else {own})
    done = Erasure()
    gone, replacements = await _erase_archives(tx, [row])
    done.counts.update({"messages": 0, "epochs": 0, **gone})
    await put_marks(tx, erasure_plan.marks(loaded, tx.rules), done)
    pages = await _forget_page(tx, conversation, row.seq, done) if conversation is not None else []
    await begin_generations(tx, touched, done)
    if conversation is not None and pages:
        await _enqueue(tx, conversation, pages)
    elif tx.embeds and gone["messages"]:
        await enqueue.enqueue(tx, [enqueue.embed(scope.owner)])
    redaction = Redaction(erased=names(message.id for message in loaded), archives=replacements)
    await redact(tx, scope.owner, redaction, repeated.answers, done)
    await limits.recount(tx, scope.user_id)
    await _certify_gone(tx, "archive", uuid, done)
    return scope.owner, done


async def _lock_archive(tx: ErasingTx, uuid: UUID, scope: Scope | None) -> StoredArchive:
    """Read an archive and protect it from other erasures. Raises NotFound, also if one came first."""
    row = await archives.read(tx, scope, uuid, 0, 0)
    if row is not None:
        await locks.lock_owner(tx, row.scope.owner)
        row = await archives.read(tx, scope, uuid, 0, INTEGER_MAX)
    return errors.existing(row, "archive")


async def _forget_page(tx: ErasingTx, conversation: Conversation, seq: int | None, done: Erasure) -> list[int]:
    """Delete what a model wrote about the page with an archive's placeholder. Return the page, if there is one."""
    stored = await erasing.stored(tx, conversation.id, [seq]) if seq is not None else []
    for message in stored:
        derived = Derived(conversation.id, conversation.uid, [], [message.page], [message.seq])
        done.counts.update(await erasing.drop_derived(tx, derived))
        for branch in await _sharing(tx, conversation, message.seq):
            own = Derived(branch.line.own, branch.uid, [], [message.page], [message.seq])
            done.counts.update(await erasing.drop_derived(tx, own))
        line = erasure_plan.mark_line(conversation.language or "en", tx.runtime.tokens.count)
        calls = conversations.calls_text(conversation.end)
        await erasing.settle(tx, derived, line, prompt_tokens=0, open_calls=calls)
    return [message.page for message in stored]


async def erase_expired_archives(runtime: Runtime, tenant: UUID) -> int:
    """Erase expired archives and what recall tools loaded of them, scope by scope. Return their number. What a model
    wrote about their pages stays, because writing it anew every day costs more than it is worth.
    """
    async with runtime.database.snapshot(tenant) as tx:
        due = await archives.expired(tx)
    for scope in sorted({one.scope for one in due}, key=lambda scope: scope.text):
        async with runtime.database.begin(tenant) as opened:
            tx = ErasingTx(runtime, opened)
            await locks.lock_owner(tx, scope.owner)
            there = await erasing.still_there(tx, [one.id for one in due if one.scope == scope])
            await _erase_expired(tx, scope, [one for one in due if one.id in there])
    return len(due)


async def _erase_expired(tx: ErasingTx, scope: Scope, rows: Sequence[ArchiveSpot]) -> None:
    async def contents() -> AsyncIterator[str]:
        for row in rows:
            yield await archives.content(tx, scope, row.digest)

    done = Erasure()
    repeated = await repeats.find(tx, scope, contents)
    loaded, touched = await _lock_copies(tx, rows, repeated)
    gone, replacements = await _erase_archives(tx, rows)
    await put_marks(tx, erasure_plan.marks(loaded, tx.rules), done)
    await begin_generations(tx, touched, done)
    if tx.embeds and gone["messages"]:
        await enqueue.enqueue(tx, [enqueue.embed(scope.owner)])
    redaction = Redaction(erased=names(message.id for message in loaded), archives=replacements)
    await redact(tx, scope.owner, redaction, repeated.answers, done)


# --- Memories -------------------------------------------------------------------------------


async def erase_memory(
    tx: ErasingTx, key: UUID, bound_to: str | None = None, *, sensitive: bool
) -> tuple[UUID, Erasure]:
    """Delete a memory with its vectors, and what repeats it. Return its owner. Its message or archive stays.

    ``bound_to``: the only user whose memories are visible. Raises NotFound, Forbidden.
    """
    owner = errors.existing(await remembered.owner(tx, key), "memory")
    await views.require_write(tx, owner, bound_to)
    await locks.lock_owner(tx, owner)
    done = await _erase_memories(tx, owner, [key], sensitive=sensitive)
    await _certify_gone(tx, "memory", key, done)
    return owner, done


async def erase_expired_memories(runtime: Runtime, tenant: UUID) -> int:
    """Erase expired memories and what repeats them, owner by owner. Return how many were due."""
    async with runtime.database.snapshot(tenant) as reading:
        due = await remembered.expired(reading)
    for owner in sorted({owner for _, owner in due}):
        async with runtime.database.begin(tenant) as opened:
            tx = ErasingTx(runtime, opened)
            await locks.lock_owner(tx, owner)
            await _erase_memories(tx, owner, [key for key, _ in await remembered.expired(tx, owner)], sensitive=True)
    return len(due)


async def _erase_memories(tx: ErasingTx, owner: UUID, keys: Sequence[UUID], *, sensitive: bool) -> Erasure:
    """Delete memories of a locked owner, and what repeats them. Raises NotFound."""
    known = [one for key in keys if (one := await kept.one(tx, key)) is not None]
    places = {one.conversation_id for one in known if one.pinned and one.conversation_id is not None}
    for place in sorted(places):
        await conversations.lock(tx, place)
    wholes = {**await remembered.contents(tx, keys, sensitive=sensitive), **{one.id: one for one in known}}
    repeated, loaded = RepeatedPlaces(), list[StoredMessage]()
    if wholes:
        repeated = await repeats.find(tx, owner, repeats.source_of([one.content for one in wholes.values()]))
        loaded = await lock_repeats(tx, repeated, places)
    parts = [part for key in keys for part in await remembered.parts(tx, key)]
    gone = [errors.existing(await remembered.delete(tx, key, sensitive=sensitive), "memory") for key in keys]
    await kept.settle(tx, gone)
    done = Erasure(counts=Counter(memories=len(gone)))
    done.add_texts(await served.forget_memories(tx, [one.id for one in gone]) + await served.forget_quoting(tx, parts))
    if loaded:
        await put_marks(tx, erasure_plan.marks(loaded, tx.rules), done)
    if touched := {message.conversation_id for message in loaded} | places:
        await begin_generations(tx, touched, done)
    redaction = Redaction(erased=names([*keys, *(message.id for message in loaded)]))
    await redact(tx, owner, redaction, repeated.answers, done)
    for user in {one.user_id or one.scope.user_id for one in known}:
        await limits.recount(tx, user)
    return done


async def _certify_gone(tx: ErasingTx, of: str, name: UUID, done: Erasure) -> None:
    await outbox.tell(tx, erased_event(of, str(name)))
    if tx.runtime.signer is not None:
        done.certificates.append(receipts.gone(tx.runtime.signer, of, name))
