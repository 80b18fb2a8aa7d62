"""Judge what a message is by the probabilities that heads read from its vector.

Each kind of memory has two bars: certain enough to hold at once, and likely enough to be proposed. A need's are lower,
since missing an allergy costs more than showing one. The bars were chosen on one half of the sentences and on ordinary
talks, and hold on the other half (``python -m bench.people.intents`` reports both) and on talks of another kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["carry", "propose"]
Likely = Mapping[str, float]
"""The probability that something is to be kept, `keeps`, and that it is a need of somebody's, `need`."""


@dataclass(frozen=True, slots=True)
class Bars:
    carry: float
    propose: float

    def verdict(self, probability: float) -> Verdict | None:
        if probability >= self.carry:
            return "carry"
        return "propose" if probability >= self.propose else None


ENDS, ENDS_CLOSE = Bars(0.5, 0.15), Bars(0.4, 0.15)
"""Of a message that takes something back, and of its closeness to what it can mean: both must be reached. What was
meant is the nearest memory in 54 of 62 cases that no head had seen."""
TOLD = 0.6
"""The probability of a message that says in words that something is to be forgotten."""
MAY_KEEP = 0.03
"""The probability of a whole message below which none of its sentences is read: of 145 wishes and needs among neutral
sentences none was lost, and of other messages half are not read."""
KEEPS = {"lasting": Bars(0.82, 0.44), "need": Bars(0.7, 0.34)}


def kind_of(likely: Likely) -> str:
    """Return which of both a sentence rather is: a need, or a lasting wish."""
    return "need" if likely["need"] > likely["keeps"] / 2 else "lasting"


def certainty(likely: Likely) -> float:
    """Return how certain it is that a sentence is to be kept."""
    return max(likely.values()) if kind_of(likely) == "need" else likely["keeps"]


def among(likely: Likely, count: int) -> Likely:
    """Return what a sentence is likely to be as one of ``count``, which share the odds to look like a wish."""
    return {name: one / (one + (1 - one) * count) for name, one in likely.items()}


def ending(probability: float, closeness: float) -> Verdict | None:
    """Return whether a message ends the memory that is nearest to it, by the cosine of their vectors."""
    verdicts = {ENDS.verdict(probability), ENDS_CLOSE.verdict(closeness)}
    if None in verdicts:
        return None
    return "carry" if verdicts == {"carry"} else "propose"


def judgement(likely: Likely) -> Verdict | None:
    """Return what becomes of a sentence; None: nothing."""
    return KEEPS[kind_of(likely)].verdict(certainty(likely))
