"""Judge by the probabilities that linear heads read from a message's vector what becomes of its sentences.

Each kind of memory has two thresholds: one to hold at once, and a lower one to be proposed. Those of a need are lower,
because missing an allergy costs more than showing one. They were chosen on one half of the sentences and on ordinary
talks, and hold on the other half (``python -m bench.people.intents`` reports both) and on talks of another kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["carry", "propose"]
Likely = Mapping[str, float]
"""Two probabilities: `keeps`, that a sentence should be remembered, and `need`, that it states a person's need."""


@dataclass(frozen=True, slots=True)
class Bars:
    carry: float
    propose: float

    def verdict(self, probability: float) -> Verdict | None:
        if probability >= self.carry:
            return "carry"
        return "propose" if probability >= self.propose else None


ENDS, ENDS_CLOSE = Bars(0.5, 0.15), Bars(0.4, 0.15)
"""Thresholds of the probability that a message takes something back, and of its closeness to a memory: both must be
reached. In 54 of 62 cases that no head had seen, the nearest memory was the one that was meant."""
TOLD = 0.6
"""The probability given to a message that asks in words to forget something."""
MAY_KEEP = 0.03
"""If a whole message is less likely to hold a wish than this, its sentences are not judged. Of 145 wishes and needs
among neutral sentences none was lost so, and half of all other messages are skipped."""
KEEPS = {"lasting": Bars(0.82, 0.44), "need": Bars(0.7, 0.34)}


def kind_of(likely: Likely) -> str:
    """Return whether a sentence is more likely a need or a lasting wish."""
    return "need" if likely["need"] > likely["keeps"] / 2 else "lasting"


def certainty(likely: Likely) -> float:
    """Return the probability that a sentence should be remembered."""
    return max(likely.values()) if kind_of(likely) == "need" else likely["keeps"]


def among(likely: Likely, count: int) -> Likely:
    """Divide a sentence's odds by the ``count`` of sentences judged, each of which can look like a wish by chance."""
    return {name: p / (p + (1 - p) * count) for name, p in likely.items()}


def ending(probability: float, closeness: float) -> Verdict | None:
    """Return whether a message ends its nearest memory. ``closeness`` is the cosine of their vectors."""
    verdicts = {ENDS.verdict(probability), ENDS_CLOSE.verdict(closeness)}
    if None in verdicts:
        return None
    return "carry" if verdicts == {"carry"} else "propose"


def judgement(likely: Likely) -> Verdict | None:
    """Return whether to carry or to propose a sentence as a memory; None if neither."""
    return KEEPS[kind_of(likely)].verdict(certainty(likely))
