"""Decide what a query brings into a window, by its judged results.

An unasked recall brings only passages that answer. A caller's query also brings close ones, and more of them the better
the best result is: tokens double with each unit of its score above the needed one. If nothing answers a query that may
ask, the best near miss comes alone, as a hint.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Generic, Protocol, TypeVar

from app.core.search.fusion import ScoredResult
from app.core.search.relevance import APART, MAY_ASK_MIN, needed

DOUBTFUL_TOKENS = 120
"""Tokens of a result that hardly answers, and of one that just does."""
DOUBLINGS_MAX = 20
"""More room than any window has."""
NEAR = 1.0
"""How far below the needed score a miss is near. From 2 on, 19 instead of 12 % of off-topic questions get one."""
UNASKED_MAX = 8
"""Passages that come unasked, at most."""
WORDED_TOKENS = 480
"""Tokens of them, at least, where only words tell: whole passages, of which many are longer than DOUBTFUL_TOKENS."""


class JudgedResult(ScoredResult, Protocol):
    """A result that says whether it hardly answers."""

    @property
    def is_doubtful(self) -> bool: ...


T = TypeVar("T", bound=JudgedResult)


@dataclass(frozen=True, slots=True)
class Evidence(Generic[T]):
    """The results that may be shown, best first, and their tokens at most."""

    hits: Sequence[T] = ()
    tokens_max: int = 0
    count_max: int | None = None

    def beside(self, is_in_view: Callable[[T], bool], room: int) -> tuple[list[T], int]:
        """Return the results that a window lacks, and the part of its room for them."""
        return [hit for hit in self.hits if not is_in_view(hit)][: self.count_max], min(room, self.tokens_max)


def evidence(hits: Sequence[T], asks: float | None, *, is_said: bool) -> Evidence[T]:
    """Return which of the judged results may be shown, best first.

    ``asks``: the probability that the query asks for something said before. ``is_said``: the recall is unasked.
    """
    best = max((hit.score for hit in hits), default=-inf)
    answers = [hit for hit in hits if hit.score > best - APART and not hit.is_doubtful]
    over = best - needed(asks)
    tokens = int(DOUBTFUL_TOKENS * 2 ** min(max(over, 0.0), DOUBLINGS_MAX))
    if is_said:
        return Evidence(answers, max(tokens, WORDED_TOKENS) if asks is None else tokens, UNASKED_MAX)
    if answers:
        return Evidence([hit for hit in hits if hit.score > 0], tokens)  # more than chance
    is_near = over >= -NEAR and (asks is None or asks >= MAY_ASK_MIN)
    return Evidence(hits[:1] if is_near else [], DOUBTFUL_TOKENS)
