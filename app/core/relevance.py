"""How well a memory answers a query: the words they share and what they mean, on one scale.

Two things are known of a memory. Its *coverage*, the part of the query's information (the sum of its terms' inverse
document frequencies, BM25's saturation included) that its words carry. And its *closeness*, by how many standard
deviations its vector is nearer to the query's than those of the owner's other memories are: raw cosines mean nothing
by themselves, right pairs of one model are where wrong pairs of another are. The score is

    words * coverage + meaning * closeness

A coverage does not grow with the number of memories. It falls where a query is a long text, a dialogue perhaps, of
which nothing can carry much; but then chance carries less of it as well. So ``words`` is WORDS, or more where what a
memory carries by chance (terms as common as they are, independent of each other) is less than usual: two rare words of
a long text tell more than its length lets on. What is not known of a memory, because it has no vector yet or because a
mode does not ask, is put in as what usually goes with the other (measured on dialogues). So a score means the same in
every mode, and nothing is punished for a vector that is still to come.

A turn of a dialogue earns a part of what its two neighbours score: an answer is found by its question.

Whether a query is answered at all is judged before anything enters a window. A best score alone cannot tell: among
many memories one is always closest. What tells is how much of the query's information the owner's memories know at
all, in whatever message: "How many moons does Neptune have?" holds words that nobody ever said there. So

    confidence = score of the best passage by itself + KNOWN * meaning * part of the query's information that is known

and below what is ``needed`` the query brings in nothing (measured on queries that nothing answers:
docs/retrieval.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log

WORDS = 10.0
"""What a coverage of 1 counts, at the least."""
CHANCE = 0.3
"""What a standard deviation of the part that is carried by chance counts, where that is more."""
MEANING_ENGLISH, MEANING_CHINESE = 1.0, 1.5
"""What a standard deviation counts. More in Chinese, where pairs of characters match by chance more than words do."""

PASSAGES = 0.5
"""What of that it counts among the passages of one archive: each is many lines, of which a vector tells less than
words do (docs/benchmarks.md)."""

CLOSENESS_PER_COVERAGE, CLOSENESS_USUAL_MAX = 4.0, 3.0
"""A memory with a coverage of a half is usually two standard deviations close."""
COVERAGE_PER_CLOSENESS = 0.05

NEIGHBOUR = 0.35
"""The part of its neighbours' scores that a turn earns besides its own."""
DIALOGUE_MESSAGES_A_PAGE = 1.25
"""Where a conversation has hardly more messages than pages nobody answers: a list, and its neighbours are strangers."""

COMMON = 0.3
"""How much of what all of an owner's vectors have in common is left out: it tells nothing apart."""
FEW = 10
"""The owner's vectors are trusted to show their spread as much as the usual one when there are so many of them."""
USUAL_MEAN, USUAL_DEVIATION = 0.3, 0.1
"""Of the cosines of unrelated texts. Those of the E5 family lie closer together."""
E5_MEAN, E5_DEVIATION = 0.79, 0.02

HALF, SLOPE = 6.0, 1.5
FOUND_MIN = 0.05
"""Relevance from which on a memory without a word of the query counts as found."""

KNOWN = 8.0
"""What it counts that all of a query's information is known, in English."""
ANSWERED, MANY = 7.0, 100
"""Confidence from which on a query is answered, where there are so many memories."""
ANSWERED_FEW = 1.4
"""The same where there are hardly any: of few memories none is close by chance. In Chinese it is more, by the square of
what closeness counts, for Chinese texts lie closer together."""
LONG_TERMS, LONG_PART = 25, 0.7
"""Terms from which on a query is long, of which nothing can carry or know much, and the part of the confidence that it
needs."""
ELSEWHERE_PART = 0.55
"""The part of that confidence that a passage of another conversation must score. Of the one that asks, a score over 0
will do: more than what chance gives."""


@dataclass(frozen=True, slots=True)
class Scored:
    """What relevance is judged by: one passage that a query found."""

    score: float
    own: float
    """Its score without the neighbours' part."""
    coverage: float
    is_elsewhere: bool
    """Whether it is of another conversation than the one that asks."""


def needed(memories: int, weight: float, terms: int) -> float:
    """The confidence from which on a query is answered.

    ``memories``: how many the owner has, or at least so many. ``weight``: see ``meaning``. ``terms``: of the query.
    """
    few = ANSWERED_FEW * weight * weight
    found = few + (ANSWERED - few) * min(1.0, memories / MANY)
    return found * LONG_PART if terms >= LONG_TERMS else found


def confidence(found: Sequence[Scored], known: float, weight: float) -> float:
    """How sure it is that some of the passages answer a query; minus infinity where there are none.

    ``known``: the part of the query's information that the owner's newest memories know; a passage's own coverage
    counts where that is more.
    """
    if not found:
        return float("-inf")
    known = min(1.0, max(known, *(one.coverage for one in found)))
    return max(one.own for one in found) + KNOWN * weight * known


def is_worth_it(one: Scored, least: float) -> bool:
    """Whether a passage of an answered query is worth its tokens. ``least``: the confidence that was needed."""
    return one.score > (ELSEWHERE_PART * least if one.is_elsewhere else 0.0)


def meaning(han: int, latin: int) -> float:
    """What closeness counts for a query of so many ideographs and Latin words."""
    chinese = han / 1.6
    words = chinese + latin
    return MEANING_ENGLISH + (MEANING_CHINESE - MEANING_ENGLISH) * (chinese / words if words else 0.0)


def spread(model: str) -> tuple[float, float]:
    """Mean and standard deviation of the cosines of unrelated texts, as far as a model's name tells."""
    return (E5_MEAN, E5_DEVIATION) if "e5" in model.lower() else (USUAL_MEAN, USUAL_DEVIATION)


def relevance(score: float) -> float:
    """A score on a scale from 0 to 1: a half at HALF, where about every second memory is one that was meant."""
    return 1 / (1 + exp(min((HALF - score) / SLOPE, 700.0)))


def score_of(relevant: float) -> float:
    """The inverse of ``relevance``; of 0 and less, minus infinity."""
    if relevant <= 0:
        return float("-inf")
    return HALF - SLOPE * log(1 / relevant - 1) if relevant < 1 else float("inf")
