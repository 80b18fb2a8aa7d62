"""Merge the results of several queries, by each memory's best score or in turns.

The queries of a request count alike. An LLM's expansion does not: what the queries themselves find with a relevance of
``KEPT`` or more comes first, so a bad expansion cannot push it out and a good one fills the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import chain, zip_longest
from operator import attrgetter
from typing import Protocol, TypeVar

from app.core.search.relevance import relevance

KEPT = 0.1
QUERIES_MAX = 5


class ScoredResult(Protocol):
    """A result: its memory's identity, and its score."""

    @property
    def key(self) -> Hashable: ...
    @property
    def score(self) -> float: ...


T = TypeVar("T", bound=ScoredResult)


def fused(own: Sequence[Sequence[T]], expanded: Sequence[T] = ()) -> list[T]:
    """Return what the queries of a request (``own``) and an expansion found, each memory once, best first."""
    by_score = sorted(chain.from_iterable(own), key=attrgetter("score"), reverse=True)
    kept = [result for result in by_score if relevance(result.score) >= KEPT]
    rest = sorted([*by_score[len(kept) :], *expanded], key=attrgetter("score"), reverse=True)
    best: dict[Hashable, T] = {}
    for result in [*kept, *rest]:
        best.setdefault(result.key, result)
    return list(best.values())


R = TypeVar("R")


def in_turns(found: Sequence[Sequence[R]], key: Callable[[R], Hashable]) -> list[R]:
    """Return what the questions of one query found, the best of each first; each memory once.

    A question whose words are rare would otherwise fill the list with its own results.
    """
    first: dict[Hashable, R] = {}
    for row in zip_longest(*found):
        for one in row:
            if one is not None:
                first.setdefault(key(one), one)
    return list(first.values())
