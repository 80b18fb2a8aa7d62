"""Append messages.

Gather: the conversation, nearly always from the process's cache (except for synced lists), and the new messages.
Decide: ``core.history.preparation`` and ``core.history.append``, and the chapters that are due. Apply: one statement,
which stores nothing unless the conversation still has the version of the decision. If it has not, a transaction takes
the conversation's lock and decides again what has changed, so that it always succeeds.

No LLM and no embedding is called, and tokens are counted before a lock is taken wherever possible.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import NoReturn
from uuid import UUID

import asyncpg

from app import errors
from app.concurrency import LONG_CHARACTERS, LONG_READ, run_in_thread_if_large
from app.core.canonical import dumps
from app.core.conversation import Conversation
from app.core.dialects.proxy import newest_user_text
from app.core.edge.webhooks import of_append
from app.core.groups import chat_messages
from app.core.history.append import Append, decide
from app.core.history.preparation import (
    Basis,
    Counts,
    OpenPage,
    Places,
    Preparation,
    PreparationRules,
    closed_pages,
    places_of,
    prepare,
    results_to_count,
    spoken_language,
    texts,
)
from app.core.line import CallersId, exact
from app.core.times import problems_of_said
from app.core.window.contents import LINES_PER_PAGE
from app.core.window.quote import plain_text
from app.core.window.topics import features_of
from app.ids import uuid7
from app.postgres.transactions import ReadTx, Tx
from app.queue import enqueue, outbox
from app.queue.enqueue import NewWork
from app.queue.outbox import NewEvent
from app.recall.tools import TOOL_NAMES
from app.runtime import Runtime
from app.services import limits
from app.services.conversations import changes, chapters, forking, learning
from app.services.conversations.cuts import own_budget
from app.services.conversations.reading import READER
from app.services.conversations.requests import (
    AppendRequest,
    ImportedMessages,
    ProxyAnswer,
    check,
    new_conversation_place,
    origin_of,
)
from app.services.conversations.selection import (
    Arrivals,
    AskedBefore,
    BranchingError,
    select_at_once,
    select_new_messages,
)
from app.services.idempotency import IdempotencyKey, StoredResponse
from app.services.memory import noticing, querying
from app.store import appending, conversations, erasing, messages, page_index
from app.store.appending import IdempotentResponse

DRAFT_CHARACTERS = 100
"""The fixed cost of a message, in characters that take as long to read: 150 messages are processed off the loop."""
GREETED_MAX = 20
"""The number of messages after which a conversation's title stays even if it only greets."""
CREATION_TRIES = 3
"""A missing conversation cannot be locked. If another append creates it first, the next try can lock it."""


@dataclass(frozen=True, slots=True)
class AppendOutcome:
    """The result of an append."""

    response: str
    """JSON; if ``replayed``, the response to an earlier equal request."""
    replayed: bool = False
    conversation: Conversation | None = None
    """The conversation after the append; None if the response is an earlier one."""
    first_seq: int | None = None
    """The seq of the first message that was stored now; None if none was."""
    asked_before: AskedBefore | None = None
    """The end of a question to the proxy that was stored earlier."""


@dataclass(frozen=True, slots=True)
class _Task:
    """A requested append, the same in every try."""

    runtime: Runtime
    tenant: UUID
    conversation_id: str
    request: AppendRequest
    key: IdempotencyKey | None
    now: datetime

    @property
    def place(self) -> tuple[UUID, str]:
        return self.tenant, self.conversation_id

    @property
    def cached(self) -> Conversation | None:
        """Return the cached conversation, unless the caller's id shows another branch."""
        cached = self.runtime.caches.conversation(self.tenant, exact(self.conversation_id))
        shows_other = cached is not None and cached.shown not in (None, cached.id)
        return None if shows_other and isinstance(self.conversation_id, CallersId) else cached


@dataclass(frozen=True, slots=True)
class _Decided:
    """The append to write, its response, and what another try can reuse."""

    append: Append
    selection: Arrivals
    response: str
    preparation: Preparation
    counts: Counts

    @property
    def is_large(self) -> bool:
        return len(self.append.memories) > appending.MEMORIES_AT_ONCE

    @property
    def has_values(self) -> bool:
        """Return whether keys get values: their former values must end first, in a transaction."""
        return bool(appending.keys_of(self.append.wishes))


async def append(
    runtime: Runtime, tenant: UUID, conversation_id: str, request: AppendRequest, key: IdempotencyKey | None,
    branching: BranchingError | None = None,
) -> AppendOutcome:  # fmt: skip
    """Append all new messages of a request, or none. ``branching``: the place at which an earlier try found that the
    list branches off. Raises NotFound, Conflict, IdempotencyMismatch; for a list also Fork, and Invalid if too many of
    its messages are new.
    """
    now = request.created_at if isinstance(request, ImportedMessages) else datetime.now(UTC)
    task = _Task(runtime, tenant, conversation_id, request, key, now)
    try:
        async with runtime.queue(tenant, conversation_id):
            return await (_append(task) if branching is None else _append_locked(task, None, branching))
    except errors.OutcomeUnknown:
        task.runtime.caches.forget_conversation(*task.place)
        with suppress(errors.StorageUnavailable):  # even if no key is found now, the append can still be committed
            if key is not None and (stored := await key.find_response(runtime.database, tenant)) is not None:
                return AppendOutcome(stored)
        raise
    except (asyncpg.UniqueViolationError, errors.QuireError, BranchingError) as error:
        task.runtime.caches.forget_conversation(*task.place)
        if key is not None and (response := await key.find_response(runtime.database, tenant)) is not None:
            return AppendOutcome(response, replayed=True)
        if isinstance(error, BranchingError):
            return await append(runtime, tenant, conversation_id, request, key, error)
        if isinstance(error, asyncpg.UniqueViolationError):
            await _raise_taken(task)
        raise


async def _append(task: _Task) -> AppendOutcome:
    known, selection, earlier = await _gather(task)
    selection = await learning.learned(task.runtime, task.tenant, known, selection)
    is_settled = known is None or not changes.is_due(known, task.request, selection)
    if known is not None and not selection.arrivals:
        if task.key is None and is_settled and not _teaches(known, selection):
            return _nothing_new(task, known, selection)
        return await _append_locked(task, None)
    decided = await _decide(task, known, selection, earlier, None)
    after = decided.append.conversation
    is_in_new_space = known is None and after.space_id is not None  # needs a transaction that keeps the space alive
    alone = is_settled and not decided.is_large and not is_in_new_space and not decided.has_values
    if alone:
        if not _is_seen(task.request):
            await limits.require_room(task.runtime, task.tenant, after.user_id)
        indexed = await appending.append_alone(task.runtime.database, task.tenant, *_statement(task, decided))
        if indexed is not None:
            return _remember(task, decided, indexed)
    return await _append_locked(task, decided)


async def _append_locked(
    task: _Task, decided: _Decided | None, branching: BranchingError | None = None
) -> AppendOutcome:
    """Gather, decide and apply in one transaction. ``decided`` is the result of an earlier try."""
    async with task.runtime.database.begin(task.tenant) as tx:
        if branching is not None:
            task = replace(task, conversation_id=await forking.branch(tx, task.conversation_id, branching))
        for _ in range(CREATION_TRIES):
            known = await conversations.lock(tx, task.place[1])
            await check(tx, known, task.request)
            if decided is None or known is None or not _holds(task, decided, known):
                selection = await select_new_messages(task.runtime, tx, known, task.request)
                selection = await learning.learned(task.runtime, task.tenant, known, selection)
                if known is not None:
                    known = await changes.make(task.runtime, tx, known, task.request, selection)
                if known is not None and not selection.arrivals:
                    return await _store_nothing(task, tx, known, selection)
                earlier = await _earlier(task, tx, known, selection)
                decided = await _decide(task, known, selection, earlier, decided, tx)
            if not _is_seen(task.request):
                await limits.require_room_in(task.runtime, tx, decided.append.conversation.user_id)
            if (indexed := await appending.append_within(tx, *_statement(task, decided))) is not None:
                break
        else:
            raise errors.StorageUnavailable("The conversation is repeatedly created and erased. Try again.")
    return _remember(task, decided, indexed)


def _is_seen(request: AppendRequest) -> bool:
    """Return whether a client has already seen the appended answer, so that it is stored even beyond the quota."""
    return isinstance(request, ProxyAnswer)


def _holds(task: _Task, decided: _Decided, known: Conversation) -> bool:
    """Return whether a decision is valid for the conversation as it is, and no change has to precede the append."""
    after = decided.append.conversation
    is_same = (after.uid, after.version) == (known.uid, known.version + 1)
    return is_same and not changes.is_due(known, task.request, decided.selection)


# --- Gather ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Earlier:
    """Facts about earlier messages that the append depends on."""

    question: str = ""
    is_only_greeted: bool = False
    open: OpenPage | None = None
    closing: OpenPage | None = None
    places: Places | None = None
    size: int = 0
    """The approximate characters of the arrivals, if they have places; else 0."""


async def _gather(task: _Task) -> tuple[Conversation | None, Arrivals, _Earlier]:
    """Return the conversation (possibly from the cache), the new messages, and facts about earlier ones."""
    request, cached = task.request, task.cached
    # The cached conversation can have been erased since.
    selection = select_at_once(task.runtime, task.tenant, cached, request) if cached is not None else None
    if cached is not None and selection is not None and not _needs_more(task, cached, selection):
        return cached, selection, await _placed(task, cached, selection, _Earlier())
    async with task.runtime.database.snapshot(task.tenant) as tx:
        known = await conversations.find(tx, task.place[1])
        await check(tx, known, request)
        selection = await select_new_messages(task.runtime, tx, known, task.request)
        earlier = await _earlier(task, tx, known, selection)
    return known, selection, await _placed(task, known, selection, earlier)


def _needs_more(task: _Task, cached: Conversation, selection: Arrivals) -> bool:
    may_need = _needs_question(task, cached, selection) or _may_be_greeted(cached, selection)
    return may_need or bool(_problems_of_said(cached, selection))


def _needs_question(task: _Task, known: Conversation, selection: Arrivals) -> bool:
    """Return whether the arrivals hold results to archive that answer a stored question."""
    policy = task.runtime.policy(known)
    longest = min(policy.archive_threshold, policy.archive_threshold_tokens or policy.archive_threshold)
    results = (result for arrival in selection.arrivals for result in arrival.draft.results)
    return known.end.user_seq > 0 and any(len(result.text) > longest for result in results)


def _may_be_greeted(known: Conversation, selection: Arrivals) -> bool:
    """Return whether a user speaks in a young conversation whose title only greets."""
    if known.title is None or known.end.last_seq > GREETED_MAX:
        return False
    return any(arrival.draft.role == "user" for arrival in selection.arrivals) and READER.greets(known.title)


async def _earlier(task: _Task, tx: ReadTx, known: Conversation | None, selection: Arrivals) -> _Earlier:
    """Return the user's last message before the arrivals, if it is needed, and whether the title is only a greeting
    that the caller did not set.
    """
    if known is None:
        return _Earlier()
    question, given = "", list[str]()
    if _needs_question(task, known, selection):
        shown = await messages.shown(tx, known.id, known.end.user_seq)
        question = plain_text(chat_messages(shown)) if shown is not None else ""
    if _may_be_greeted(known, selection):
        given = await erasing.titles(tx, known.id, [*range(1, known.end.last_seq + 1)])
    return _Earlier(question, known.title in given)


async def _placed(task: _Task, known: Conversation | None, selection: Arrivals, earlier: _Earlier) -> _Earlier:
    """Add the places of the arrivals, and the page that they close if the append indexes it. It does so without a model
    that would do it, and not for a branch, whose topics are counted along its line.
    """
    if known is None:
        return earlier
    size = _characters(task.request, selection)
    places = await run_in_thread_if_large(size, places_of, known, selection.arrivals)
    page = task.runtime.caches.open_page(task.tenant, known)
    is_others = task.runtime.chat is not None or isinstance(task.request, ImportedMessages) or known.line.stretches
    closing = None if is_others else await _closing(task, known, page, closed_pages(known, places))
    return replace(earlier, places=places, size=size, open=page, closing=closing)


async def _closing(task: _Task, known: Conversation, page: OpenPage | None, closed: range) -> OpenPage | None:
    """Return the closed page, if it is the only one and no earlier page waits for its index."""
    # The last append saw how far jobs had indexed. Since then they can have indexed the page before, but no more.
    if len(closed) != 1 or known.indexed_through < closed[0] - 2:
        return None
    if page is not None and known.indexed_through == closed[0] - 1:
        return page
    row = await page_index.unindexed(task.runtime.database, task.tenant, known.id, known.uid, closed[0], LINES_PER_PAGE)
    if row is None or row.indexed_through != closed[0] - 1:
        return None
    return OpenPage(row.first_seq, row.title, row.lines, features_of(row.topics))


def _problems_of_said(known: Conversation | None, selection: Arrivals) -> list[errors.FieldError]:
    times = [arrival.draft.said_at for arrival in selection.arrivals]
    return problems_of_said(times, known.said_at if known is not None else None, datetime.now(UTC), selection.first)


# --- Decide ---------------------------------------------------------------------------------------------


async def _decide(
    task: _Task, known: Conversation | None, selection: Arrivals, earlier: _Earlier, before: _Decided | None,
    tx: Tx | None = None,
) -> _Decided:  # fmt: skip
    """Return everything that the append writes. ``before``: an earlier try, for reuse. ``tx`` holds the lock."""
    if problems := _problems_of_said(known, selection):
        raise errors.Invalid(errors=problems)
    if known is not None and known.line.stretches:
        await _check_client_ids(task, known.id, selection, tx)
    if known is not None and (learned := selection.learned) is not None:
        known = replace(known, learned_percent=learned.percent, file_percents=learned.file_percents)
    basis = _basis(task, known, selection, earlier)
    prepared = before.preparation if before is not None else None
    size = earlier.size or _characters(task.request, selection)
    counts = await _count(task, before.counts if before is not None else {}, results_to_count(basis))
    preparation = await run_in_thread_if_large(size, prepare, basis, counts, READER, uuid7, prepared, most=LONG_READ)
    counts = await _count(task, counts, await run_in_thread_if_large(size, list, texts(basis, preparation)))
    decided = await run_in_thread_if_large(size, decide, basis, preparation, counts, uuid7)
    if chapters.is_due(decided.conversation):
        reading = nullcontext(tx) if tx is not None else task.runtime.database.snapshot(task.tenant)
        decided = await chapters.closing(reading, decided)
    response = await run_in_thread_if_large(size, _response, task, selection, decided.conversation, decided)
    return _Decided(decided, selection, response, preparation, counts)


def _response(task: _Task, selection: Arrivals, after: Conversation, decided: Append | None) -> str:
    """Return the response to the caller. ``decided`` is None if nothing is appended."""
    views, noted = (decided.views, decided.warnings) if decided is not None else ((), ())
    warnings = [{"code": warning.code, "detail": warning.detail} for warning in noted]
    end = {"page": after.end.last_page, "epoch": after.epoch, "warnings": warnings}
    if (match := selection.list_match) is None:
        return dumps({"messages": views, **end})
    other = None if after.id == task.conversation_id else after.id
    matched = {"matched": match.matched, "ahead": match.ahead, "passed_over": match.passed_over}
    return dumps({**matched, "branch": other, "appended": views, **end})


def _basis(task: _Task, known: Conversation | None, selection: Arrivals, earlier: _Earlier) -> Basis:
    runtime = task.runtime
    conversation = known
    if conversation is None:
        user_id, space_id = new_conversation_place(task.request)
        conversation = Conversation(
            task.conversation_id, uuid7(), task.now, task.now, user_id=user_id, system=selection.system,
            has_earlier=selection.has_earlier, space_id=space_id,
        )  # fmt: skip
    rules = PreparationRules(
        recall_tools=TOOL_NAMES,
        archives_expire_at=runtime.retention.archive_expiry(task.now),
        summarised_from=runtime.defaults.summary_threshold if runtime.chat is not None else None,
        embeds=runtime.embedder is not None,
        notices=noticing.reads(runtime),
        budget=own_budget(runtime, conversation),
    )
    return Basis(
        conversation=conversation,
        is_new=known is None,
        arrivals=selection.arrivals,
        origin=origin_of(task.request),
        policy=runtime.policy(conversation),
        language=conversation.language or spoken_language(selection.arrivals, READER),
        rules=rules,
        now=task.now,
        open=earlier.open,
        anew=selection.anew,
        question=earlier.question,
        is_only_greeted=earlier.is_only_greeted,
        closing=earlier.closing,
        places=earlier.places,
    )


def _characters(request: AppendRequest, selection: Arrivals) -> int:
    """Return the approximate length of the new messages; of a long body, a long one."""
    if not isinstance(request, ProxyAnswer | ImportedMessages) and request.is_large:
        return LONG_CHARACTERS + 1
    drafts = [arrival.draft for arrival in selection.arrivals]
    results, calls = [result for d in drafts for result in d.results], [call for d in drafts for call in d.calls]
    texts = sum(len(d.text) for d in drafts) + sum(len(r.text) for r in results) + sum(len(c.arguments) for c in calls)
    return texts + DRAFT_CHARACTERS * len(drafts)


async def _count(task: _Task, counts: Counts, new: Iterable[str]) -> Counts:
    """Add the tokens of more texts, counted off the event loop if they are long."""
    missing = list({text: None for text in new if text not in counts})
    if not missing:
        return counts
    return {**counts, **dict(zip(missing, await task.runtime.tokens.count_many(missing), strict=True))}


# --- Apply ----------------------------------------------------------------------------------------------


def _statement(
    task: _Task, decided: _Decided
) -> tuple[Append, Sequence[NewWork], IdempotentResponse | None, Sequence[NewEvent]]:
    after, runtime = decided.append.conversation, task.runtime
    work = [*_work(decided.append), *chapters.naming(runtime, after, decided.append.chapters)]
    work = enqueue.traced(enqueue.in_lock_order(work), runtime.tracing.traceparent())
    happened = of_append(decided.append) if task.tenant in task.runtime.meters.telling else ()
    events = [outbox.event(type_, **data) for type_, data in happened]
    if task.key is None:
        return decided.append, work, None, events
    stored = StoredResponse.about(decided.response, decided.append.conversation)
    once = IdempotentResponse(task.key.key, task.key.digest, stored.text, stored.owner)
    return decided.append, work, once, events


def _work(decided: Append) -> list[NewWork]:
    conversation, left = decided.conversation, decided.follow_up
    id_, uid = conversation.id, conversation.uid
    return [
        *(enqueue.page(id_, uid, page) for page in left.pages),
        *([enqueue.summary(id_, uid)] if left.summary else []),
        *(enqueue.message_passages(id_, uid, seq) for seq in left.messages),
        *(enqueue.archive_passages(archive, id_) for archive in left.archives),
        *([enqueue.embed(left.embeds)] if left.embeds is not None else []),
    ]


async def _store_nothing(task: _Task, tx: Tx, known: Conversation, selection: Arrivals) -> AppendOutcome:
    """Answer a request without new messages, once for its key."""
    if task.key is not None and (response := await task.key.claim(tx)) is not None:
        return AppendOutcome(response, replayed=True)
    if (learned := selection.learned) is not None and _teaches(known, selection):
        await conversations.calibrate(tx, known.id, learned.percent)
        known = replace(known, version=known.version + 1, learned_percent=learned.percent)
    appended = _nothing_new(task, known, selection)
    if task.key is not None:
        await task.key.store(tx, StoredResponse.about(appended.response, known))
    task.runtime.caches.forget_conversation(*task.place)
    return appended


def _teaches(known: Conversation, selection: Arrivals) -> bool:
    return selection.learned is not None and selection.learned.percent != known.learned_percent


def _nothing_new(task: _Task, known: Conversation, selection: Arrivals) -> AppendOutcome:
    text = _response(task, selection, known, None)
    return AppendOutcome(text, conversation=known, asked_before=selection.asked_before)


def _remember(task: _Task, decided: _Decided, indexed: int) -> AppendOutcome:
    conversation = decided.append.conversation
    if indexed != conversation.indexed_through:
        conversation = replace(conversation, indexed_through=indexed)
    task.runtime.caches.keep_conversation(task.tenant, conversation)
    if (page := decided.append.open) is not None:
        task.runtime.caches.keep_open_page(task.tenant, conversation, page)
    _begin_reading(task, decided)
    first = conversation.end.last_seq - len(decided.append.messages) + 1
    return AppendOutcome(decided.response, conversation=conversation, first_seq=first)


def _begin_reading(task: _Task, decided: _Decided) -> None:
    """Begin to compute the vector of a user's newest message, from which its window decides whether it asks."""
    runtime, newest = task.runtime, decided.append.messages[-1]
    is_wanted = runtime.embedder is not None and runtime.policy(decided.append.conversation).recall == "auto"
    is_asked = is_wanted and newest.role == "user" and not isinstance(task.request, ImportedMessages)
    if is_asked and len(newest.body) <= LONG_CHARACTERS:
        querying.begin_vector(runtime, task.tenant, newest_user_text(chat_messages(newest.body)) or "")


async def _check_client_ids(task: _Task, conversation_id: str, selection: Arrivals, tx: ReadTx | None) -> None:
    """Raise Conflict if a client id of the request exists in the conversation, or in the messages that a branch shares,
    which the branch's own unique key does not cover.
    """
    ids = {i: arrival.draft.client_id for i, arrival in enumerate(selection.arrivals, selection.first)}
    if not (wanted := [id_ for id_ in ids.values() if id_ is not None]):
        return
    async with nullcontext(tx) if tx is not None else task.runtime.database.snapshot(task.tenant) as reading:
        taken = await messages.taken_client_ids(reading, conversation_id, wanted)
    if taken:
        raise errors.Conflict(
            "The conversation already has this client id. Nothing was stored.",
            errors=[
                {"loc": ["body", "messages", i, "client_id"], "msg": f"is the id of message {taken[id_]}"}
                for i, id_ in ids.items()
                if id_ in taken
            ],
        )


async def _raise_taken(task: _Task) -> NoReturn:
    """Explain a violated unique key. Raises Conflict, or StorageUnavailable if no client id is taken."""
    async with task.runtime.database.snapshot(task.tenant) as tx:
        known = await conversations.find(tx, task.place[1])
        selection = await select_new_messages(task.runtime, tx, known, task.request)
        await _check_client_ids(task, known.id if known is not None else task.place[1], selection, tx)
    raise errors.StorageUnavailable("A concurrent request interfered. Try again.")
