"""Search what has left the window: one search for people, windows and models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from math import inf
from uuid import UUID

import anyio.to_thread

from app.concurrency import run_in_thread_if_large
from app.core.conversation import Conversation
from app.core.line import named
from app.core.search import relevance
from app.core.search.fusion import fused
from app.core.search.narrowing import EVERYTHING, Narrowing
from app.core.times import first_id
from app.core.window.kept import Then
from app.postgres.transactions import ReadTx
from app.runtime import Runtime
from app.services.memory import past, reranking, views
from app.services.memory.hits import SearchHit, with_texts, worth_showing
from app.services.memory.querying import Mode, Query, prepare
from app.services.memory.views import View
from app.store import conversations
from app.store.memory import embeddings, memories, narrowing
from app.store.memory.memories import Asking, Hit, Hits, OnLine
from app.text import bm25
from app.text.queries import has_subject
from app.text.statements import STATEMENT_CHARACTERS

REPEATS_MAX = 100
"""Additional memories to read in place of repetitions among the results."""

NO_WORDS = {"code": "nothing_to_search_for", "detail": "the query has no words to search for"}


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A search of one user's memories or one conversation's."""

    query: str
    user_id: str | None = None
    conversation_id: str | None = None
    asked_in: str | None = None
    """The conversation that asks. It does not find what other branches of its tree said."""
    mode: Mode = "hybrid"
    keywords: tuple[str, ...] = ()
    """At least one of them must occur."""
    types: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    asked_at: datetime | None = None
    """The time that relative days in the query refer to; None: now."""
    limit: int = 10
    relevance_min: float | None = None
    sensitive: bool = False
    """Whether sensitive memories are searched too."""
    narrowing: Narrowing = EVERYTHING
    queries: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    """As callers name them: `user`, `conversation`, or `space:` and an id. Empty: everything the caller can view."""
    views: tuple[UUID, ...] = ()
    """The owners that a tool's conversation can view, so that they need no look-up."""
    then: Then | None = None
    """Search what held at another time."""
    expansion: str | None = None
    """The query with words that an LLM added. ``core.search.fusion`` merges its results with the others'."""


@dataclass(frozen=True, slots=True)
class SearchOutcome:
    """The results of a search, or of one of its queries, best first."""

    hits: Sequence[SearchHit]
    total: int
    """The number of matches."""
    mode: Mode
    query_expanded: str | None = None
    warnings: list[dict[str, str]] = field(default_factory=list)
    unanswered: Sequence[str] = ()
    """The request's queries that found nothing but doubtful results, if there are several."""


async def search(runtime: Runtime, tenant: UUID, request: SearchRequest) -> SearchOutcome:
    """Search the memories of a user or a conversation. Takes its own connection.

    Raises NotFound for a conversation that is unknown or not the user's.
    """
    texts = [request.query, *request.queries, *([request.expansion] if request.expansion else [])]
    queries = [await prepare(runtime, tenant, text, request.mode, request.asked_at) for text in texts]
    keywords = [term for word in request.keywords for term in bm25.query(word)]
    wide = replace(request, limit=reranking.candidates(runtime, request.limit))
    async with runtime.database.snapshot(tenant) as tx:
        answers, lags = await _answers(tx, wide, queries, keywords)
    hits = answers[0][0].hits
    if len(queries) > 1 or len(answers[0]) > 1:
        hits = await anyio.to_thread.run_sync(_fused, answers, wide)
    asked = [request.query, *request.queries]
    hits, reranker_warnings = await reranking.reranked(runtime, "\n".join(asked), hits)
    hits = hits[: request.limit]
    total = max(len(hits), *(one.total for own in answers for one in own))
    warnings = list({warning["code"]: warning for one in queries for warning in one.warnings}.values())
    warnings += lags + reranker_warnings
    if not keywords and not any(one.terms or one.meaning for one in queries):
        warnings.append(NO_WORDS)
    unanswered: list[str] = []
    if hits and len(asked) > 1:
        doubts = [all(hit.is_doubtful for one in own for hit in one.hits) for own in answers]
        unanswered = [text for text, is_doubtful in zip(asked, doubts, strict=False) if is_doubtful]
    return SearchOutcome(hits, total, queries[0].mode, request.expansion, warnings, unanswered)


async def _answers(
    tx: ReadTx, request: SearchRequest, queries: Sequence[Query], keywords: Sequence[int]
) -> tuple[list[list[SearchOutcome]], list[dict[str, str]]]:
    """Return for each query its results in each view, and a warning if vectors lag."""
    views, line = await _views(tx, request)

    async def answer(query: Query, view: View) -> SearchOutcome:
        outcome = await _search(tx, request, query, keywords, view, line)
        if request.then is not None:
            outcome = await _as_of(tx, request, query, view, outcome)
        return replace(outcome, hits=await past.with_replaced(tx, outcome.hits, sensitive=request.sensitive))

    answers = [[await answer(query, view) for view in views] for query in queries]
    return answers, await vectors_lag(tx, [owner for view in views for owner in view.owners], queries[0])


async def _as_of(tx: ReadTx, request: SearchRequest, query: Query, view: View, outcome: SearchOutcome) -> SearchOutcome:
    """Return the results of a search for what held at another time."""
    assert request.then is not None
    values = await past.values(tx, view, request.then, query.terms, sensitive=request.sensitive)
    held = [hit for hit in outcome.hits if not hit.is_keyed and past.held(request.then, hit)]
    held += await with_texts(tx, values, sensitive=request.sensitive)
    shown = worth_showing(sorted(held, key=lambda hit: -hit.score), query.text)[: request.limit]
    return SearchOutcome(shown, len(held), query.mode)


def _fused(answers: Sequence[Sequence[SearchOutcome]], request: SearchRequest) -> list[SearchHit]:
    """Return the results of all queries in all views as one list. The expansion is the last query."""
    found = [outcome.hits for own in answers[: len(request.queries) + 1] for outcome in own]
    expanded = [hit for own in answers[len(request.queries) + 1 :] for outcome in own for hit in outcome.hits]
    return worth_showing(fused(found, expanded), request.query)[: request.limit]


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
    """Return the views to search, and the line of the conversation that asks. Raises NotFound."""
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
) -> SearchOutcome:
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
        conversation=view.conversation, line=line, types=request.narrowing.types_of(request.types),
        keywords=keywords, since=first_id(request.since) if request.since else memories.FIRST,
        until=first_id(request.until) if request.until else memories.LAST, score_min=least, sensitive=request.sensitive,
    )  # fmt: skip
    kept: list[SearchHit] = []
    total = 0
    for limit in (request.limit, request.limit + REPEATS_MAX):
        results = await memories.search(tx, view.owners, asked, where, limit=limit)
        told = await judge(tx, query, results.hits, sensitive=request.sensitive)
        told = [hit._replace(scope=view.scopes[hit.hit.owner]) if hit.hit.owner else hit for hit in told]
        kept = [hit for hit in await distinct(told, query) if hit.score >= least]
        total = max(len(kept), results.total - len(results.hits) + len(told))
        lowest = results.hits[-1].score if len(results.hits) == limit else -inf  # nothing else scores more
        if lowest == -inf or [hit.score for hit in kept[request.limit - 1 : request.limit]] >= [lowest]:
            break
    return SearchOutcome(kept[: request.limit], total, query.mode)


async def judge(tx: ReadTx, query: Query, hits: Sequence[Hit], *, sensitive: bool) -> list[SearchHit]:
    """Return hits with their texts, best first, doubtful ones marked; searches and windows judge alike. An assistant's
    replies score less unless the query is about replies. Retracted memories are left out.
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


async def distinct(hits: Sequence[SearchHit], query: Query, *, is_said: bool = False) -> list[SearchHit]:
    """Do ``worth_showing``, in a thread if there is much to compare."""
    size = sum(min(len(hit.text), STATEMENT_CHARACTERS) for hit in hits)  # of a longer one hardly as much is looked at
    return await run_in_thread_if_large(size, worth_showing, hits, query.text, is_said)


async def find_passages(
    tx: ReadTx, query: Query, limit: int,
    *, sensitive: bool, asked_in: Conversation, is_said: bool, is_alone: bool, within: Narrowing = EVERYTHING,
) -> Hits:  # fmt: skip
    """Return the best passages for a query, best first, any number from one message or archive. ``is_said``: see
    ``Asking``. ``is_alone``: search only the conversation that asks.
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
        among=among, conversation=conversation, line=line, asking=asking, types=within.types or None,
        sensitive=sensitive,
    )  # fmt: skip
    return await memories.search(tx, owners, asked, where, limit=limit, every_passage=True)
