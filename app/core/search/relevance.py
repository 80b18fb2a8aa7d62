"""Relevance: shared words and closeness in meaning, on one scale.

Two things are known of a memory. Its *coverage* is the part of the query's information (the sum of its terms' inverse
document frequencies, with BM25's saturation) that its words carry. Its *closeness* is how many standard deviations its
vector is nearer to the query's than those of the owner's other memories: raw cosines mean nothing by themselves, since
matching pairs of one model score like unrelated pairs of another. The score is

    words * coverage + meaning * closeness

Coverage does not grow with the number of memories. It falls if the query is a long text, such as a dialogue, because
no memory can carry much of it; but then chance carries less of it as well. So ``words`` is WORDS, or more if the
coverage expected by chance (of equally common, independent terms) is lower than usual: two rare words of a long text
tell more than its length suggests. An unknown part, because there is no vector yet or because the mode does not ask
for it, is replaced by what usually goes with the other part (measured on dialogues). So a score means the same in
every mode, and no memory is penalised for a missing vector.

A turn of a dialogue earns a part of its neighbours' scores. An answer is found by its question, and the question does
not need the answer; what was merely told before says nothing of it. Short questions only ask; the longer a message
that asks, the more it tells, and counts as a statement to that extent, so that a long reply which repeats the words of
a message does not outrank it. Then a turn that matches by itself is drawn to the
best of the turns around: several matches in one place are no chance. What was said by a speaker whom the query names,
or in days that it names, scores more; whatever else was said can still be found.

How sure it is that a query is answered is judged before anything enters a window. The best score alone cannot tell:
among many memories one is always closest. The better sign is how much of the query's information the owner's memories
contain at all, in any message: "How many moons does Neptune have?" has words that nobody ever said there. So

    confidence = score of the best passage by itself + KNOWN * meaning * part of the query's information that is known

and ``recalled`` says how much of what was found is worth its tokens: nothing, the best passage, or the more the surer.
A search follows the same rule, but shows all that it found where a window shows any, because its caller asked for it,
and whatever is closest if its least relevance is 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from math import exp, inf, log
from typing import Protocol

from app.core.search.spans import Span

WORDS = 10.0
"""The weight of a coverage of 1, at least."""
CHANCE = 0.3
"""The weight of a standard deviation of the coverage by chance, if that is more."""
MEANING_ENGLISH, MEANING_CHINESE = 1.0, 1.5
"""The weight of a standard deviation. More in Chinese, where pairs of characters match by chance more than words do."""

PASSAGES = 0.5
"""Factor for the passages of one archive: each has many lines, and a vector tells less about these than words do
(bench/results/README.md).
"""

CLOSENESS_PER_COVERAGE, CLOSENESS_USUAL_MAX = 4.0, 3.0
"""A memory with a coverage of a half is usually two standard deviations close."""
COVERAGE_PER_CLOSENESS = 0.05

NEIGHBOUR = 0.35
"""The part that a turn earns of the score of the turn before, as far as that asks, and of the next, as far as it does
not ask itself.
"""
NEXT_BUT_ONE = 0.1
"""The same of the turns beyond these: the last thing that the speaker said, and the next."""
AROUND, AROUND_TURNS = 0.25, 12
"""The part of the way that a turn is drawn to the best of so many turns before and after it."""
DIALOGUE_MESSAGES_A_PAGE = 1.25
"""A conversation with hardly more messages than pages is a list without answers, and neighbours in it are unrelated."""

SPOKEN = 1.5
"""What a passage scores more if the query names its speaker. Much more would hide what others said of the matter."""
DATED = 3.0
"""What a passage scores more if it was said in days that the query names."""
AFTER_DAYS, AFTER_PART = 14, 0.5
"""For so many days after them it scores this part of that: people tell of what happened lately."""

COMMON = 0.3
"""The share of the mean of an owner's vectors to subtract: what they have in common distinguishes none."""
FEW = 10
"""The owner's vectors are trusted to show their spread as much as the usual one when there are so many of them."""
USUAL_MEAN, USUAL_DEVIATION = 0.3, 0.1
"""Cosines of unrelated texts. Those of the E5 family are closer together."""
E5_MEAN, E5_DEVIATION = 0.79, 0.02

HALF, SLOPE = 6.0, 1.5
FOUND_MIN = 0.05
"""Relevance from which on a memory without a word of the query counts as found."""

KNOWN = 8.0
"""The weight of knowing all of a query's information, in English."""
ANSWERED, MANY = 7.0, 100
"""The confidence from which a query counts as answered, with this many memories."""
VERY_MANY = 200
"""From so many memories on it rises with their logarithm, as the best of many chance matches does."""
ANSWERED_FEW = 1.4
"""The same with hardly any memories: few of them are close by chance. In Chinese it is higher, by the square of the
weight of closeness, because Chinese texts are closer together.
"""
UNKNOWN_FEW = 3.2
"""The same if nothing of the query is known, so that closeness alone speaks for it: one of three memories is always
close. It leaves 2.2 for the best passage, which is shown up to ``DOUBT`` below; "Summarize this PDF" comes to 1.5.
"""
LONG_TERMS, LONG_PART = 25, 0.7
"""The number of terms from which a query is long, so that no memory can carry or know much of it, and the factor for
the confidence it needs.
"""
DOUBT = 1.0
"""How much of the confidence may be missing for the best passage alone, in English; in Chinese more, as above."""
NAMED_DAYS_MAX = 31
"""Days of the longest stretch that a query asks for by naming it; "autumn" is more often a subject."""
ANSWERED_TOKENS, DOUBLED = 1_500, 2.0
"""Tokens that a query brings in which is just answered, and how often they double for each point of confidence more."""
ELSEWHERE_PART = 0.55
"""The share of that confidence that a passage of another conversation must score. A passage of the same conversation
needs a score over 0: more than chance.
"""


class Scored(Protocol):
    """A passage that a query found."""

    @property
    def own(self) -> float:
        """Return its score without the neighbours' part."""

    @property
    def coverage(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Favoured:
    """A time whose passages score more; ``until`` is not part of it."""

    since: datetime
    until: datetime
    weight: float


def favoured(named: Iterable[Span], zone: tzinfo = UTC) -> tuple[Favoured, ...]:
    """Return the times that count for more because a query names these days, and the days after them.

    ``zone``: where the days are.
    """
    times: list[Favoured] = []
    for one in named:
        since, until = _midnight(one.first, zone), _midnight(one.end, zone)
        times.append(Favoured(since, until, DATED))
        if one.end < date.max - timedelta(days=AFTER_DAYS):
            times.append(Favoured(until, until + timedelta(days=AFTER_DAYS), DATED * AFTER_PART))
    return tuple(times)


def _midnight(day: date, zone: tzinfo) -> datetime:
    midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
    in_range = date.min < day < date.max  # so that it can be told in UTC
    return midnight.replace(tzinfo=zone) if in_range else midnight


def known(passages: Sequence[Scored], known_part: float) -> float:
    """Return the part of a query's information that is known: to the owner's newest memories, or to a passage."""
    return min(1.0, max([known_part, *(one.coverage for one in passages)]))


def needed(memories: int, weight: float, terms: int, known_part: float) -> float:
    """Return the confidence from which on a query is answered.

    ``memories``: how many the owner has, or at least so many. ``weight``: see ``meaning``. ``terms``: of the query.
    ``known_part``: see ``known``.
    """
    few = (ANSWERED_FEW if known_part > 0 else UNKNOWN_FEW) * weight * weight
    confidence_needed = few + max(0.0, ANSWERED - few) * min(1.0, memories / MANY) + log(max(1.0, memories / VERY_MANY))
    return confidence_needed * LONG_PART if terms >= LONG_TERMS else confidence_needed


def confidence(passages: Sequence[Scored], known_part: float, weight: float) -> float:
    """Return how sure it is that some of the passages answer a query; minus infinity if there are none."""
    if not passages:
        return float("-inf")
    return max(one.own for one in passages) + KNOWN * weight * known_part


@dataclass(frozen=True, slots=True)
class Recalled:
    """The part of the found passages that is shown."""

    tokens: float
    passages: float = inf


NOTHING = Recalled(0, 0)


def asks_when(times: Iterable[Favoured]) -> bool:
    """Return whether a query names days, so that it asks for what was said then."""
    return any(one.weight == DATED and (one.until - one.since).days <= NAMED_DAYS_MAX for one in times)


def recalled(confident: float, least: float, weight: float, *, is_dated: bool = False) -> Recalled:
    """Return how much a window shows. ``least``: see ``needed``; ``is_dated``: see ``asks_when``."""
    margin = confident - least
    if is_dated and confident > float("-inf"):
        margin = max(0.0, margin)
    if margin < -DOUBT * weight * weight:
        return NOTHING
    if margin < 0:
        return Recalled(inf, 1)
    return Recalled(ANSWERED_TOKENS * 2 ** min(DOUBLED * margin, 100.0))


def judged(
    passages: Sequence[Scored], known_part: float, memories: int, weight: float, terms: int, *, is_dated: bool = False
) -> tuple[Recalled, float]:
    """Return how much of what a query found is shown, and the confidence that was needed.

    ``known_part``: of the owner's newest memories; ``memories``, ``weight`` and ``terms``: see ``needed``.
    """
    part = known(passages, known_part)
    least = needed(memories, weight, terms, part)
    return recalled(confidence(passages, part, weight), least, weight, is_dated=is_dated), least


def is_foreign(weight: float, other: float) -> bool:
    """Return whether two texts are in different languages, by their weights of closeness.

    Then they share no words, so how much is known of one in the other says nothing.
    """
    return abs(weight - other) > (MEANING_CHINESE - MEANING_ENGLISH) / 2


def is_worth_it(score: float, least: float, *, is_elsewhere: bool) -> bool:
    """Return whether a passage of an answered query is worth its tokens. ``least``: the confidence that was needed.

    ``is_elsewhere``: whether it is of another conversation than the one that asks.
    """
    return score > (ELSEWHERE_PART * least if is_elsewhere else 0.0)


def meaning(han: int, latin: int) -> float:
    """Return the weight of closeness for a query with so many ideographs and Latin words."""
    chinese = han / 1.6
    words = chinese + latin
    return MEANING_ENGLISH + (MEANING_CHINESE - MEANING_ENGLISH) * (chinese / words if words else 0.0)


def spread(model: str) -> tuple[float, float]:
    """Return mean and standard deviation of the cosines of unrelated texts, as far as a model's name indicates."""
    return (E5_MEAN, E5_DEVIATION) if "e5" in model.lower() else (USUAL_MEAN, USUAL_DEVIATION)


def relevance(score: float) -> float:
    """Return a score on a scale from 0 to 1: a half at HALF, where about every second memory is one that was meant."""
    return 1 / (1 + exp(min((HALF - score) / SLOPE, 700.0)))


def score_of(relevant: float) -> float:
    """Return the inverse of ``relevance``; of 0 and less, minus infinity."""
    if relevant <= 0:
        return float("-inf")
    return HALF - SLOPE * log(1 / relevant - 1) if relevant < 1 else float("inf")
