"""Archives outside of appends: store one tool result, read archives."""

from __future__ import annotations

import json
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import anyio.to_thread

from app.concurrency import run_in_thread_if_large
from app.core import wording
from app.core.canonical import dumps
from app.core.conversation import Conversation
from app.core.encoded import blanked, marked
from app.core.groups import chat_messages
from app.core.history.placeholder import ArchiveCard
from app.core.history.rows import ArchivePlace, NewArchive, NewMemory, StoredArchive, archive_row
from app.core.line import named
from app.core.model import INTEGER_MAX, Language, Policy
from app.core.neutral import with_nul, without_ranges
from app.core.scope import Scope, scope_of
from app.core.search.relevance import APART, MEANING, PASSAGES, relevance
from app.core.times import dated, time_text
from app.core.window.quote import searchable_text, speaker_of
from app.extractive.calls import query_summary
from app.extractive.results import sources
from app.extractive.shapes import Shape, describe, examine
from app.extractive.terms import key_terms
from app.ids import uuid7
from app.postgres.transactions import ReadTx, Tx
from app.queue import enqueue, outbox
from app.recall.tools import TOOL_NAMES
from app.runtime import Runtime
from app.services.memory import insertion
from app.services.memory.querying import Query
from app.services.memory.recalling import TOKEN_CHARACTERS_MAX, clipped
from app.services.memory.views import hold, is_hidden
from app.store import archives, conversations
from app.store.archives import ShowingMessage
from app.store.memory import memories
from app.store.memory.memories import Hit
from app.text import bm25
from app.text.language import language as language_of

PASSAGES_AT_ONCE = 200
"""Passages indexed at once, about a tenth of a second's work; a job indexes the rest of longer texts."""
PASSAGES_MAX = 40
"""Passages of one archive that answer a query, before the limit in tokens."""
PASSAGE_FRAME = 12
"""Tokens of a passage's offsets, as a tool shows them."""
PASSAGE_TOKENS = 2_000
"""Tokens of the passages of one load, unless the caller sets another limit."""
SCAN_MAX, SUMMARY_CHARACTERS = 20_000, 200
"""Characters of a result that tell its language, and those of its summary."""


@dataclass(frozen=True, slots=True)
class ArchiveRequest:
    """A tool result to archive if it is long."""

    tool_name: str
    tool_input: str
    result: str
    user_id: str | None = None
    conversation_id: str | None = None
    sources: tuple[str, ...] = ()
    expires_at: datetime | None = None
    bound_to: str | None = None
    """The one user whose conversations are there."""


@dataclass(frozen=True, slots=True)
class _Place:
    """The place of an archive, and the settings that hold there."""

    scope: Scope
    conversation_id: str | None
    conversation_uid: UUID | None
    policy: Policy
    language: Language | None
    """None: that of the result."""


@dataclass(frozen=True, slots=True)
class PreparedArchive:
    """The rows to store for a request, made before its transaction because a long result takes seconds."""

    place: _Place | None
    """None: the conversation was not found, and nothing is prepared."""
    tokens: int = 0
    archive: NewArchive | None = None
    """None: the result is short enough to stay inline."""
    created_at: datetime | None = None
    memories: Sequence[NewMemory] = ()
    indexed_through: int = 0


def make_card(
    uuid: UUID, tool_name: str, tool_input: str, text: str, shape: Shape, declared: Sequence[str], language: Language,
    now: datetime,
) -> ArchiveCard:  # fmt: skip
    """Describe a result by up to 200,000 of its characters. Use a thread for a long one."""
    shown = marked(text)
    return ArchiveCard(
        uuid=uuid,
        tool_name=tool_name,
        query_summary=query_summary(tool_name, marked(tool_input)),
        created_at=now,
        length=len(text),
        result_summary=describe(shape, max_chars=SUMMARY_CHARACTERS, language=language),
        key_terms=tuple(key_terms(shown)),
        sources=tuple(sources(shown, declared)),
    )


def vectors(text: str, start: int = 0, speaker: str | None = None) -> list[tuple[int, int, str]]:
    """Return start, length and terms of at most PASSAGES_AT_ONCE passages of a text from a start on.

    Passages of a named speaker are found by the name too, and score more in a query that names the speaker.
    """
    passages = bm25.passages(text, start, PASSAGES_AT_ONCE)
    prefix = f"{speaker}: " if speaker else ""
    return [(at, length, bm25.document(prefix + text[at : at + length], speaker or "")) for at, length in passages]


def all_vectors(text: str, speaker: str | None = None) -> list[tuple[int, int, str]]:
    """Return the terms of all passages of a text that is not very long. Encoded files have none."""
    text = blanked(text)
    result = vectors(text, 0, speaker)
    while ends(result) < len(text):
        result += vectors(text, ends(result), speaker)
    return result


def ends(passages: Sequence[tuple[int, int, str]]) -> int:
    return passages[-1][0] + passages[-1][1] if passages else 0


async def prepare(runtime: Runtime, tenant: UUID, request: ArchiveRequest) -> PreparedArchive:
    """Prepare the rows of an archive. Call it without holding a connection."""
    conversation = None
    if request.conversation_id is not None:
        async with runtime.database.snapshot(tenant) as tx:
            conversation = await conversations.find(tx, named(request.conversation_id), bound_to=request.bound_to)
        if conversation is None:
            return PreparedArchive(None)
    return await _prepare(runtime, request, _place(runtime, request, conversation))


async def archive(
    runtime: Runtime, tx: Tx, request: ArchiveRequest, prepared: PreparedArchive
) -> tuple[dict[str, Any], Conversation | None]:
    """Archive a result in the caller's transaction, or pass it through if it is short.

    Return the response and the conversation. In the rare case that the conversation changed since ``prepare``, prepare
    again here.
    """
    conversation = None
    if request.conversation_id is not None:
        conversation = await hold(tx, named(request.conversation_id), request.user_id, request.bound_to)
    place = _place(runtime, request, conversation)
    if prepared.place != place:
        prepared = await _prepare(runtime, request, place)
    new = prepared.archive
    if new is None or prepared.created_at is None:
        return _passed_through(request, place.conversation_id, prepared.tokens), conversation
    await archives.insert(tx, new, prepared.created_at)
    await insertion.insert_memories(runtime, tx, prepared.memories)
    if prepared.indexed_through < new.length:
        await enqueue.enqueue(tx, [enqueue.archive_passages(new.id, place.conversation_id)])
    made = outbox.event("archive.made", archive_id=str(new.id), conversation_id=place.conversation_id)
    await outbox.tell(tx, made)
    row = await archives.read(tx, None, new.id, 0, 0)
    assert row is not None
    return view(row), conversation


def _place(runtime: Runtime, request: ArchiveRequest, conversation: Conversation | None) -> _Place:
    policy = runtime.policy(conversation)
    if conversation is None:
        return _Place(scope_of(request.user_id, None), None, None, policy, None)
    scope = conversation.scope
    if request.user_id is not None and not (conversation.space_id or conversation.user_id):
        scope = scope_of(request.user_id, conversation.line.root)
    return _Place(scope, conversation.line.own, conversation.uid, policy, conversation.language)


async def _prepare(runtime: Runtime, request: ArchiveRequest, place: _Place) -> PreparedArchive:
    shown = await run_in_thread_if_large(len(request.result), marked, request.result)
    (tokens,) = await runtime.tokens.count_many([shown])
    limit = place.policy.archive_threshold_tokens
    if len(request.result) <= place.policy.archive_threshold and not (limit and tokens > limit):
        return PreparedArchive(place, tokens)
    expires_at = request.expires_at or runtime.retention.archive_expiry(datetime.now(UTC))
    return await anyio.to_thread.run_sync(_prepare_rows, request, place, tokens, expires_at)


def _prepare_rows(request: ArchiveRequest, place: _Place, tokens: int, expires_at: datetime | None) -> PreparedArchive:
    language = place.language or language_of(request.result[:SCAN_MAX])
    text, uuid, now = request.result, uuid7(), datetime.now(UTC)
    shape = examine(marked(text))
    card = make_card(uuid, request.tool_name, request.tool_input, text, shape, request.sources, language, now)
    new = archive_row(
        card, request.result, tokens, request.tool_input, ArchivePlace(place.scope, place.conversation_id), language,
        expires_at,
    )  # fmt: skip
    first_vectors = vectors(blanked(request.result))
    rows = rows_of(first_vectors, new, place.conversation_uid, card.created_at)
    return PreparedArchive(place, tokens, new, card.created_at, rows, ends(first_vectors))


def _passed_through(request: ArchiveRequest, conversation_id: str | None, tokens: int) -> dict[str, Any]:
    """Return the response for a result that is short enough to stay inline."""
    return {
        "uuid": None,
        "archived": False,
        "placeholder": marked(request.result),
        "tool_name": request.tool_name,
        "tool_input": _input(request.tool_input),
        "query_summary": query_summary(request.tool_name, request.tool_input),
        "result_summary": None,
        "key_terms": [],
        "sources": list(request.sources)[:3],
        "result_length": len(request.result),
        "tokens": tokens,
        "conversation_id": conversation_id,
        "user_id": request.user_id,
        "created_at": None,
        "expires_at": None,
        "content": request.result,
    }


def view(row: StoredArchive) -> dict[str, Any]:
    return {
        "uuid": str(row.id),
        "archived": True,
        "placeholder": row.placeholder,
        "tool_name": row.tool_name,
        "tool_input": _input(row.tool_input),
        "query_summary": row.query_summary,
        "result_summary": row.result_summary,
        "key_terms": row.key_terms,
        "sources": row.sources,
        "result_length": row.length,
        "tokens": row.tokens,
        "conversation_id": row.conversation_id,
        "user_id": row.user_id,
        "created_at": time_text(row.created_at),
        "expires_at": time_text(row.expires_at) if row.expires_at else None,
    }


def _input(text: str) -> Any:
    """Return a call's arguments as a JSON value, or as text if they are no JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return text


@dataclass(frozen=True, slots=True)
class ArchivePart:
    """The requested part of an archive: the passages for a query, a range, or all of it."""

    query: Query | None = None
    """Made ready before a connection is taken."""
    max_tokens: int | None = None
    offset: int = 0
    length: int | None = None


@dataclass(frozen=True, slots=True)
class LoadedArchive:
    """An archive as read, with the requested part."""

    row: StoredArchive
    wanted: ArchivePart
    passages: Sequence[tuple[Hit, str]] = ()
    """The passages that match the query, best first."""


async def load(
    tx: ReadTx, owners: Container[UUID] | None, uuid: UUID, part: ArchivePart, *, asked_in: Conversation | None = None
) -> LoadedArchive | None:
    """Read an archive; None if none of the ``owners`` (None: any) has it. ``shown`` renders the result.

    ``asked_in``: the conversation that asks. It sees nothing of other branches of its tree.
    """
    length = 0 if part.query is not None else INTEGER_MAX - part.offset
    if part.query is None and part.length is not None:
        length = min(length, part.length)
    if part.max_tokens is not None:
        length = min(length, part.max_tokens * TOKEN_CHARACTERS_MAX)
    row = await archives.read(tx, None, uuid, part.offset, length)
    if row is None:
        return None
    is_own = asked_in is not None and asked_in.line.holds(row.conversation_id, row.seq, row.created_at)
    if owners is not None and row.scope.owner not in owners and not is_own:
        return None
    if await is_hidden(tx, asked_in, row.conversation_id, row.seq, row.created_at):
        return None
    passages = await _passages(tx, row, part.query) if part.query is not None else ()
    return LoadedArchive(row, part, passages)


async def shown(runtime: Runtime, loaded: LoadedArchive) -> dict[str, Any]:
    """Return the loaded part within its token limit. Call it without holding a connection, because it counts tokens."""
    row, part = loaded.row, loaded.wanted
    view_ = view(row)
    if part.query is not None:
        passages = await _fitting(runtime, loaded, part.max_tokens or PASSAGE_TOKENS)
        is_cut = sum(p["length"] for p in passages) < sum(hit.length for hit, _ in loaded.passages)
        how = {"mode": part.query.mode, "warnings": part.query.warnings}
        return {**view_, "passages": passages, "is_cut": is_cut, **how}
    content = await run_in_thread_if_large(len(row.text), _as_sent, row, row.text, part.offset)
    if part.max_tokens is not None:
        content = await clipped(runtime, content, part.max_tokens)
    wanted_through = row.length if part.length is None else min(row.length, part.offset + part.length)
    is_cut = part.offset + len(content) < wanted_through
    return {**view_, "content": content, "offset": part.offset, "length": len(content), "is_cut": is_cut}


def _as_sent(row: StoredArchive, text: str, offset: int) -> str:
    """Return a stretch of an archive with its NULs, which PostgreSQL cannot store."""
    return with_nul(text, [i - offset for i in row.nul_offsets if 0 <= i - offset < len(text)])


async def _passages(tx: ReadTx, row: StoredArchive, query: Query) -> list[tuple[Hit, str]]:
    """Return the passages that match a query best, best first. Words decide more, since many are close in meaning."""
    asked = memories.Scoring(query.terms, query.meaning, MEANING * PASSAGES)
    where = memories.PassageFilter(among=[row.id])
    hits, *_ = await memories.search(tx, [row.scope.owner], asked, where, limit=PASSAGES_MAX, every_passage=True)
    hits = [hit for hit in hits if hit.score > hits[0].score - APART]
    texts = await archives.passages(tx, [(row.id, hit.start, hit.length) for hit in hits])
    return [(hit, texts[row.id, hit.start][1]) for hit in hits]


async def _fitting(runtime: Runtime, loaded: LoadedArchive, max_tokens: int) -> list[dict[str, Any]]:
    """Return as many of the best passages as fit a token limit, in reading order; at least part of the best one."""
    row = loaded.row
    taken: list[dict[str, Any]] = []
    for hit, passage_text in loaded.passages:
        text, length = passage_text, hit.length
        if len(text) == length:
            text = await run_in_thread_if_large(len(row.nul_offsets), _as_sent, row, text, hit.start)
        if not taken and (cut := await clipped(runtime, text, max_tokens)) != text:
            text, length = cut, len(cut)
        tokens = runtime.tokens.count(text) + PASSAGE_FRAME
        if taken and tokens > max_tokens:
            continue
        max_tokens -= tokens
        score = round(relevance(hit.score), 4)
        taken.append({"offset": hit.start, "length": length, "text": text, "relevance_score": score})
    return sorted(taken, key=lambda passage: passage["offset"])


def rows_of(
    found: Sequence[tuple[int, int, str]], archive: NewArchive, conversation_uid: UUID | None, created_at: datetime
) -> list[NewMemory]:
    """Return the rows of passages of an archive that belongs to no message."""
    return [
        NewMemory(
            id=uuid7(), owner=Scope.read(archive.scope).owner, type="passage", conversation_id=archive.conversation_id,
            conversation_uid=conversation_uid, seq=None, page=None, archive_id=archive.id,
            start=start, length=length, terms=terms, created_at=created_at,
        )
        for start, length, terms in found
    ]  # fmt: skip


def passages_of(message: ShowingMessage, owner: UUID, view: str) -> list[NewMemory]:
    shown_messages, said_at = chat_messages(view), message.said_at
    return [
        NewMemory(
            id=dated(uuid7(), said_at), owner=owner, type="episode", conversation_id=message.conversation_id,
            conversation_uid=message.uid, seq=message.seq, page=message.page, archive_id=None,
            start=start, length=length, terms=terms, created_at=said_at or message.created_at,
        )
        for start, length, terms in all_vectors(searchable_text(shown_messages, TOOL_NAMES), speaker_of(shown_messages))
    ]  # fmt: skip


def tool_text(loaded: Mapping[str, Any], language: Language) -> tuple[str, str]:
    """Return a loaded text as tools show it, and a description of which part of the archive it is.

    If something did not fit, the last line says how to load it.
    """
    text, part = _shown_text(loaded, language)
    if not loaded["is_cut"]:
        return text, part
    hint = wording.ASK_CLOSER if "passages" in loaded else wording.READ_ON
    offset = loaded["offset"] + loaded["length"] if "offset" in loaded else 0
    return f"{text}\n{hint.say(language, uuid=loaded['uuid'], offset=offset)}", part


def _shown_text(loaded: Mapping[str, Any], language: Language) -> tuple[str, str]:
    whole = loaded["result_length"]
    if "passages" in loaded:
        parts = [
            f"[{p['offset']}–{p['offset'] + p['length']}]\n{without_ranges(p['text'])}" for p in loaded["passages"]
        ]
        nothing = wording.NO_PASSAGE.say(language)
        about = wording.RELEVANT_PASSAGES.say(language) + wording.lacking(loaded["warnings"], language)
        return "\n".join(parts) or nothing, f"{about} / {whole}"
    return marked(loaded["content"]), f"{loaded['offset']}–{loaded['offset'] + loaded['length']} / {whole}"


def input_text(value: Any) -> str:
    """Return a call's arguments as text: canonical JSON, or the caller's own text."""
    return value if isinstance(value, str) else dumps(value)
