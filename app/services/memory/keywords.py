"""Keywords to search by, each with its type and weight."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import anyio.to_thread

from app.extractive.terms import kind_of, scored_terms

CONTEXT_PART = 0.5
"""The weight of words that only the context has."""


@dataclass(frozen=True, slots=True)
class Keyword:
    keyword: str
    type: str
    weight: float
    """0 to 1, relative to the best."""

    def value(self) -> dict[str, Any]:
        return asdict(self)


async def keywords_of(query: str, context: str, count: int) -> list[Keyword]:
    """Return the keywords of a query and, with less weight, those of its context, best first."""
    return await anyio.to_thread.run_sync(_keywords, query, context, count)


def _keywords(query: str, context: str, count: int) -> list[Keyword]:
    scores = dict(scored_terms(query, count))
    for term, score in scored_terms(context, count):
        scores.setdefault(term, CONTEXT_PART * score)
    best = sorted(scores.items(), key=lambda item: -item[1])[:count]
    most = max((score for _, score in best), default=1.0) or 1.0
    return [Keyword(term, kind_of(term), round(score / most, 2)) for term, score in best]
