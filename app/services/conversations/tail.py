"""What one call asks for besides the window: archives and pages by name, and memories that a query brings in.

A query brings in what answers it, or nothing: small talk is never searched for, and where the best that is found does
not answer it (``core/relevance.py``) the tail stays empty. What it brings in takes what is free, or as much of that as
the request allows. Passages stand in the order of time, by day; what cannot be shown is said in a warning.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from asyncpg import Record

from app.concurrency import run_in_thread_if_large
from app.core import relevance
from app.core.assemble import free_for_tail
from app.core.conversation import Conversation
from app.core.model import Format, Language, Policy, RecallScope, TailItem, Window, WindowWarning
from app.core.quote import archive_text, moment_line, moments_heading
from app.postgres.database import Connection, Database
from app.runtime import Runtime
from app.services.memory import archiving, recalling, searching
from app.services.memory.archiving import Loaded, Wanted
from app.services.memory.searching import Query, SearchHit
from app.store import conversations, messages
from app.store.memories import Hit
from app.text.queries import asks_for_value, has_subject, told_once

LOAD_FRAME = 140
"""Tokens of the frame around a loaded archive, and of the line that says how to read on."""
PASSAGES_MAX = 1_000
"""Passages that a query brings in, at most."""
PASSAGE_TOKENS_MIN = 12
"""A passage has hardly fewer: so many are looked for as could fit."""
RESULT_PREFERENCE = 1.25
"""What the score of a tool's result counts where the query asks for a value: the agent's words about it often leave
the value out."""


@dataclass(frozen=True, slots=True)
class ContextRequest:
    """The window that is wanted."""

    budget: int | None = None
    model: str | None = None
    query: str | None = None
    recall_max_tokens: int | None = None
    """Tokens that the query may bring in; None: what is free, of which the layout then leaves more."""
    recall_scope: RecallScope | None = None
    """Where the query looks; None: where the conversation's policy says."""
    load: tuple[UUID, ...] = ()
    pages: tuple[int, ...] = ()
    format: Format = "openai"
    system: str | None = None
    """Instead of the conversation's own system prompt, for this call."""
    tools: tuple[dict[str, Any], ...] = ()
    """The caller's own tools, offered beside the recall tools."""
    bound_to: str | None = None
    """The one user whose conversations are there."""
    sensitive: bool = False
    """Whether the query finds sensitive memories too."""

    @property
    def asks_for_tail(self) -> bool:
        return bool(self.load or self.pages or self.query)

    @property
    def takes_query_share(self) -> bool:
        """Whether the layout is to leave a query's share free. A capped query lives in the small reserve."""
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
    """What this call asks for, framed and weighed, with a warning about each part that cannot be shown in full."""
    if not request.asks_for_tail:
        return [], ()
    text = request.query if request.query and (request.load or has_subject(request.query)) else None
    query = await searching.ready(runtime, tenant, text) if text else None
    pages, warnings = await _pages(runtime, tenant, conversation, request, language)
    free = free_for_tail(window) - sum(item.tokens for item in pages)
    asked = _Asked(conversation, request, query, _in_view(window), policy.recall_scope)

    async def read(database: Database) -> _Found:
        async with database.snapshot(tenant) as connection:
            return await _find(connection, tenant, asked, free)

    found = await runtime.read(read, wait_seconds=searching.REPLICA_WAIT_SECONDS if query else 0)
    archives, of_archives = await _archives(runtime, found.loaded, language)
    free -= sum(item.tokens for item in archives)
    if request.recall_max_tokens is not None:
        free = min(free, request.recall_max_tokens)
    size = sum(len(hit.text) for hit in found.relevant)
    relevant = await run_in_thread_if_large(size, _fitted, runtime, conversation, found.relevant, free, language)
    return [*archives, *pages, *relevant], (*of_archives, *warnings, *_degraded(query))


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is searched for, on whose behalf, and what is in view already."""

    conversation: Conversation
    request: ContextRequest
    query: Query | None
    in_view: frozenset[int | str]
    """What says in the window all that a search could bring back: the seqs of messages, the ids of fresh archives."""
    policy_scope: RecallScope

    @property
    def is_alone(self) -> bool:
        """Whether other conversations are left out."""
        return (self.request.recall_scope or self.policy_scope) == "conversation"


@dataclass(frozen=True, slots=True)
class _Found:
    """What a call asked for besides pages."""

    loaded: list[tuple[UUID, Loaded | None]]
    relevant: list[SearchHit]


def _in_view(window: Window) -> frozenset[int | str]:
    messages_ = (p.seq for p in window.body if p.zone == "verbatim" or p.role != "tool")
    fresh = (p.archive_ids[0] for p in window.body if p.passing and len(p.archive_ids) == 1)
    return frozenset((*messages_, *fresh))


def _is_in_view(hit: Hit, asked: _Asked) -> bool:
    if hit.archive_id is not None:
        return str(hit.archive_id) in asked.in_view
    return hit.conversation_id == asked.conversation.id and hit.seq in asked.in_view


async def _find(connection: Connection, tenant: UUID, asked: _Asked, free: int) -> _Found:
    """Each archive that was named as far as its part of what is free goes, and what the query finds."""
    loaded: list[tuple[UUID, Loaded | None]] = []
    names = asked.request.load
    for uuid in names:
        room = max(1, free // len(names) - LOAD_FRAME)
        wanted = Wanted(query=asked.query, max_tokens=room)
        scope = asked.conversation.scope
        loaded.append((uuid, await archiving.load(connection, tenant, scope, uuid, wanted)))
    room = free if asked.request.recall_max_tokens is None else min(free, asked.request.recall_max_tokens)
    most = min(PASSAGES_MAX, max(0, room) // PASSAGE_TOKENS_MIN)
    relevant = await _relevant(connection, tenant, asked, asked.query, most) if asked.query and most else []
    return _Found(loaded, relevant)


async def _relevant(connection: Connection, tenant: UUID, asked: _Asked, query: Query, most: int) -> list[SearchHit]:
    """What answers the query and is not in view, the best first; nothing where nothing answers it."""
    if not has_subject(query.text):
        return []
    own, sensitive = asked.conversation, asked.request.sensitive
    found = await searching.find(
        connection, tenant, own.scope, query, most + len(asked.in_view), sensitive=sensitive,
        conversation_uid=own.uid if asked.is_alone else None,
    )  # fmt: skip
    scored = [
        relevance.Scored(hit.score, hit.own, hit.coverage, hit.conversation_id not in (None, own.id))
        for hit in found.hits
    ]
    least = relevance.needed(found.memories, query.weight, len(query.terms))
    if relevance.confidence(scored, found.known, query.weight) < least:
        return []
    good = [
        hit
        for hit, one in zip(found.hits, scored, strict=True)
        if relevance.is_worth_it(one, least) and not _is_in_view(hit, asked)
    ]
    told = await searching.moments(connection, tenant, good, sensitive=sensitive)
    texts = [hit.text for hit in told]
    kept = await run_in_thread_if_large(sum(map(len, texts)), told_once, texts, query.text)
    hits = [told[place] for place in kept]
    return sorted(hits, key=lambda hit: -_worth(hit)) if asks_for_value(query.text) else hits


def _worth(hit: SearchHit) -> float:
    """What a passage is worth to a query that asks for a value."""
    return hit.hit.score * (RESULT_PREFERENCE if hit.role.startswith("tool") else 1.0)


def _degraded(query: Query | None) -> list[WindowWarning]:
    """That the query went by words for once. Where there is no embedding model at all, it always does."""
    warnings = query.warnings if query is not None else []
    return [WindowWarning(**warning) for warning in warnings if warning == searching.SEMANTIC_UNAVAILABLE]


async def _pages(
    runtime: Runtime, tenant: UUID, conversation: Conversation, request: ContextRequest, language: Language
) -> tuple[list[TailItem], list[WindowWarning]]:
    """The pages that were named, in full."""
    if not request.pages:
        return [], []

    async def read(database: Database) -> dict[int, Sequence[Record]]:
        async with database.snapshot(tenant) as connection:
            if not await conversations.is_still(connection, tenant, conversation):
                raise conversations.unknown()
            return {n: await messages.page_messages(connection, tenant, conversation.id, n) for n in request.pages}

    found: list[TailItem] = []
    missing: list[WindowWarning] = []
    for number, rows in (await runtime.read(read)).items():
        text = await recalling.page(runtime, rows, number, language)
        if text is None:
            missing.append(WindowWarning("page_not_found", f"there is no page {number}"))
        else:
            (tokens,) = await runtime.tokens.count_many([text])
            found.append(TailItem(text, tokens))
    return found, missing


async def _archives(
    runtime: Runtime, loaded: Sequence[tuple[UUID, Loaded | None]], language: Language
) -> tuple[list[TailItem], list[WindowWarning]]:
    """The archives that were named, as much of each as there is room for."""
    found: list[TailItem] = []
    warnings: list[WindowWarning] = []
    for uuid, read in loaded:
        if read is None:
            warnings.append(WindowWarning("archive_not_found", f"there is no archive {uuid}"))
            continue
        archive = await archiving.shown(runtime, read)
        shown, part = archiving.tool_text(archive, language)
        text = archive_text(str(uuid), archive["tool_name"], shown, part, language)
        (tokens,) = await runtime.tokens.count_many([text])
        found.append(TailItem(text, tokens, uuid))
        if archive["is_cut"]:
            warnings.append(WindowWarning("tail_cut", f"archive {uuid} is shown in part: {part}"))
    return found, warnings


def _fitted(
    runtime: Runtime, conversation: Conversation, relevant: Sequence[SearchHit], free: int, language: Language
) -> list[TailItem]:
    """The best passages that fit, by day and conversation, older ones before newer; each day has one heading."""
    days: dict[tuple[str | None, str], list[tuple[SearchHit, str, int]]] = {}
    headings: dict[tuple[str | None, str], tuple[str, int]] = {}
    for hit in relevant:
        elsewhere = None if hit.hit.conversation_id == conversation.id else hit.hit.conversation_id
        place = (elsewhere, hit.day)
        if place not in headings:
            heading = moments_heading(hit.day, elsewhere, language)
            headings[place] = heading, runtime.tokens.count(heading) + 1
        text = moment_line(hit.hit.page or 0, hit.role, hit.text)
        tokens = runtime.tokens.count(text) + 1
        needed = tokens + (0 if place in days else headings[place][1])
        if needed > free:
            continue
        free -= needed
        days.setdefault(place, []).append((hit, text, tokens))
        if free < PASSAGE_TOKENS_MIN:
            break
    found: list[TailItem] = []
    for place, taken in sorted(days.items(), key=lambda day: min(_told(hit) for hit, _, _ in day[1])):
        heading, more = headings[place]
        for hit, text, tokens in sorted(taken, key=lambda one: _told(one[0])):
            shown = f"{heading}\n{text}" if more else text
            found.append(TailItem(shown, tokens + more, hit.hit.archive_id))
            more = 0
    return found


def _told(hit: SearchHit) -> tuple[datetime, int, int]:
    return hit.hit.created_at, hit.hit.seq or 0, hit.hit.start
