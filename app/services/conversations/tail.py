"""The tail of a window: archives and pages that the call names, and memories that answer its query.

Small talk is never searched for, and if the best result does not answer the query (``core/search/relevance.py``) the
tail stays empty. Results take the free tokens, or as many of them as the request allows. Passages are in order of
time, by day; a warning names what cannot be shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from asyncpg import Record

from app.concurrency import run_in_thread_if_large
from app.core.conversation import Conversation
from app.core.model import Format, Language, Policy, RecallScope, TailItem, Window, WindowWarning
from app.core.quote import archive_text, day_heading, passage_line
from app.core.search import relevance
from app.core.search.narrowing import EVERYTHING, Narrowing
from app.core.window.assemble import free_for_tail
from app.postgres.database import Database
from app.postgres.transactions import ReadTx
from app.runtime import Runtime
from app.services.memory import archiving, recalling, searching
from app.services.memory.archiving import ArchivePart, Loaded
from app.services.memory.hits import SearchHit, by_day, worth_showing
from app.services.memory.searching import Query
from app.store import conversations, messages
from app.store.memory.memories import Hit
from app.text.queries import asks_for_value, has_subject

LOAD_FRAME = 140
"""Tokens of the frame around a loaded archive, and of the line that says how to read on."""
PASSAGES_MAX = 1_000
"""Passages that a query brings in, at most."""
PASSAGE_TOKENS_MIN = 12
"""A passage has hardly fewer: so many are looked for as could fit."""
RESULT_PREFERENCE = 1.25
"""Factor for a tool result's score if the query wants a value: the agent's words about it often omit the value."""


@dataclass(frozen=True, slots=True)
class ContextRequest:
    """The window that is wanted."""

    budget: int | None = None
    model: str | None = None
    query: str | None = None
    recall_max_tokens: int | None = None
    """Tokens that the query can bring in; None: whatever is free, and the layout then leaves more free."""
    recall_scope: RecallScope | None = None
    """The range of the query; None: as set by the conversation's policy."""
    recall_filter: Narrowing = EVERYTHING
    load: tuple[UUID, ...] = ()
    pages: tuple[int, ...] = ()
    format: Format = "openai"
    system: str | None = None
    """Instead of the conversation's own system prompt, for this call."""
    tools: tuple[dict[str, Any], ...] = ()
    """The caller's own tools, offered together with the recall tools."""
    bound_to: str | None = None
    """The one user whose conversations are there."""
    carries: bool = False
    """Show what answers carried, for a caller that fits the window to a model itself."""
    sensitive: bool = False
    """Whether the query finds sensitive memories too."""

    @property
    def asks_for_tail(self) -> bool:
        return bool(self.load or self.pages or self.query)

    @property
    def takes_query_share(self) -> bool:
        """Return whether the layout is to leave a query's share free. A capped query lives in the small reserve."""
        return bool(self.query) and self.recall_max_tokens is None


async def gather(
    runtime: Runtime,
    tenant: UUID,
    conversation: Conversation,
    request: ContextRequest,
    policy: Policy,
    window: Window,
    language: Language,
) -> tuple[list[TailItem], tuple[WindowWarning, ...]]:
    """Return the requested parts, framed and counted, with a warning for each part that cannot be shown in full."""
    if not request.asks_for_tail:
        return [], ()
    text = request.query if request.query and (request.load or has_subject(request.query)) else None
    query = await searching.ready(runtime, tenant, text, asked_at=conversation.said_at) if text else None
    pages, warnings = await _pages(runtime, tenant, conversation, request, language)
    free = free_for_tail(window) - sum(item.tokens for item in pages)
    search = _Asked(conversation, request, query, _in_view(window), policy.recall_scope)

    async def read(database: Database) -> _Found:
        async with database.search_snapshot(tenant) as tx:
            return await _find(tx, search, free)

    results = await runtime.read(read, wait_seconds=searching.REPLICA_WAIT_SECONDS if query else 0)
    archives, of_archives = await _archives(runtime, results.loaded, language)
    free -= sum(item.tokens for item in archives)
    if request.recall_max_tokens is not None:
        free = min(free, request.recall_max_tokens)
    size = sum(len(hit.text) for hit in results.relevant)
    relevant = await run_in_thread_if_large(size, _fitted, runtime, conversation, results.relevant, free, language)
    return [*archives, *pages, *relevant], (*of_archives, *warnings, *_degraded(query))


@dataclass(frozen=True, slots=True)
class _Asked:
    """The search, its scope, and what is already in view."""

    conversation: Conversation
    request: ContextRequest
    query: Query | None
    in_view: frozenset[int | str]
    """Everything in view that a search could return: seqs of messages, ids of fresh archives."""
    policy_scope: RecallScope

    @property
    def is_alone(self) -> bool:
        """Return whether other conversations are left out."""
        return (self.request.recall_scope or self.policy_scope) == "conversation"


@dataclass(frozen=True, slots=True)
class _Found:
    """Hold what a call requested besides pages."""

    loaded: list[tuple[UUID, Loaded | None]]
    relevant: list[SearchHit]


def _in_view(window: Window) -> frozenset[int | str]:
    messages_ = (p.seq for p in window.body if p.zone == "verbatim" or p.role != "tool")
    fresh = (p.archive_ids[0] for p in window.body if p.passing and len(p.archive_ids) == 1)
    return frozenset((*messages_, *fresh))


def _is_in_view(hit: Hit, search: _Asked) -> bool:
    if hit.archive_id is not None:
        return str(hit.archive_id) in search.in_view
    return hit.conversation_id == search.conversation.id and hit.seq in search.in_view


async def _find(tx: ReadTx, search: _Asked, free: int) -> _Found:
    """Load each named archive within its share of the free tokens, and search for the query."""
    loaded: list[tuple[UUID, Loaded | None]] = []
    names = search.request.load
    for uuid in names:
        room = max(1, free // len(names) - LOAD_FRAME)
        part = ArchivePart(query=search.query, max_tokens=room)
        scope = search.conversation.scope
        loaded.append((uuid, await archiving.load(tx, scope, uuid, part)))
    room = free if search.request.recall_max_tokens is None else min(free, search.request.recall_max_tokens)
    most = min(PASSAGES_MAX, max(0, room) // PASSAGE_TOKENS_MIN)
    relevant = await _relevant(tx, search, search.query, most) if search.query and most else []
    return _Found(loaded, relevant)


async def _relevant(tx: ReadTx, search: _Asked, query: Query, most: int) -> list[SearchHit]:
    """Return the results that answer the query and are not in view, best first; none if nothing answers it."""
    if not has_subject(query.text):
        return []
    own, sensitive = search.conversation, search.request.sensitive
    results = await searching.find(
        tx, own.scope, query, most + len(search.in_view), sensitive=sensitive,
        conversation_uid=own.uid if search.is_alone else None, within=search.request.recall_filter,
    )  # fmt: skip
    least = relevance.needed(results.memories, query.weight, len(query.terms))
    if relevance.confidence(results.hits, results.known, query.weight) < least:
        return []
    good = [
        hit
        for hit in results.hits
        if relevance.is_worth_it(hit.score, least, is_elsewhere=hit.conversation_id not in (None, own.id))
        and not _is_in_view(hit, search)
    ]
    found = await searching.with_texts(tx, good, sensitive=sensitive)
    size = sum(len(hit.text) for hit in found)
    hits = await run_in_thread_if_large(size, worth_showing, found, query.text)
    return sorted(hits, key=lambda hit: -_worth(hit)) if asks_for_value(query.text) else hits


def _worth(hit: SearchHit) -> float:
    """Score a passage for a query that wants a value."""
    return hit.hit.score * (RESULT_PREFERENCE if hit.role.startswith("tool") else 1.0)


def _degraded(query: Query | None) -> list[WindowWarning]:
    """Warn if the search fell back to keywords. Without an embedding model it always uses them, without a warning."""
    warnings = query.warnings if query is not None else []
    return [WindowWarning(**warning) for warning in warnings if warning == searching.SEMANTIC_UNAVAILABLE]


async def _pages(
    runtime: Runtime, tenant: UUID, conversation: Conversation, request: ContextRequest, language: Language
) -> tuple[list[TailItem], list[WindowWarning]]:
    """Return the pages that were named, in full."""
    if not request.pages:
        return [], []

    async def read(database: Database) -> dict[int, Sequence[Record]]:
        async with database.snapshot(tenant) as tx:
            if not await conversations.is_still(tx, conversation):
                raise conversations.unknown()
            return {n: await messages.page_messages(tx, conversation.id, n) for n in request.pages}

    items: list[TailItem] = []
    missing: list[WindowWarning] = []
    for number, rows in (await runtime.read(read)).items():
        text = await recalling.page(runtime, rows, number, language)
        if text is None:
            missing.append(WindowWarning("page_not_found", f"there is no page {number}"))
        else:
            (tokens,) = await runtime.tokens.count_many([text])
            items.append(TailItem(text, tokens))
    return items, missing


async def _archives(
    runtime: Runtime, loaded: Sequence[tuple[UUID, Loaded | None]], language: Language
) -> tuple[list[TailItem], list[WindowWarning]]:
    """Return the archives that were named, as much of each as there is room for."""
    items: list[TailItem] = []
    warnings: list[WindowWarning] = []
    for uuid, read in loaded:
        if read is None:
            warnings.append(WindowWarning("archive_not_found", f"there is no archive {uuid}"))
            continue
        archive = await archiving.shown(runtime, read)
        shown, part = archiving.tool_text(archive, language)
        text = archive_text(str(uuid), archive["tool_name"], shown, part, language)
        (tokens,) = await runtime.tokens.count_many([text])
        items.append(TailItem(text, tokens, uuid))
        if archive["is_cut"]:
            warnings.append(WindowWarning("tail_cut", f"archive {uuid} is shown in part: {part}"))
    return items, warnings


def _fitted(
    runtime: Runtime, conversation: Conversation, relevant: Sequence[SearchHit], free: int, language: Language
) -> list[TailItem]:
    """Return the best passages that fit, by day and conversation, older before newer; each day has one heading, and
    the newest of several is marked.
    """
    taken: list[tuple[SearchHit, str, int]] = []
    dated: set[tuple[str | None, str]] = set()
    for hit in relevant:
        elsewhere = hit.elsewhere(conversation.id)
        heading = day_heading(hit.day, elsewhere, language, is_newest=True)  # whichever it will be, it fits
        more = 0 if (elsewhere, hit.day) in dated else runtime.tokens.count(heading) + 1
        text = passage_line(hit.hit.page or 0, hit.role, hit.text)
        tokens = runtime.tokens.count(text) + 1
        if tokens + more > free:
            continue
        free -= tokens + more
        dated.add((elsewhere, hit.day))
        taken.append((hit, text, tokens))
        if free < PASSAGE_TOKENS_MIN:
            break
    items: list[TailItem] = []
    for day in by_day(taken, lambda one: one[0], conversation.id):
        heading = day_heading(day.day, day.elsewhere, language, is_newest=day.is_newest)
        more = runtime.tokens.count(heading) + 1
        for hit, text, tokens in day.told:
            shown = f"{heading}\n{text}" if more else text
            items.append(TailItem(shown, tokens + more, hit.hit.archive_id))
            more = 0
    return items
