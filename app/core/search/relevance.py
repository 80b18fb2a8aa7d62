"""Relevance: shared words and closeness in meaning, on one scale.

Two things are known of a memory. Its *coverage* is the part of the query's information (the sum of its terms' inverse
document frequencies, with BM25's saturation) that its words carry. Its *closeness* is how many standard deviations its
vector is nearer to the query's than those of the owner's other memories: raw cosines mean nothing by themselves, since
matching pairs of one model score like unrelated pairs of another. The score is

    words * shared * coverage + MEANING * closeness

Coverage does not grow with the number of memories. It falls if the query is a long text, such as a dialogue, because
no memory can carry much of it; but then chance carries less of it as well. So ``words`` is WORDS, or more if the
coverage expected by chance (of equally common, independent terms) is lower than usual: two rare words of a long text
tell more than its length suggests. ``shared`` is 1 where a memory has enough of the query's words, and falls to 0 where
none has any: who asks in other words than the fact was told in would otherwise find what has these by chance. An
unknown part, because there is no vector yet, because the mode does not ask for it, or because a memory has none of the
words and may say the same in others, or in another language, is replaced by what usually goes with the other part
(measured on dialogues). So a score means the same in every mode, and no memory is penalised for what it lacks.

A turn of a dialogue earns a part of its neighbours' scores. An answer is found by its question, and the question does
not need the answer; what was merely told before says nothing of it. Short questions only ask; the longer a message
that asks, the more it tells, and counts as a statement to that extent, so that a long reply which repeats the words of
a message does not outrank it. Then a turn that matches by itself is drawn to the
best of the turns around: several matches in one place are no chance. What was said by a speaker whom the query names,
or in days that it names, scores more; whatever else was said can still be found.

Each result is judged by itself. The score of a question in other words tells nothing apart from that of a message about
something else: among many memories one is always closest. So how likely a query asks for something that was said before
is read from its own vector (``app.extractive.intents``); the likelier, the less is needed of what it finds. Of what
answers, results far below the best fall out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from math import exp, log

from app.core.search.spans import Span

WORDS = 10.0
"""The weight of a coverage of 1, at least."""
CHANCE = 0.3
"""The weight of a standard deviation of the coverage by chance, if that is more."""
MEANING = 1.0
"""The weight of a standard deviation."""
SHARED_WORDS = 3.5
"""The score by words of the best memory from which they count in full; below it their weight falls by the cube."""
LONG_TERMS = 25
"""Terms of a query from which it is long, and no memory can have enough of its words."""

PASSAGES = 0.5
"""Factor for the passages of one archive: each has many lines, and a vector tells less about these than words do
(bench/results/README.md).
"""

CLOSENESS_PER_COVERAGE, CLOSENESS_USUAL_MAX = 4.0, 3.0
"""A memory with a coverage of a half is usually two standard deviations close."""
COVERAGE_PER_CLOSENESS = 0.05

NEIGHBOUR = 0.35
"""A turn's part of the score of the turn before, as far as that asks, and of the next, as far as it does not ask."""
NEXT_BUT_ONE = 0.1
"""The same of the turns beyond these: the last thing that the speaker said, and the next."""
AROUND, AROUND_TURNS = 0.25, 12
"""The part of the way that a turn is drawn to the best of so many turns before and after it."""
DIALOGUE_MESSAGES_A_PAGE = 1.25
"""A conversation with hardly more messages than pages is a list without answers, and neighbours in it are unrelated."""

ONLY_ASKS_LESS = 3.0
"""What a message scores less that asks and tells nothing; twice as much if it is close by meaning alone, as a question
is to itself in other words.
"""
ASSISTANTS_LESS = 1.0
"""What an assistant's reply scores less: it repeats the words of what a person said, which is mostly asked for."""
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
"""Cosines of unrelated texts. Those of the E5 family are closer together, unless their mean is taken from them."""
E5_MEAN, E5_DEVIATION = 0.79, 0.02
CENTRED_MEAN, CENTRED_DEVIATION = 0.0, 0.08

HALF, SLOPE = 6.0, 1.5
FOUND_MIN = 0.05
"""Relevance from which on a memory without a word of the query counts as found."""

ASKS_MIN, ASKS_SURELY = 0.5, 0.95
"""The probability from which a text asks, and that of one which says so. Of questions about other topics 9 % ask in
either language, of LoCoMo's 80 %, of the shipped talks' 90 and 81 %; from .55 on 7, 4, 75, 88 and 79 %.
"""
MAY_ASK_MIN = 0.3
"""The probability from which a lone question is searched for unasked: the words of what is found then have to tell.
From .25 on agents' messages cost a fifth more searches.
"""
NEEDED, PER_ODDS, NEEDED_MIN = 3.0, 1.5, 0.0
"""The score from which a result answers a query that asks or does not, with equal odds; how much less is needed with
each unit of their logarithm; and what is needed at least.

Chosen on even rows: facts, LoCoMo, shipped and long talks, and their keywords, beside messages off topic over each.
"""
TELLING_COVERAGE = 0.3
"""The coverage from which words tell: what probably does not ask is answered by these alone, and where nobody knows
whether it asks they are enough.
"""
APART = SLOPE * log(20)
"""How far below the best a result falls out: at a twentieth of its odds."""


@dataclass(frozen=True, slots=True)
class Favoured:
    """A time whose passages score more, excluding ``until``."""

    since: datetime
    until: datetime
    weight: float


def favoured(named: Iterable[Span], zone: tzinfo = UTC) -> tuple[Favoured, ...]:
    """Return the times whose passages score more because a query names these days: the days and the ones after.

    ``zone``: the days' time zone.
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


def needed(asks: float | None) -> float:
    """Return the score from which a result answers a query with this probability of asking; None: it is unknown."""
    return NEEDED if asks is None else NEEDED - PER_ODDS * log(max(asks, 1e-9) / max(1 - asks, 1e-9))


def answers(score: float, coverage: float, asks: float | None) -> bool:
    """Return whether a passage answers a query with this probability of asking for something said before."""
    if asks is None:
        return score >= HALF or coverage >= TELLING_COVERAGE
    is_told = asks >= ASKS_MIN or coverage >= TELLING_COVERAGE
    return is_told and score >= max(needed(asks), NEEDED_MIN)


def spread(model: str) -> tuple[float, float]:
    """Return mean and standard deviation of the cosines of unrelated texts, as known for a model's name."""
    if model.endswith("-centred"):
        return CENTRED_MEAN, CENTRED_DEVIATION
    return (E5_MEAN, E5_DEVIATION) if "e5" in model.lower() else (USUAL_MEAN, USUAL_DEVIATION)


def relevance(score: float) -> float:
    """Return a score on a scale from 0 to 1. It is a half at HALF, where about every second memory is relevant."""
    return 1 / (1 + exp(min((HALF - score) / SLOPE, 700.0)))


def score_of(relevant: float) -> float:
    """Return the inverse of ``relevance``; minus infinity for 0 and less."""
    if relevant <= 0:
        return float("-inf")
    return HALF - SLOPE * log(1 / relevant - 1) if relevant < 1 else float("inf")
