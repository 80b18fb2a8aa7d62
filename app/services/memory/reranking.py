"""Let a reranker order the first results of a search. Windows and automatic recall never wait for it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from app.concurrency import run_in_thread_if_large
from app.core.search.vector_text import query_text
from app.providers import ProviderError
from app.runtime import Runtime
from app.services.memory.hits import SearchHit, worth_showing

RERANKED_MAX = 50
"""Results that are put in order; those after them stay where they are."""
RERANK_SECONDS = 4.5
"""Then the order of the search has to do."""
DOCUMENT_CHARACTERS = 2_000
"""The part of each result that the reranker reads."""

UNAVAILABLE = {"code": "rerank_unavailable", "detail": "the reranker did not answer; results are in the search's order"}

_logger = logging.getLogger(__name__)


def candidates(runtime: Runtime, limit: int) -> int:
    """Return how many results to search for to return ``limit``."""
    return limit if runtime.reranker is None else max(limit, RERANKED_MAX)


async def reranked(
    runtime: Runtime, query: str, hits: Sequence[SearchHit]
) -> tuple[list[SearchHit], list[dict[str, str]]]:
    """Return the results in the reranker's order, or in their present order with a warning.

    Scores stay with the place, because rerankers' scores have no common scale. Call it without holding a connection.
    """
    first, rest = hits[:RERANKED_MAX], hits[RERANKED_MAX:]
    if runtime.reranker is None or len(first) < 2 or not query.strip():
        return list(hits), []
    documents = [(f"{hit.name}: {hit.text}" if hit.name else hit.text)[:DOCUMENT_CHARACTERS] for hit in first]
    try:
        async with asyncio.timeout(RERANK_SECONDS):
            ranks = await runtime.reranker.rank(query_text(query), documents)
    except (ProviderError, TimeoutError) as error:
        _logger.warning("a search was not reranked: %s", type(error).__name__)
        runtime.metrics.provider_call("rerank", type(error).__name__)
        return list(hits), [UNAVAILABLE]
    runtime.metrics.provider_call("rerank", "ok")
    scores = sorted((hit.score for hit in first), reverse=True)
    ordered = [first[rank]._replace(score=score) for rank, score in zip(ranks, scores, strict=True)] + list(rest)
    size = sum(len(hit.text) for hit in ordered)
    return await run_in_thread_if_large(size, worth_showing, ordered, query), []
