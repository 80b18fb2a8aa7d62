"""Search what left the window: one search for people, windows and models."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, tzinfo
from functools import cache
from math import inf
from typing import Any, Literal, TypeAlias
from uuid import UUID

import anyio.to_thread

from app.concurrency import LONG_COPIED, run_in_thread_if_large
from app.core.canonical import dumps
from app.core.conversation import Conversation
from app.core.encoded import marked
from app.core.history.rows import HistoryMessage
from app.core.line import named
from app.core.messages import METADATA_MAX
from app.core.search import relevance
from app.core.search.fusion import fused
from app.core.search.narrowing import EVERYTHING, Narrowing
from app.core.search.vector_text import last_speaker, middle, query_text
from app.core.search.when import days_named
from app.core.times import first_id, time_text
from app.core.window.kept import StoredMemory, Then
from app.core.window.quote import plain_text, speaker_of, spoken_text
from app.extractive import intents
from app.extractive.lines import message_line
from app.extractive.terms import key_terms
from app.postgres.transactions import ReadTx
from app.providers import Embedder, ProviderError, Vector
from app.runtime import Runtime
from app.services.memory import past, reranking, views
from app.services.memory.hits import SearchHit, worth_showing
from app.services.memory.listing import standing
from app.services.memory.previewing import PREVIEW_CHARACTERS, preview
from app.services.memory.recalling import seen
from app.services.memory.views import View
from app.store import archives, conversations, messages
from app.store.memory import embeddings, memories, narrowing, remembered
from app.store.memory.memories import Asking, Hit, Hits, Meaning, Named, OnLine, QueryPart
from app.text import bm25
from app.text.language import scalar
from app.text.queries import asks_of_replies, has_subject, parts, subject_of
from app.text.statements import STATEMENT_CHARACTERS

Mode = Literal["hybrid", "semantic", "keyword"]
Place: TypeAlias = tuple[str | None, int | None]

QUERY_SECONDS = 5.0
"""For the vector of a query; then the words alone have to do."""
REPEATS_MAX = 100
"""Additional memories read to replace repetitions among the results."""

_logger = logging.getLogger(__name__)

NO_EMBEDDINGS = {"code": "embeddings_absent", "detail": "no embedding model is in use; the keyword search answers"}
SEMANTIC_UNAVAILABLE = {
    "code": "semantic_unavailable",
    "detail": "the embedding model did not answer; the keyword search answers",
}
NO_WORDS = {"code": "nothing_to_search_for", "detail": "the query has no words to search for"}


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A search of one user's memories or one conversation's."""

    query: str
    user_id: str | None = None
    conversation_id: str | None = None
    asked_in: str | None = None
    """The conversation that asks: what other branches of its tree said is not found."""
    mode: Mode = "hybrid"
    keywords: tuple[str, ...] = ()
    """At least one of them must occur."""
    types: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    asked_at: datetime | None = None
    """When it is asked, for days that it names; None: now."""
    limit: int = 10
    relevance_min: float | None = None
    sensitive: bool = False
    """Whether sensitive memories are searched too."""
    narrowing: Narrowing = EVERYTHING
    queries: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    """As callers name them: `user`, `conversation`, `space:` and its id; none: all that may be viewed."""
    views: tuple[UUID, ...] = ()
    """The owners that the conversation of a tool may view, which need no look-up."""
    then: Then | None = None
    """Another time at which they held."""
    expansion: str | None = None
    """The query with an LLM's words. Like further ``queries`` it is fused with it: see ``core.search.fusion``."""


@dataclass(frozen=True, slots=True)
class Found:
    """The results of a search, best first."""

    hits: Sequence[SearchHit]
    total: int
    mode: Mode
    query_expanded: str | None = None
    warnings: list[dict[str, str]] = field(default_factory=list)
    unanswered: Sequence[str] = ()
    """The request's queries that found nothing but doubtful results, if there are several."""


@dataclass(frozen=True, slots=True)
class Query:
    """A prepared query: its terms, its meaning if a model could be asked, and the search mode."""

    text: str
    terms: Sequence[int]
    meaning: Meaning | None
    mode: Mode
    warnings: list[dict[str, str]]
    named: Named
    """The speakers and the days that it names."""
    asks: float | None
    """How likely it asks for something that was said before; None where that cannot be read from its vector."""
    of_replies: bool
    """Whether it asks for an assistant's words."""
    parts: Sequence[QueryPart] = ()

    @property
    def may_ask(self) -> bool:
        return self.asks is None or self.asks >= relevance.MAY_ASK_MIN


async def ready(
    runtime: Runtime, tenant: UUID, text: str, mode: Mode = "hybrid", asked_at: datetime | None = None
) -> Query:
    """Make a query ready. To be called while no connection is held: a model may be asked.

    ``asked_at``: what "yesterday" is the day before, and where; None: now, in UTC.
    """
    asks = await asks_for_earlier(runtime, tenant, text) if mode != "keyword" else None
    of_replies = asks_of_replies(text)
    text = subject_of(scalar(text))
    asked_at = asked_at or datetime.now(UTC)
    named = named_in(text, asked_at.date(), asked_at.tzinfo or UTC)
    terms = bm25.query(text)
    meaning: Meaning | None = None
    warnings: list[dict[str, str]] = []
    if mode != "keyword":
        meaning, warnings = await _meaning(runtime, tenant, text)
    done: Mode = mode if meaning is not None else "keyword"
    compound = await _parts(runtime, tenant, text, meaning)
    return Query(text, terms, meaning, done, warnings, named, asks, of_replies, compound)


async def asks_for_earlier(runtime: Runtime, tenant: UUID, text: str) -> float | None:
    """Return how likely a text asks for something that was said before; None where its vector is not there to tell.

    A dialogue that is handed over asks for whatever bears on it.
    """
    text = scalar(text)
    if subject_of(text) != text or last_speaker(text) is not None:
        return relevance.ASKS_SURELY
    if runtime.embedder is None or runtime.embedder.model != intents.MODEL:
        return None
    vector = await vector_of(runtime, tenant, text)
    return intents.ASKS.probability(text, vector) if vector is not None else None


async def vector_of(runtime: Runtime, tenant: UUID, text: str) -> Vector | None:
    """Return the vector of a message, which is computed once; None where no model answers."""
    meaning, _ = await _meaning(runtime, tenant, scalar(text))
    return embeddings.vector(meaning.vector) if meaning is not None else None


def named_in(text: str, today: date, zone: tzinfo = UTC) -> Named:
    return Named(bm25.speakers(text), relevance.favoured(days_named(text, today), zone))


async def _parts(runtime: Runtime, tenant: UUID, text: str, meaning: Meaning | None) -> list[QueryPart]:
    """Make the parts of a compound query ready; those that get no vector are left out if the whole has one."""
    found = [QueryPart(bm25.query(part)) for part in parts(text)]
    if meaning is None:
        return found
    meanings = [(await _meaning(runtime, tenant, part))[0] for part in parts(text)]
    return [part._replace(vector=its.vector) for part, its in zip(found, meanings, strict=True) if its is not None]


def begin(runtime: Runtime, tenant: UUID, text: str) -> None:
    """Begin to compute the vector of a message that was just stored: its window will want it, and finds it here."""
    if runtime.embedder is not None and runtime.embedder.model == intents.MODEL and text.strip():
        _reading(runtime, runtime.embedder, tenant, scalar(text))


def _reading(runtime: Runtime, embedder: Embedder, tenant: UUID, text: str) -> asyncio.Task[str | None]:
    parts = [query_text(part.strip()) for part in (text, last_speaker(text)) if part]
    key = (tenant, embedder.model, "\n\n".join(parts))
    known = runtime.caches.query_vectors
    reading = known.get(key)
    if reading is None or reading.cancelled() or (reading.done() and reading.result() is None):
        reading = known[key] = asyncio.create_task(_read(embedder, parts))
    return reading


async def _read(embedder: Embedder, parts: Sequence[str]) -> str | None:
    try:
        async with asyncio.timeout(QUERY_SECONDS):
            vectors = [await embedder.embed_query(part) for part in parts]
            return embeddings.literal(vectors[0] if len(vectors) == 1 else middle(vectors))
    except (ProviderError, TimeoutError) as error:
        _logger.warning("a query was searched for by keyword: %s", type(error).__name__)
        return None


async def _meaning(runtime: Runtime, tenant: UUID, text: str) -> tuple[Meaning | None, list[dict[str, str]]]:
    embedder = runtime.embedder
    if embedder is None:
        return None, [NO_EMBEDDINGS]
    if not text.strip():
        return None, []
    vector = await asyncio.shield(_reading(runtime, embedder, tenant, text))
    if vector is None:
        return None, [SEMANTIC_UNAVAILABLE]
    model = embeddings.model_id(embedder.model, embedder.dimensions)
    return Meaning(model, vector, *relevance.spread(embedder.model)), []


async def search(runtime: Runtime, tenant: UUID, request: SearchRequest) -> Found:
    """Search the memories of a user or a conversation. Takes its own connection.

    Raises NotFound for a conversation that is unknown or not the user's.
    """
    texts = [request.query, *request.queries, *([request.expansion] if request.expansion else [])]
    queries = [await ready(runtime, tenant, text, request.mode, request.asked_at) for text in texts]
    keywords = [term for word in request.keywords for term in bm25.query(word)]
    wide = replace(request, limit=reranking.candidates(runtime, request.limit))
    async with runtime.database.snapshot(tenant) as tx:
        answers, lags = await _answers(tx, wide, queries, keywords)
    hits, each = answers[0].hits, len(answers) // len(queries)
    if len(answers) > 1:
        hits = await anyio.to_thread.run_sync(_fused, [one.hits for one in answers], each, wide)
    asked = [request.query, *request.queries]
    hits, reranker_warnings = await reranking.reranked(runtime, "\n".join(asked), hits)
    hits = hits[: request.limit]
    total = max(len(hits), *(one.total for one in answers))
    warnings = list({warning["code"]: warning for one in queries for warning in one.warnings}.values())
    warnings += lags + reranker_warnings
    if not keywords and not any(one.terms or one.meaning for one in queries):
        warnings.append(NO_WORDS)
    every = [[hit for one in answers[i : i + each] for hit in one.hits] for i in range(0, len(answers), each)]
    unanswered = [text for text, own in zip(asked, every, strict=False) if all(hit.is_doubtful for hit in own)]
    unanswered = unanswered if hits and len(asked) > 1 else []
    return Found(hits, total, queries[0].mode, request.expansion, warnings, unanswered)


async def _answers(
    tx: ReadTx, request: SearchRequest, queries: Sequence[Query], keywords: Sequence[int]
) -> tuple[list[_SearchAnswer], list[dict[str, str]]]:
    """Return the results of each query in each view, and a warning if vectors lag."""
    views, line = await _views(tx, request)
    answers = [await _search(tx, request, query, keywords, view, line) for query in queries for view in views]
    if request.then is not None:
        asked = [(query, view) for query in queries for view in views]
        answers = [await _then(tx, request, *one, found) for one, found in zip(asked, answers, strict=True)]
    replaced = past.with_replaced
    answers = [replace(one, hits=await replaced(tx, one.hits, sensitive=request.sensitive)) for one in answers]
    owners = [owner for view in views for owner in view.owners]
    return answers, await vectors_lag(tx, owners, queries[0])


async def _then(tx: ReadTx, request: SearchRequest, query: Query, view: View, found: _SearchAnswer) -> _SearchAnswer:
    """Return the results of a search for what held at another time."""
    assert request.then is not None
    values = await past.values(tx, view, request.then, query.terms, sensitive=request.sensitive)
    held = [hit for hit in found.hits if not hit.is_keyed and past.held(request.then, hit)]
    held += await with_texts(tx, values, sensitive=request.sensitive)
    shown = worth_showing(sorted(held, key=lambda hit: -hit.score), query.text)[: request.limit]
    return _SearchAnswer(shown, len(held))


def _fused(found: list[list[SearchHit]], views: int, request: SearchRequest) -> list[SearchHit]:
    """Return the results of queries, each of as many views, as one list."""
    expanded = [hit for hits in found[-views:] for hit in hits] if request.expansion else []
    found = found[:-views] if request.expansion else found
    return worth_showing(fused(found, expanded), request.query)[: request.limit]


@dataclass(frozen=True, slots=True)
class _SearchAnswer:
    """The results of one query of a search."""

    hits: list[SearchHit]
    total: int
    """The number of matches."""


async def vectors_lag(tx: ReadTx, owners: Sequence[UUID], query: Query, most: int = 0) -> list[dict[str, str]]:
    """Return a warning if more than ``most`` memories lack the vector that a query by meaning is compared with."""
    if query.meaning is None:
        return []
    waiting, refused = await embeddings.count_missing(tx, owners)
    if waiting + refused <= most:
        return []
    count = f"{waiting + refused:,} memories" + (" or more" if waiting == embeddings.WAITING_MAX else "")
    why = f" ({refused:,} refused by the embedding provider)" if refused else ""
    return [{"code": "vectors_lag", "detail": f"{count} have no vector{why}; only their words find them"}]


async def _views(tx: ReadTx, request: SearchRequest) -> tuple[list[View], OnLine | None]:
    """Return what a search looks into, and the line that asks. Raises NotFound."""
    conversation: Conversation | None = None
    if request.conversation_id is not None:
        conversation = await conversations.get(tx, named(request.conversation_id), bound_to=request.user_id)
    asking = conversation
    if asking is None and request.asked_in is not None:
        asking = await conversations.find(tx, request.asked_in)
    line = await views.on_line(tx, asking) if asking is not None else None
    if request.scopes:
        user_id = request.user_id if conversation is None else conversation.user_id
        return await views.named(tx, request.scopes, user_id, conversation), line
    if conversation is not None:
        return [views.alone(conversation)], line
    if asking is not None and asking.finds_its_line_alone:
        return [views.alone(asking)], line
    if request.views:
        return [View(dict.fromkeys(request.views))], line
    assert request.user_id is not None
    return [View(await views.of_user(tx, request.user_id))], line


async def _search(
    tx: ReadTx, request: SearchRequest, query: Query, keywords: Sequence[int], view: View, line: OnLine | None
) -> _SearchAnswer:
    asked = memories.Scoring(
        query.terms or keywords,
        query.meaning,
        only_meaning=query.mode == "semantic",
        named=query.named,
        parts=query.parts,
    )
    least = relevance.score_of(request.relevance_min or 0.0)
    where = memories.PassageFilter(
        among=await narrowing.among(tx, view.owners, request.narrowing),
        conversation=view.conversation, line=line, types=request.types or None,
        keywords=keywords, since=first_id(request.since) if request.since else memories.FIRST,
        until=first_id(request.until) if request.until else memories.LAST, score_min=least, sensitive=request.sensitive,
    )  # fmt: skip
    distinct: list[SearchHit] = []
    total = 0
    for limit in (request.limit, request.limit + REPEATS_MAX):
        results = await memories.search(tx, view.owners, asked, where, limit=limit)
        told = await judged(tx, query, results.hits, sensitive=request.sensitive)
        told = [hit._replace(scope=view.scopes[hit.hit.owner]) if hit.hit.owner else hit for hit in told]
        distinct = [hit for hit in await once(told, query) if hit.score >= least]
        total = max(len(distinct), results.total - len(results.hits) + len(told))
        lowest = results.hits[-1].score if len(results.hits) == limit else -inf  # nothing else scores more
        if lowest == -inf or [hit.score for hit in distinct[request.limit - 1 : request.limit]] >= [lowest]:
            break
    return _SearchAnswer(distinct[: request.limit], total)


async def judged(tx: ReadTx, query: Query, hits: Sequence[Hit], *, sensitive: bool) -> list[SearchHit]:
    """Return results with their texts, best first, each with a mark if it hardly answers: searches and windows judge
    alike. An assistant's replies score less unless they are asked for. What was taken back is left out.
    """
    by_words = query.mode != "semantic"  # they can find calls and placeholders, which mean nothing
    told = [
        hit for hit in await with_texts(tx, hits, sensitive=sensitive)
        if hit.status not in ("refused", "withdrawn", "retracted")
        and (hit.is_spoken or (by_words and hit.hit.coverage > 0))
    ]  # fmt: skip
    has = has_subject(query.text)
    less = 0.0 if query.of_replies else relevance.ASSISTANTS_LESS
    weighed = [
        hit._replace(
            score=hit.score - less if hit.role == "assistant" and hit.name is None else hit.score,
            is_doubtful=not (has and relevance.answers(hit.score, hit.hit.coverage, query.asks)),
        )
        for hit in told
    ]
    return sorted(weighed, key=lambda hit: -hit.score)


async def once(hits: Sequence[SearchHit], query: Query, *, is_said: bool = False) -> list[SearchHit]:
    """Return of results that say the same one, and none that only asks the query again: see ``worth_showing``."""
    size = sum(min(len(hit.text), STATEMENT_CHARACTERS) for hit in hits)  # of a longer one hardly as much is looked at
    return await run_in_thread_if_large(size, worth_showing, hits, query.text, is_said)


def answer(result_set: Found, query: str) -> dict[str, Any]:
    """Return a search's response over HTTP."""
    return {
        "results": [result(hit, query) for hit in result_set.hits],
        "total_found": result_set.total,
        "mode": result_set.mode,
        "search_query_expanded": result_set.query_expanded,
        "warnings": result_set.warnings,
    }


async def find(
    tx: ReadTx, query: Query, limit: int,
    *, sensitive: bool, asked_in: Conversation, is_said: bool, is_alone: bool, within: Narrowing = EVERYTHING,
) -> Hits:  # fmt: skip
    """Return the best passages for a query, the best first: of a message or an archive as many as match. ``is_said``:
    see ``Asking``. ``is_alone``: other conversations than the one that asks are left out.
    """
    asked = memories.Scoring(query.terms, query.meaning, named=query.named, parts=query.parts)
    owners: Sequence[UUID] = asked_in.searched
    its_line = views.alone(asked_in)
    if asked_in.finds_its_line_alone:
        owners, is_alone = its_line.owners, True
    among = await narrowing.among(tx, owners, within)
    line = await views.on_line(tx, asked_in)
    asking = Asking(asked_in.uid, asked_in.end.user_seq, is_said)
    conversation = its_line.conversation if is_alone else None
    where = memories.PassageFilter(
        among=among, conversation=conversation, line=line, asking=asking, sensitive=sensitive
    )  # fmt: skip
    return await memories.search(tx, owners, asked, where, limit=limit, every_passage=True)


async def memory(tx: ReadTx, key: UUID, owners: Container[UUID] | None = None, *, sensitive: bool) -> SearchHit | None:
    """Return a memory with its text; with owners, only if one of them finds it."""
    hit = await memories.find(tx, key, owners)
    matches = await with_texts(tx, [hit], sensitive=sensitive) if hit else []
    return matches[0] if matches else None


async def with_texts(tx: ReadTx, hits: Sequence[Hit], *, sensitive: bool) -> list[SearchHit]:
    """Return the hits with their texts, in the same order.

    Hits that no longer exist are left out, and so are sensitive ones unless ``sensitive``.
    """
    places = dict.fromkeys((h.conversation_id, h.seq) for h in hits if h.conversation_id and h.seq)
    rows_by_place: dict[Place, HistoryMessage] = {row.place: row for row in await messages.by_place(tx, [*places])}
    passages = await archives.passages(
        tx, [(h.archive_id, h.start, h.length) for h in hits if h.archive_id is not None]
    )
    own = [h.id for h in hits if h.type != "passage"]  # of episodes those whose messages are pruned
    contents = await remembered.contents(tx, own, sensitive=sensitive)
    wholes = {row.id: row for row in contents.values()}
    size = sum(len(row.body) for row in rows_by_place.values()) + sum(len(row.content) for row in wholes.values())
    return await run_in_thread_if_large(size, _told, hits, rows_by_place, passages, contents, wholes, most=LONG_COPIED)


def _told(
    hits: Sequence[Hit], rows_by_place: Mapping[Place, HistoryMessage],
    passages: Mapping[tuple[UUID, int], tuple[str, str]], contents: Mapping[UUID, StoredMemory],
    wholes: Mapping[UUID, StoredMemory],
) -> list[SearchHit]:  # fmt: skip
    results = []
    sent = cache(lambda place: _sent(rows_by_place[place]))  # several hits can be of one; those of archives need none
    own = {key: row.text for key, row in wholes.items()}
    for hit in hits:
        whole, said = contents.get(hit.id), rows_by_place.get((hit.conversation_id, hit.seq))
        offset = said.said_offset if said is not None else 0
        if whole is not None and hit.type != "episode":
            content = own[whole.id]
            text = content[hit.start : hit.start + hit.length]
            text = marked(text) if text else marked(content)[:PREVIEW_CHARACTERS]  # its keywords matched
            results.append(SearchHit(hit, hit.score, f"memory ({hit.type})", text, whole=whole, offset=offset))
        elif hit.type not in ("episode", "passage"):
            continue
        elif hit.archive_id is not None:
            passage = passages.get((hit.archive_id, hit.start))
            if passage is not None:
                results.append(SearchHit(hit, hit.score, f"tool {passage[0]}", passage[1], offset=offset))
        elif (row := said) is not None:
            name, said_all, spoken_all = sent(row.place)
            passage_at = slice(hit.start, hit.start + hit.length)
            text = own[whole.id] if whole is not None else said_all[passage_at]
            line = row.line if text == said_all else ""
            is_spoken = whole is not None or spoken_all is None or bool(spoken_all[passage_at].strip())
            results.append(
                SearchHit(hit, hit.score, row.role, text, row.id, None, line, row.body, name, is_spoken, offset)
            )
    return results


def _sent(row: HistoryMessage) -> tuple[str | None, str, str | None]:
    """Return a message's speaker, its text, and that without calls and placeholders where it can have some."""
    sent, can_call = seen(row), row.kind in ("call", "result")
    return speaker_of(sent), plain_text(sent), spoken_text(sent) if can_call else None


DETAIL_BYTES = 100_000
"""Of a memory in full, as the API promises."""


def fields(found: SearchHit, query: str) -> dict[str, Any]:
    hit = found.hit
    return {
        "memory_key": str(found.key),
        "memory_type": hit.type,
        "role": found.spoken_by,
        "name": found.name,
        "summary": found.line or message_line("user", found.text),
        "content_preview": preview(found.text, query),
        "relevance_score": round(relevance.relevance(found.score), 4),
        "created_at": time_text(hit.created_at),
        "keywords": list(found.whole.keywords) if found.whole else key_terms(found.text, 5),
        "conversation_id": hit.conversation_id,
        "page": hit.page,
        "message_ids": [str(found.message_id)] if found.message_id else [],
        "archive_id": str(hit.archive_id) if hit.archive_id else None,
        "metadata": json.loads(found.whole.metadata) if found.whole else _sent_metadata(found.body),
    }


def _sent_metadata(body: str) -> dict[str, Any]:
    """Return the `metadata` that a message was sent with; {} if it is no object or longer than a memory's can be."""
    if '"metadata"' not in body:
        return {}
    sent = json.loads(body).get("metadata")
    return sent if isinstance(sent, dict) and len(dumps(sent)) <= METADATA_MAX else {}


def result(found: SearchHit, query: str) -> dict[str, Any]:
    scope = found.whole.scope if found.whole else found.scope
    return {
        **fields(found, query),
        "scope": scope.name if scope else None,
        "similar": found.similar,
        "doubtful": found.is_doubtful,
        "replaced": _replaced(found),
    }


def _replaced(found: SearchHit) -> dict[str, Any] | None:
    row = found.replaced
    if row is None:
        return None
    times = {"valid_from": time_text(row.valid_from), "valid_to": time_text(row.valid_to)}
    return {"memory_key": str(row.id), "content_preview": marked(row.content)[:PREVIEW_CHARACTERS], **times}


def size(hits: Sequence[SearchHit], query: str) -> int:
    """Return how many characters ``result`` will process in total."""
    return sum(len(hit.text) + len(hit.body) + len(query) for hit in hits)


def detail(found: SearchHit) -> dict[str, Any]:
    text = found.whole.text if found.whole else found.text
    content = text.encode()
    is_cut = len(content) > DETAIL_BYTES
    shown = content[:DETAIL_BYTES].decode(errors="ignore") + "… [cut]" if is_cut else text
    whole = found.whole
    return {
        **fields(found, ""),
        "content": shown,
        "is_cut": is_cut,
        "sensitivity": "sensitive" if whole and whole.sensitive else "normal",
        "expires_at": time_text(whole.expires_at) if whole and whole.expires_at else None,
        "source": whole.source if whole else "extractive",
        **standing(whole, text),
    }
