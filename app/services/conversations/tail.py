"""The tail of a window: archives and pages that the call names, and memories that answer its query.

Small talk is never searched. Results take as many of the free tokens as the evidence is worth
(``core/search/evidence.py``) and the request allows. ``core/window/packing.py`` packs them; a warning names each part
that cannot be shown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from uuid import UUID

from app import errors
from app.caches import KeptWindow
from app.concurrency import run_in_thread_if_large
from app.core import wording
from app.core.calibration import counted, marks_of
from app.core.conversation import Conversation
from app.core.history.rows import HistoryMessage
from app.core.model import Language, TailItem, Window, WindowWarning
from app.core.scope import scope_of
from app.core.search.evidence import Evidence, evidence
from app.core.search.relevance import answers
from app.core.window.head import for_speaker, keeps
from app.core.window.kept import tokens_max
from app.core.window.packing import PASSAGE_TOKENS_MIN, Count, FoundPassage, pack
from app.core.window.quote import archive_text
from app.postgres.transactions import ReadTx
from app.runtime import Runtime
from app.services import spaces
from app.services.conversations.call import ContextRequest, WindowCall
from app.services.memory import archiving, querying, recalling, searching
from app.services.memory.archiving import ArchivePart, LoadedArchive
from app.services.memory.hits import SearchHit
from app.services.memory.querying import Query
from app.store import conversations, messages
from app.store.memory import kept
from app.store.memory.memories import Hit
from app.text.queries import has_subject

LOAD_FRAME = 140
"""Tokens of the frame around a loaded archive, and of the line about how to read on."""
PASSAGES_MAX = 1_000
"""The most passages of a query."""
UNASKED_LOOKED_AT = 20
"""The most passages that an automatic recall reads, including those in view."""
LAG_MAX = 10
"""A window warns of more memories without a vector than this. New ones are in view, and get theirs within a second."""


def weight(items: Sequence[TailItem], room: int) -> int:
    taken = 0
    for item in items:
        if taken + item.tokens <= room:
            taken += item.tokens
    return taken


@dataclass(frozen=True, slots=True)
class Gathered:
    """The parts that a request loads, and those that its query found."""

    items: list[TailItem]
    """All items of the tail, framed and counted."""
    warnings: tuple[WindowWarning, ...]
    named: list[TailItem]
    """The items for the speaker, archives and pages that the request names."""
    search: _TailSearch
    found: _TailResults

    @property
    def sources(self) -> set[UUID]:
        """Return the memories and archives that the search found, and those that the request names."""
        found = {id_ for hit in self.found.evidence.hits for id_ in (hit.hit.id, hit.hit.archive_id) if id_ is not None}
        return {*found, *self.search.request.load}


async def gather(call: WindowCall, shown: KeptWindow, room: int, count: Count) -> Gathered:
    """Return the requested parts that a window does not show, with a warning for each that cannot be shown in full.

    ``room``: tokens for all parts, as ``count`` counts them.
    """
    runtime, request, conversation = call.runtime, call.request, shown.conversation
    language: Language = conversation.language or "en"
    text = request.query if request.query and (request.load or has_subject(request.query)) else None
    query = await querying.prepare(runtime, call.tenant, text, asked_at=conversation.said_at) if text else None
    pages, warnings = await _pages(call, conversation, language, count)
    speaker, unknown = await _speaker(call, conversation, min(room, tokens_max(shown.window.ledger.budget)), count)
    free = room - weight(speaker, room)
    in_full: set[int] = set()
    for number, item in pages.items():
        if item.tokens <= free:
            free -= item.tokens
            in_full.add(number)
    search = _TailSearch(conversation, request, query, frozenset(in_full), _is_alone(request, shown))
    async with runtime.database.snapshot(call.tenant) as tx:
        found = await _find(tx, search, free, shown.window)
    archives, of_archives = await _archives(runtime, found.loaded, language, count)
    named = [*speaker, *archives, *pages.values()]
    items = await _packed(search, found, named, shown.window, room, count)
    warnings = [*unknown, *of_archives, *warnings, *_degraded(query), *found.lags]
    return Gathered(items, tuple(warnings), named, search, found)


async def laid_out(gathered: Gathered, window: Window, room: int, count: Count) -> Gathered:
    items = await _packed(gathered.search, gathered.found, gathered.named, window, room, count)
    return replace(gathered, items=items)


def counter_of(call: WindowCall, shown: KeptWindow) -> Count:
    """Return a function that counts a text in our tokens as the model charges for it in this window."""
    target = shown.target
    plain = call.runtime.tokens.count
    return lambda text: counted(target.charge, target.token_percent, plain(text), marks_of(text))


async def unasked(
    tx: ReadTx, call: WindowCall, shown: KeptWindow, query: Query, room: int
) -> tuple[list[TailItem], list[UUID]]:
    """Return the automatic recall for a message: framed and counted items that are not in view, and the memories from
    which they were chosen. Every window of the page shows it, so it does not depend on the rest of the request.

    ``room``: tokens for all items.
    """
    request = replace(call.request, load=(), sensitive=False)
    search = _TailSearch(shown.conversation, request, query, frozenset(), _is_alone(request, shown))
    in_view = _in_view(search, shown.window)
    found = await _evidence(tx, search, min(UNASKED_LOOKED_AT, room // PASSAGE_TOKENS_MIN), in_view)
    hits, free = found.beside(lambda hit: in_view(hit.hit) or keeps(shown.window.head, hit.text, hit.name), room)
    items = await _passages(search.conversation, hits, free, call.runtime.tokens.count)
    return items, list({hit.hit.id for hit in found.hits})


async def _packed(
    search: _TailSearch, found: _TailResults, named: Sequence[TailItem], window: Window, room: int, count: Count
) -> list[TailItem]:
    """Return the tail's items: the named parts, and the passages that fit beside them and are not in view."""
    free = room - weight(named, room)
    if search.request.recall_max_tokens is not None:
        free = min(free, search.request.recall_max_tokens)
    in_view = _in_view(search, window)
    hits, theirs = found.evidence.beside(lambda hit: in_view(hit.hit) or keeps(window.head, hit.text, hit.name), free)
    lacks = _lacks(search, found, is_shown=bool(hits), count=count)
    if (left := free - sum(item.tokens for item in lacks)) < 0:
        lacks, left = [], free
    return [*named, *lacks, *await _passages(search.conversation, hits, min(theirs, left), count)]


def _lacks(search: _TailSearch, found: _TailResults, *, is_shown: bool, count: Count) -> list[TailItem]:
    """Return a line about what the search lacked, unless nothing was found for a query that hardly asks."""
    language: Language = search.conversation.language or "en"
    lacks = wording.lacking(map(asdict, [*_degraded(search.query), *found.lags]), language)
    title = wording.RELEVANT_PASSAGES if found.evidence.hits else wording.NOTHING_FOUND
    is_missed = is_shown or (not found.evidence.hits and search.query is not None and search.query.may_ask)
    if not lacks or not is_missed:
        return []
    text = f"[{title.say(language)}{lacks}]"
    return [TailItem(text, count(text) + 1)]


@dataclass(frozen=True, slots=True)
class _TailSearch:
    """The search of a tail and its scope."""

    conversation: Conversation
    request: ContextRequest
    query: Query | None
    pages: frozenset[int]
    """The conversation's pages that the tail shows in full."""
    is_alone: bool
    """Whether other conversations are left out."""


@dataclass(frozen=True, slots=True)
class _TailResults:
    """The requested archives, and the results of the query."""

    loaded: list[tuple[UUID, LoadedArchive | None]]
    evidence: Evidence[SearchHit]
    """The query's results that can be shown, in view or not."""
    lags: Sequence[WindowWarning] = ()


def _is_alone(request: ContextRequest, shown: KeptWindow) -> bool:
    return (request.recall_scope or shown.target.policy.recall_scope) == "conversation"


def _in_view(search: _TailSearch, window: Window) -> Callable[[Hit], bool]:
    """Return a function that decides whether the window or a named part shows a passage."""
    seqs = {placed.seq for placed in window.body if placed.zone == "verbatim" or placed.role != "tool"}
    fresh = {placed.archive_ids[0] for placed in window.body if placed.passing and len(placed.archive_ids) == 1}
    archives = {*fresh, *map(str, search.request.load)}
    line = search.conversation.line

    def is_in_view(hit: Hit) -> bool:
        if hit.archive_id is not None:
            return str(hit.archive_id) in archives
        is_shown = hit.seq in seqs or (hit.page in search.pages and hit.type == "episode")
        return is_shown and line.includes(hit.conversation_id)

    return is_in_view


async def _find(tx: ReadTx, search: _TailSearch, free: int, window: Window) -> _TailResults:
    """Load each named archive within its share of the free tokens, and search for the query."""
    loaded: list[tuple[UUID, LoadedArchive | None]] = []
    names = search.request.load
    for uuid in names:
        part = ArchivePart(query=search.query, max_tokens=max(1, free // len(names) - LOAD_FRAME))
        owners = search.conversation.searched
        loaded.append((uuid, await archiving.load(tx, owners, uuid, part, asked_in=search.conversation)))
    room = free if search.request.recall_max_tokens is None else min(free, search.request.recall_max_tokens)
    most = min(PASSAGES_MAX, max(0, room) // PASSAGE_TOKENS_MIN)
    most += len(window.body) if most else 0
    if search.query is None:
        return _TailResults(loaded, Evidence())
    found = await _evidence(tx, search, most)
    lags = await searching.vectors_lag(tx, search.conversation.searched, search.query, LAG_MAX)
    return _TailResults(loaded, found, [WindowWarning(**warning) for warning in lags])


async def _evidence(
    tx: ReadTx, search: _TailSearch, most: int, is_in_view: Callable[[Hit], bool] | None = None
) -> Evidence[SearchHit]:
    """Return the results that can be shown. ``is_in_view`` is given for an automatic recall, for the user's message."""
    request, query, is_said = search.request, search.query, is_in_view is not None
    if query is None or most == 0 or not has_subject(query.text):
        return Evidence()
    hits, _ = await searching.find_passages(
        tx, query, most, sensitive=request.sensitive,
        asked_in=search.conversation, is_said=is_said, is_alone=search.is_alone, within=request.recall_filter,
    )  # fmt: skip
    if is_in_view is not None:
        answering = [at for at, hit in enumerate(hits) if answers(hit.score, hit.coverage, query.asks)]
        if all(is_in_view(hits[at]) for at in answering):
            return Evidence()  # none of them would be shown, whatever the texts say
        hits = hits[: answering[-1] + 1]  # nor would any later one
    judged = await searching.judge(tx, query, hits, sensitive=request.sensitive)
    # A text that only repeats the query, from an earlier conversation or a retry, is no evidence of an answer.
    held = await searching.distinct([hit for hit in judged if hit.status == "held"], query, is_said=True)
    return evidence(held, query.asks, is_said=is_said)


def _degraded(query: Query | None) -> list[WindowWarning]:
    """Warn if the search fell back to keywords. Without an embedding model it always uses them, without a warning."""
    warnings = query.warnings if query is not None else []
    return [WindowWarning(**warning) for warning in warnings if warning == querying.SEMANTIC_UNAVAILABLE]


async def _speaker(
    call: WindowCall, conversation: Conversation, room: int, count: Count
) -> tuple[list[TailItem], list[WindowWarning]]:
    """Return the pinned memories of the speaker in a space. An unknown name has none, and a caller that is bound to a
    user sees only this user's.
    """
    if (name := call.request.speaker) is None:
        return [], []
    async with call.runtime.database.snapshot(call.tenant) as tx:
        space = conversation.space_id
        user = await spaces.participant(tx, space, name) if space is not None else None
        if user is None or call.request.bound_to not in (None, user):
            return [], [WindowWarning("speaker_not_shown", "the name stands for no member whose memories you can see")]
        lines = await kept.of_speaker(tx, conversation.id, scope_of(user, None).owner)
    item, left_out = for_speaker(name, lines, conversation.language or "en", room, count)
    warnings = [WindowWarning("notes_left_out", f"there is no room for {left_out} memories of the speaker")]
    return [item] if item else [], warnings if left_out else []


async def _pages(
    call: WindowCall, conversation: Conversation, language: Language, count: Count
) -> tuple[dict[int, TailItem], list[WindowWarning]]:
    """Return the named pages in full, and warnings."""
    numbers = call.request.pages
    pages: dict[int, Sequence[HistoryMessage]] = {}
    if numbers:
        async with call.runtime.database.snapshot(call.tenant) as tx:
            if not await conversations.is_still(tx, conversation):
                raise errors.missing("conversation")
            pages = {number: await messages.page_messages(tx, conversation.id, number) for number in numbers}
    items: dict[int, TailItem] = {}
    missing: list[WindowWarning] = []
    for number, rows in pages.items():
        text = await recalling.page(call.runtime, rows, number, language)
        if text is None:
            missing.append(WindowWarning("page_not_found", f"there is no page {number}"))
        else:
            items[number] = TailItem(text, await run_in_thread_if_large(len(text), count, text))
    return items, missing


async def _archives(
    runtime: Runtime, loaded: Sequence[tuple[UUID, LoadedArchive | None]], language: Language, count: Count
) -> tuple[list[TailItem], list[WindowWarning]]:
    """Return the named archives, as much of each as there is room for, and warnings."""
    items: list[TailItem] = []
    warnings: list[WindowWarning] = []
    for uuid, read in loaded:
        if read is None:
            warnings.append(WindowWarning("archive_not_found", f"there is no archive {uuid}"))
            continue
        item, is_cut, part = await _archive_item(runtime, uuid, read, language, count)
        room = read.wanted.max_tokens
        if room and item.tokens > room + LOAD_FRAME:  # the model charges more tokens for it
            fewer = replace(read, wanted=replace(read.wanted, max_tokens=room * room // item.tokens))
            item, is_cut, part = await _archive_item(runtime, uuid, fewer, language, count)
        items.append(item)
        if is_cut:
            warnings.append(WindowWarning("tail_cut", f"archive {uuid} is shown in part: {part}"))
    return items, warnings


async def _archive_item(
    runtime: Runtime, uuid: UUID, read: LoadedArchive, language: Language, count: Count
) -> tuple[TailItem, bool, str]:
    archive = await archiving.shown(runtime, read)
    shown, part = archiving.tool_text(archive, language)
    text = archive_text(str(uuid), archive["tool_name"], shown, part, language)
    return TailItem(text, await run_in_thread_if_large(len(text), count, text), uuid), archive["is_cut"], part


async def _passages(
    conversation: Conversation, relevant: Sequence[SearchHit], free: int, count: Count
) -> list[TailItem]:
    found = [
        FoundPassage(
            hit.day, hit.role, hit.name, hit.text, hit.told, hit.elsewhere(conversation.line), hit.hit.archive_id
        )
        for hit in relevant
    ]
    size = sum(len(hit.text) for hit in relevant)
    return await run_in_thread_if_large(size, pack, found, free, count, conversation.language or "en")
