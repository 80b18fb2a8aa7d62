"""Appending messages.

Gather: what the conversation's end looks like, nearly always from the process's cache. Decide: places, forms,
weights, whether an epoch is due. Apply: one statement, which stores nothing unless the conversation is still at
the version that was decided on. If it is not, or if an epoch is due, the same is done again in a transaction
that holds the conversation's lock, so the second try always succeeds.

No LLM, no embedding, and no token is counted while a lock is held that could have been counted before.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import asyncpg

from app import errors
from app.concurrency import LONG_CHARACTERS, run_in_thread_if_large
from app.core.calibration import ReportedUsage, risen
from app.core.canonical import dumps
from app.core.ingest import Answer, Placement, Shape, Tail, Weights, archived_answers, place, shape, thinking, weights
from app.core.messages import Draft, weigh
from app.core.model import Language, Policy, Totals
from app.core.neutral import neutral
from app.core.placeholder import ArchiveCard, placeholder
from app.core.profile import policy_of
from app.core.quote import plain_text
from app.core.scope import scope_of
from app.core.sync import INNER, digest, link
from app.extractive.calls import call_line
from app.extractive.lines import line_of, message_line, read, result_line, title_of
from app.extractive.notes import note_in
from app.ids import uuid7
from app.postgres.database import Connection
from app.queue import enqueue
from app.queue.enqueue import NewWork
from app.recall.tools import TOOL_NAMES
from app.runtime import Runtime
from app.services.conversations import epochs
from app.services.idempotency import Once, Said
from app.services.memory.archiving import ends, make_archive, make_card, vectors
from app.services.memory.recalling import speaker_of
from app.store import conversations, messages
from app.store.conversations import Conversation
from app.store.memories import owner_of
from app.store.messages import (
    Append,
    IdempotentResponse,
    NewArchive,
    NewMemory,
    NewMessage,
    NewNote,
    NewPage,
)
from app.text.language import language as language_of

SCAN_MAX = 20_000
SUMMARY_STEP = 5
"""New messages after which the rolling summary is looked at again."""
CREATION_TRIES = 3
"""A conversation that is not there cannot be locked: another append may create it first, and it can be then."""


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import knows of the messages that it appends, besides what they say."""

    first_seq: int
    """The place that the first of them must get."""
    created_at: datetime
    ids: Sequence[UUID | None]
    cards: Mapping[tuple[int, str], tuple[ArchiveCard, datetime | None]]
    """What is archived and when it expires, by index of the message and id of the call; the rest is not."""
    archives: bool
    """False: nothing is known of archives, and what is long is archived anew."""


@dataclass(frozen=True, slots=True)
class AppendRequest:
    drafts: Sequence[Draft]
    user_id: str | None = None
    system: str | None = None
    imported: Imported | None = None
    bound_to: str | None = None
    """The one user whose conversations are there."""
    first: int = 0
    """Where in the body's list the drafts begin."""
    answer: Mapping[str, Any] = field(default_factory=dict)
    """Members that the answer begins with."""
    member: str = "messages"
    """The answer's member for what was stored."""
    creates: bool = False
    """A conversation that is new may be nobody's."""
    asks: bool = False
    """The drafts end a request to the proxy."""
    answers: bool = False
    """The drafts end the proxy's answer."""
    reported_usage: ReportedUsage | None = None
    """What the model's API counted in a window of the conversation."""
    inner: frozenset[int] = frozenset()
    """Indices of drafts that are in no caller's list: see core.sync.INNER."""
    is_large: bool = False
    """It came in a long body, of which the drafts' texts may be the smaller part."""


Narrow = Callable[[Connection, Conversation | None, AppendRequest], Awaitable[AppendRequest]]
"""Decides, on what is stored, how much of a request is left to do; perhaps no message at all."""


@dataclass(frozen=True, slots=True)
class Appended:
    """The answer as JSON text, and whether it is that of an earlier, equal request."""

    response: str
    replayed: bool = False


@dataclass
class _Bench:
    """What was worked out for a request once, whichever try it ends up in. Keys are indices of its messages."""

    runtime: Runtime
    now: datetime
    imported: Imported | None = None
    tokens: dict[str, int] = field(default_factory=dict)
    ids: dict[int, UUID] = field(default_factory=dict)
    digests: dict[int, bytes] = field(default_factory=dict)
    lines: dict[tuple[int, str], str] = field(default_factory=dict)
    cards: dict[tuple[int, int], ArchiveCard] = field(default_factory=dict)
    vectors: dict[tuple[int, int], list[tuple[int, int, str]]] = field(default_factory=dict)
    """Of each message (-1) and each archived answer: its passages' start, length and terms."""
    partly_indexed: set[tuple[int, int]] = field(default_factory=set)
    """The keys of those that are so long that a job goes on with them."""
    basis: object = None
    """What the lines, cards and vectors depend on besides the request."""

    def rest_on(self, basis: object) -> None:
        """Forget what an earlier try worked out on another basis: it went by a conversation as it was once."""
        if basis != self.basis:
            self.digests.clear()
            self.lines.clear()
            self.cards.clear()
            self.vectors.clear()
            self.partly_indexed.clear()
        self.basis = basis

    def archived(self, placement: Placement, policy: Policy) -> list[int]:
        """Which answers are archived: by the policy, or as they were where they come from."""
        if self.imported is None or not self.imported.archives:
            return archived_answers(placement, policy, TOOL_NAMES, self.tokens)
        cards = self.imported.cards
        return [i for i, a in enumerate(placement.answers) if (placement.index, a.call.id) in cards]

    def card(self, placement: Placement, answer: Answer, language: Language) -> ArchiveCard:
        known = self.imported.cards.get((placement.index, answer.call.id)) if self.imported else None
        if known is None:
            return make_card(answer.call.name, answer.call.arguments, answer.result.text, (), language, self.now)
        return replace(known[0], tool_name=answer.call.name, created_at=self.now, length=len(answer.result.text))

    def expiry(self, placement: Placement, answer: Answer) -> datetime | None:
        known = self.imported.cards.get((placement.index, answer.call.id)) if self.imported else None
        return known[1] if known is not None else self.runtime.archive_expiry(self.now)

    async def count(self, texts: Iterable[str]) -> None:
        """Count what has not been counted yet; off the event loop when it is long."""
        new = list({text: None for text in texts if text not in self.tokens})
        self.tokens.update(zip(new, await self.runtime.tokens.count_many(new), strict=True))

    def weight(self, chat_messages: Sequence[dict[str, Any]]) -> int:
        total = 0
        for message in chat_messages:
            texts, overhead = weigh(message)
            total += overhead + sum(self.tokens[text] for text in texts)
        return total


@dataclass(frozen=True, slots=True)
class _Decided:
    append: Append
    conversation: Conversation
    """As it will be."""
    response: str


async def append(
    runtime: Runtime,
    tenant: UUID,
    conversation_id: str,
    request: AppendRequest,
    once: Once | None,
    narrow: Narrow | None = None,
) -> Appended:
    """Append messages, all or none. Raises NotFound, Conflict or IdempotencyMismatch, and what ``narrow`` raises."""
    try:
        async with runtime.queue(tenant, conversation_id):
            return await _append(runtime, tenant, conversation_id, request, once, narrow)
    except (asyncpg.UniqueViolationError, errors.QuireError) as error:
        runtime.conversations.pop((tenant, conversation_id), None)
        if once is not None and (answer := await once.answered(runtime.database, tenant)) is not None:
            return Appended(answer, replayed=True)
        if isinstance(error, asyncpg.UniqueViolationError):
            raise await _taken(runtime, tenant, conversation_id, request, narrow) from error
        raise


async def _append(
    runtime: Runtime,
    tenant: UUID,
    conversation_id: str,
    request: AppendRequest,
    once: Once | None,
    narrow: Narrow | None,
) -> Appended:
    bench = _bench(runtime, request.imported)
    whole = request
    if narrow is not None:
        async with runtime.database.snapshot(tenant) as connection:
            known = await conversations.find(connection, tenant, conversation_id)
            _check(known, request)
            request = await narrow(connection, known, whole)
        if known is not None and not request.drafts:
            if once is None and not _moves(known, request):
                return Appended(_answer(request, []) + _epoch_text(known))
            return await _append_locked(bench, tenant, conversation_id, whole, once, narrow)
    else:
        known = runtime.conversations.get((tenant, conversation_id))
        # What is remembered may be of one erased since.
        if known is None or _is_anothers(known, request) or request.imported:
            known = await _current(runtime, tenant, conversation_id)
        _check(known, request)
    decided = await _decide(bench, known, conversation_id, request, once)
    alone = not (known and _moves(known, request)) and not epochs.is_due(runtime, decided.conversation)
    alone = alone and len(decided.append.memories) <= messages.MEMORIES_AT_ONCE
    if alone and await messages.append_alone(runtime.database, tenant, decided.append):
        return _remember(runtime, tenant, decided)
    return await _append_locked(bench, tenant, conversation_id, whole, once, narrow)


def _bench(runtime: Runtime, imported: Imported | None) -> _Bench:
    if imported is None:
        return _Bench(runtime, datetime.now(UTC))
    ids = {index: uuid for index, uuid in enumerate(imported.ids) if uuid is not None}
    return _Bench(runtime, imported.created_at, imported, ids=ids)


async def _append_locked(
    bench: _Bench,
    tenant: UUID,
    conversation_id: str,
    whole: AppendRequest,
    once: Once | None,
    narrow: Narrow | None,
) -> Appended:
    runtime, request = bench.runtime, whole
    async with runtime.database.begin(tenant) as connection:
        for _ in range(CREATION_TRIES):
            known = await conversations.lock(connection, tenant, conversation_id)
            _check(known, whole)
            if narrow is not None:
                request = await narrow(connection, known, whole)
            if known is not None and _changes_system(known, request):
                known = await _change_system(bench, connection, tenant, known, request.system or "")
            if known is not None and _turns_out_chinese(known, request):
                await conversations.begin_generation(connection, tenant, known.id)
                known = _moved(known)
            if known is not None and (percent := _percent(known, request)) != known.token_percent:
                await conversations.calibrate(connection, tenant, known.id, percent)
                known = replace(_moved(known), token_percent=percent)
            if known is not None and not request.drafts:
                return await _nothing_new(runtime, connection, tenant, known, request, once)
            decided = await _decide(bench, known, conversation_id, request, once)
            if await messages.append_within(connection, tenant, decided.append):
                break
        else:
            raise errors.StorageUnavailable("The conversation is repeatedly created and erased. Try again.")
        current = decided.conversation
        if epochs.is_due(runtime, current):
            current = await epochs.open_epoch(runtime, connection, tenant, current)
            decided = await _with_epoch(connection, tenant, decided, current, once)
    return _remember(runtime, tenant, decided)


async def _nothing_new(
    runtime: Runtime,
    connection: Connection,
    tenant: UUID,
    known: Conversation,
    request: AppendRequest,
    once: Once | None,
) -> Appended:
    if once is not None and (answer := await once.claim(connection, tenant)) is not None:
        return Appended(answer, replayed=True)
    response = _answer(request, []) + _epoch_text(known)
    if once is not None:
        await once.correct(connection, tenant, Said.about(response, known))
    runtime.conversations.pop((tenant, known.id), None)
    return Appended(response)


async def _with_epoch(
    connection: Connection, tenant: UUID, decided: _Decided, current: Conversation, once: Once | None
) -> _Decided:
    """The answer names the new epoch, also when it is given again."""
    response = decided.response.removesuffix(_epoch_text(decided.conversation)) + _epoch_text(current)
    if once is not None:
        await once.correct(connection, tenant, Said.about(response, current))
    return _Decided(decided.append, current, response)


def _epoch_text(conversation: Conversation) -> str:
    """The response's last members."""
    return f'"page":{conversation.tail.last_page},"epoch":{conversation.epoch}}}'


def _remember(runtime: Runtime, tenant: UUID, decided: _Decided) -> Appended:
    if decided.append.work:
        runtime.work_came.set()
    runtime.conversations[tenant, decided.conversation.id] = decided.conversation
    return Appended(decided.response)


async def _current(runtime: Runtime, tenant: UUID, conversation_id: str) -> Conversation | None:
    async with runtime.database.snapshot(tenant) as connection:
        return await conversations.find(connection, tenant, conversation_id)


def _check(known: Conversation | None, request: AppendRequest) -> None:
    if known is None:
        if request.user_id is None and not request.creates:
            raise errors.NotFound("There is no such conversation. Send `user_id` to create it.")
    elif _is_unseen(known, request):
        raise conversations.unknown()
    elif _is_anothers(known, request):
        raise errors.Conflict(
            "The conversation belongs to another user.",
            errors=[{"loc": ["body", "user_id"], "msg": "is not the conversation's user"}],
        )

    elif request.imported is not None and known.tail.last_seq + 1 != request.imported.first_seq:
        raise errors.Conflict("The conversation changed during the import. Send the rest again.")


def _is_anothers(known: Conversation, request: AppendRequest) -> bool:
    named = request.user_id is not None and known.user_id not in (None, request.user_id)
    return named or _is_unseen(known, request)


def _is_unseen(known: Conversation, request: AppendRequest) -> bool:
    return conversations.seen(known, request.bound_to) is None


def _moves(known: Conversation, request: AppendRequest) -> bool:
    """Whether the append changes what every window is laid out by."""
    calibrates = _percent(known, request) != known.token_percent
    return calibrates or _changes_system(known, request) or _turns_out_chinese(known, request)


def _percent(known: Conversation, request: AppendRequest) -> int:
    return known.token_percent if request.reported_usage is None else risen(known.token_percent, request.reported_usage)


def _changes_system(known: Conversation, request: AppendRequest) -> bool:
    return request.system is not None and request.system != known.system


async def _change_system(
    bench: _Bench, connection: Connection, tenant: UUID, known: Conversation, system: str
) -> Conversation:
    await bench.count([system])
    changed = conversations.NewConversation(
        id=known.id, uid=known.uid, title=known.title, system=system, system_tokens=bench.tokens[system] + epochs.FRAME,
        model=known.model, budget=known.budget, policy=known.policy, metadata=known.metadata,
    )  # fmt: skip
    await conversations.change(connection, tenant, known.id, changed, moves_zones=True)
    return replace(_moved(known), system=system, system_tokens=changed.system_tokens)


def _moved(known: Conversation) -> Conversation:
    """A conversation of which a new generation has begun."""
    generation = known.totals.generation + known.totals.last_seq + 1
    return replace(known, version=known.version + 1, totals=replace(known.totals, generation=generation))


async def _taken(
    runtime: Runtime, tenant: UUID, conversation_id: str, request: AppendRequest, narrow: Narrow | None
) -> errors.QuireError:
    """What to say when a unique key was broken: a client id of the request is in the conversation already."""
    async with runtime.database.snapshot(tenant) as connection:
        if narrow is not None:
            known = await conversations.find(connection, tenant, conversation_id)
            request = await narrow(connection, known, request)
        wanted = [draft.client_id for draft in request.drafts if draft.client_id is not None]
        taken = await messages.taken_client_ids(connection, tenant, conversation_id, wanted)
    if not taken:
        return errors.StorageUnavailable("A concurrent request interfered. Try again.")
    return errors.Conflict(
        "The conversation already has this client id. Nothing was stored.",
        errors=[
            {"loc": ["body", "messages", i, "client_id"], "msg": f"is the id of message {taken[draft.client_id]}"}
            for i, draft in enumerate(request.drafts, request.first)
            if draft.client_id in taken
        ],
    )


# --- Deciding ---------------------------------------------------------------------------------------


async def _decide(
    bench: _Bench, known: Conversation | None, conversation_id: str, request: AppendRequest, once: Once | None
) -> _Decided:
    """Everything the append will write, as values."""
    placements, tail = place(known.tail if known else Tail(), request.drafts)
    language = (known.language if known else None) or _language(request.drafts)
    policy = policy_of(bench.runtime.defaults, conversations.policy_overrides(known) if known else {})
    bench.rest_on((request.first, policy, language, [(p.kind, p.answers, p.seq == 1) for p in placements]))
    if policy.archive_threshold_tokens:
        await bench.count(answer.result.text for p in placements for answer in p.answers)
    size = LONG_CHARACTERS + 1 if request.is_large else sum(map(_characters, request.drafts))
    shapes = await run_in_thread_if_large(size, _shapes, bench, placements, policy, language or "en")
    await bench.count(await run_in_thread_if_large(size, list, _texts_to_count(placements, shapes, bench, request)))
    return await run_in_thread_if_large(
        size, _counted, bench, known, conversation_id, request, once, placements, tail, shapes, language, policy
    )


def _characters(draft: Draft) -> int:
    """How long a message is, about."""
    return len(draft.text) + sum(len(r.text) for r in draft.results) + sum(len(c.arguments) for c in draft.calls)


def _counted(
    bench: _Bench,
    known: Conversation | None,
    conversation_id: str,
    request: AppendRequest,
    once: Once | None,
    placements: Sequence[Placement],
    tail: Tail,
    shapes: Sequence[Shape],
    language: Language | None,
    policy: Policy,
) -> _Decided:
    """The rest of the decision, once every text is counted."""
    titles = {p.seq: bench.lines[p.index, "title"] for p in placements if (p.index, "title") in bench.lines}
    scope = scope_of(known.user_id if known else request.user_id, conversation_id)
    placed = list(zip(placements, shapes, strict=True))
    archives = [a for p, s in placed for a in _archives(bench, p, s, conversation_id, scope, language)]
    totals = known.totals if known else Totals()
    chain = known.chain if known else b""
    rows, totals = _rows(bench, placements, shapes, totals, chain, language or "en", request.inner)
    prompt = sum(bench.weight(s.view) for p, s in placed if p.kind == "prompt")
    first_page = [NewPage(1, 1, titles.get(1, ""), bench.tokens.get(titles.get(1, ""), 0))]
    pages = [NewPage(p.page, p.seq, titles[p.seq], bench.tokens[titles[p.seq]]) for p in placements if _opens(p)]
    pages = ([] if known and known.tail.last_seq else first_page) + [p for p in pages if p.page > 1]
    after = _after(bench, known, conversation_id, request, tail, totals, language, prompt, titles.get(1))
    chain = rows[-1].chain
    asked, answered = chain if request.asks else after.asked, after.answered or (chain if request.answers else None)
    after = replace(after, chain=chain, asked=asked, answered=answered)
    response = _response(request, placements, shapes, rows, after)
    memories = _memories(bench, placements, scope, conversation_id, after.uid)
    return _Decided(
        append=Append(
            conversation_id=conversation_id,
            uid=after.uid,
            version=known.version if known else -1,
            user_id=request.user_id,
            title=titles.get(1),
            system=request.system,
            system_tokens=after.system_tokens,
            language=language,
            prompt_tokens=after.prompt_tokens,
            tail=tail,
            totals=totals,
            chain=after.chain,
            asked=after.asked,
            answered=after.answered,
            created_at=bench.now,
            messages=rows,
            pages=pages,
            notes=_notes(bench, placements),
            memories=memories,
            archives=archives,
            work=enqueue.traced(_work(bench, known, after, policy, memories), bench.runtime.tracing.traceparent()),
            embeds=bench.runtime.embedder is not None,
            once=IdempotentResponse(once.key, once.digest, response, owner_of(scope)) if once else None,
        ),
        conversation=after,
        response=response,
    )


def _work(
    bench: _Bench, known: Conversation | None, after: Conversation, policy: Policy, memories: Sequence[NewMemory]
) -> list[NewWork]:
    """What the append leaves to be done in the background."""
    runtime = bench.runtime
    before = known.totals if known else Totals()
    found: list[NewWork] = []
    is_new = bench.imported is None
    if is_new:  # else what jobs have found out may follow; the import's end enqueues what is missing
        closed = range(max(1, before.last_page), after.totals.last_page)
        found = [enqueue.page(after.id, after.uid, page) for page in closed]
    threshold = runtime.settings.memory_summary_threshold
    if (
        bench.imported is None
        and runtime.chat is not None
        and policy.summary_enabled
        and after.totals.last_seq >= threshold
    ):
        steps = (totals.last_seq // SUMMARY_STEP for totals in (before, after.totals))
        if len(set(steps)) > 1 or before.last_seq < threshold:
            found.append(enqueue.summary(after.id, after.uid))
    for index, answer in bench.partly_indexed:
        if answer >= 0:
            found.append(enqueue.archive_passages(bench.cards[index, answer].uuid, after.id))
        else:
            found.append(enqueue.message_passages(after.id, after.uid, before.last_seq + 1 + index))
    if runtime.embedder is not None and memories:
        found.append(enqueue.embed(memories[0].owner))
    return found


def _opens(placement: Placement) -> bool:
    return placement.user_seq == placement.seq


def _language(drafts: Sequence[Draft]) -> Language | None:
    """That of the first user messages; None while the user has said nothing."""
    said = "\n".join(draft.text for draft in drafts if draft.role == "user")[:SCAN_MAX]
    return language_of(said) if said.strip() else None


def _turns_out_chinese(known: Conversation, request: AppendRequest) -> bool:
    """Windows were in English until the user said something: of something else, there may have been some."""
    return known.language is None and known.totals.last_seq > 0 and _language(request.drafts) == "zh"


def _shapes(bench: _Bench, placements: Sequence[Placement], policy: Policy, language: Language) -> list[Shape]:
    """The forms of each message, and on the bench its line, its title and the cards of what it archives."""
    shapes = []
    for placement in placements:
        placeholders = {}
        for i in bench.archived(placement, policy):
            key = (placement.index, i)
            if key not in bench.cards:
                bench.cards[key] = bench.card(placement, placement.answers[i], language)
            placeholders[i] = placeholder(bench.cards[key], language)
        shapes.append(shape(placement, placeholders, policy, language, TOOL_NAMES))
        if placement.index not in bench.digests:
            bench.digests[placement.index] = digest(placement.draft)
        if (placement.index, "line") not in bench.lines:
            for name, line in _lines(placement):
                bench.lines[placement.index, name] = neutral(line)
            _index(bench, placement, shapes[-1])
    return shapes


def _lines(placement: Placement) -> Iterator[tuple[str, str]]:
    """A message's line; and its page's title and a standing note in it, where it opens one."""
    draft = placement.draft
    opens = _opens(placement) or placement.seq == 1
    opening = read("user", draft.text[:SCAN_MAX]) if opens else None
    is_read = opening is not None and draft.role == "user" and 0 < len(draft.text) <= SCAN_MAX
    yield "line", line_of(opening) if opening and is_read and not placement.answers else _line(placement)
    if opening is not None:
        note = note_in(opening.blocks.prose if opening.blocks else ())
        if note is not None:
            yield "note", note
        yield "title", title_of(opening)


def _index(bench: _Bench, placement: Placement, found: Shape) -> None:
    """What search will find of a message. Never the prompt, nor what a recall tool brought back."""
    if placement.kind == "prompt" or found.loaded is not None:
        return
    said = found.view if placement.kind != "orphan" else [placement.draft.original]
    texts = {-1: plain_text(said), **{i: placement.answers[i].result.text for i in found.archived}}
    for answer, text in texts.items():
        key = (placement.index, answer)
        bench.vectors[key] = vectors(text, speaker=speaker_of(said) if answer < 0 else None)
        if ends(bench.vectors[key]) < len(text):
            bench.partly_indexed.add(key)


def _memories(
    bench: _Bench, placements: Sequence[Placement], scope: str, conversation_id: str, uid: UUID
) -> list[NewMemory]:
    owner = owner_of(scope)
    rows = []
    for placement in placements:
        for answer in (-1, *range(len(placement.answers))):
            if (found := bench.vectors.get((placement.index, answer))) is None:
                continue
            archive = bench.cards[placement.index, answer].uuid if answer >= 0 else None
            rows += [
                NewMemory(
                    id=uuid7(), owner=owner, type="episode" if archive is None else "passage",
                    conversation_id=conversation_id, conversation_uid=uid, seq=placement.seq, page=placement.page,
                    archive_id=archive, start=start, length=length, terms=terms,
                )
                for start, length, terms in found
            ]  # fmt: skip
    return rows


def _notes(bench: _Bench, placements: Sequence[Placement]) -> list[NewNote]:
    return [
        NewNote(uuid7(), p.seq, note, bench.tokens[note])
        for p in placements
        if (note := bench.lines.get((p.index, "note"))) is not None
    ]


def _line(placement: Placement) -> str:
    draft = placement.draft
    if placement.answers:
        answer = placement.answers[0]
        return result_line(answer.call.name, answer.result.text)
    if draft.calls and not draft.text.strip():
        return ", ".join(call_line(call.name, call.arguments) for call in draft.calls[:3])
    text = draft.text or "\n".join(result.text for result in draft.results)
    return message_line(draft.role, text)


def _texts_to_count(
    placements: Sequence[Placement], shapes: Sequence[Shape], bench: _Bench, request: AppendRequest
) -> Iterable[str]:
    for placement, found in zip(placements, shapes, strict=True):
        yield from (placement.answers[i].result.text for i in found.archived)
        for form in (found.view, found.short, found.loaded):
            for message in form or ():
                yield from weigh(message)[0]
        yield from thinking(found)
    yield from bench.lines.values()
    yield ""
    if request.system is not None:
        yield request.system


def _archives(
    bench: _Bench, placement: Placement, found: Shape, conversation_id: str, scope: str, language: Language | None
) -> Iterable[NewArchive]:
    for i in found.archived:
        card, answer = bench.cards[placement.index, i], placement.answers[i]
        text = answer.result.text
        yield make_archive(
            card, text, bench.tokens[text], answer.call.arguments, scope, (conversation_id, placement.seq),
            language or "en", bench.expiry(placement, answer),
        )  # fmt: skip


def _rows(
    bench: _Bench,
    placements: Sequence[Placement],
    shapes: Sequence[Shape],
    totals: Totals,
    chain: bytes | None,
    language: Language,
    inner: frozenset[int],
) -> tuple[list[NewMessage], Totals]:
    """The rows, each with the sums of what weighs before it; and the sums after them."""
    rows = []
    full_sum, short_sum, history = totals.full, totals.short, totals.history
    for placement, found in zip(placements, shapes, strict=True):
        weighed = weights(found, placement.kind, bench.weight, bench.tokens.__getitem__)
        if placement.index in inner:
            bench.digests[placement.index] = INNER
        elif chain is not None and placement.kind != "prompt":
            chain = link(chain, bench.digests[placement.index])
        rows.append(_row(bench, placement, found, weighed, full_sum, short_sum, chain))
        full_sum += weighed.full
        short_sum += weighed.short
        history += weighed.full + sum(
            bench.tokens[placement.answers[i].result.text]
            - bench.tokens[placeholder(bench.cards[placement.index, i], language)]
            for i in found.archived
        )
    last = placements[-1]
    return rows, replace(
        totals, last_seq=last.seq, last_page=last.page, full=full_sum, short=short_sum, history=history
    )


def _row(
    bench: _Bench,
    placement: Placement,
    found: Shape,
    weighed: Weights,
    full_before: int,
    short_before: int,
    chain: bytes | None,
) -> NewMessage:
    draft = placement.draft
    body = dumps(_stored_body(bench, placement, found))
    view = _text(found.view)
    line = bench.lines[placement.index, "line"]
    cards = [bench.cards[placement.index, i] for i in found.archived]
    return NewMessage(
        seq=placement.seq,
        id=bench.ids.setdefault(placement.index, uuid7()),
        client_id=draft.client_id,
        page=placement.page,
        user_seq=placement.user_seq,
        call_group=placement.group,
        kind=placement.kind,
        role=draft.role,
        body=body,
        view=None if view == body else view,
        short=_text(found.short) if found.short is not None and weighed.short < weighed.full else None,
        loaded=_text(found.loaded) if found.loaded is not None else None,
        anthropic=dumps(found.anthropic) if found.anthropic is not None else None,
        parts=len(found.view),
        calls=len(draft.calls),
        results=len(placement.answers),
        full_tokens=weighed.full,
        short_tokens=weighed.short,
        loaded_tokens=weighed.loaded,
        full_before=full_before,
        short_before=short_before,
        line=line,
        line_tokens=bench.tokens[line],
        archive_ids="{" + ",".join(str(card.uuid) for card in cards) + "}",
        digest=bench.digests[placement.index],
        chain=chain,
    )


def _text(chat_messages: Sequence[dict[str, Any]]) -> str:
    return ",".join(dumps(message) for message in chat_messages)


def _stored_body(bench: _Bench, placement: Placement, found: Shape) -> dict[str, Any]:
    """The message as sent; where a result's text went to the archive, a reference stands in for it.

    The reference is an object, which no result's content can be, so it cannot be mistaken for one.
    """
    original = placement.draft.original
    references = {
        placement.answers[i].result.call_id: {"archive": str(bench.cards[placement.index, i].uuid)}
        for i in found.archived
        if isinstance(placement.answers[i].result.content, str)
    }
    if not references:
        return original
    if placement.draft.role == "tool":
        return {**original, "content": references[original["tool_call_id"]]}
    blocks = [
        {**block, "content": references[block["tool_use_id"]]} if block.get("tool_use_id") in references else block
        for block in original["content"]
    ]
    return {**original, "content": blocks}


def _after(
    bench: _Bench,
    known: Conversation | None,
    conversation_id: str,
    request: AppendRequest,
    tail: Tail,
    totals: Totals,
    language: Language | None,
    prompt_tokens: int,
    title: str | None,
) -> Conversation:
    """The conversation as it is once the append is stored."""
    if known is not None:
        return replace(
            known, version=known.version + 1, tail=tail, totals=totals, language=language, updated_at=bench.now,
            prompt_tokens=known.prompt_tokens + prompt_tokens,
        )  # fmt: skip
    system_tokens = bench.tokens[request.system] + epochs.FRAME if request.system is not None else 0
    return Conversation(
        id=conversation_id, uid=uuid7(), user_id=request.user_id, title=title, system=request.system,
        created_at=bench.now, updated_at=bench.now, version=1, tail=tail, totals=totals,
        prompt_tokens=prompt_tokens, system_tokens=system_tokens, language=language,
    )  # fmt: skip


def _response(
    request: AppendRequest,
    placements: Sequence[Placement],
    shapes: Sequence[Shape],
    rows: Sequence[NewMessage],
    after: Conversation,
) -> str:
    stored = []
    for placement, found, row in zip(placements, shapes, rows, strict=True):
        archive_ids = [i for i in row.archive_ids.strip("{}").split(",") if i]
        stored.append(
            {
                "id": str(row.id),
                "client_id": row.client_id,
                "seq": row.seq,
                "page": row.page,
                "role": row.role,
                "tokens": row.loaded_tokens or row.full_tokens,
                "archive_id": archive_ids[0] if archive_ids else None,
                "content": _seen_content(placement, found),
            }
        )
    return _answer(request, stored) + _epoch_text(after)


def _answer(request: AppendRequest, stored: Sequence[dict[str, Any]]) -> str:
    """The response without its last members."""
    return f"{dumps({**request.answer, request.member: stored})[:-1]},"


def _seen_content(placement: Placement, found: Shape) -> Any:
    """The content as the model will see it on the next call."""
    if found.anthropic is not None:
        return found.anthropic["content"]
    seen = found.loaded or found.view
    return seen[0].get("content") if seen else placement.draft.original.get("content")
