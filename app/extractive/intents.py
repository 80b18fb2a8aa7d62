"""Read from its vector what a message does: ask for something said before, say what is to be kept, take it back.

The heads are made by ``python -m bench.people.intents`` from sentences, for one model. Vectors of others tell nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class LinearHead:
    """A plane between the vectors of messages that have an intent and those of the others."""

    weights: tuple[float, ...]
    bias: float

    def score(self, vector: Sequence[float]) -> float:
        return self.bias + sum(one * other for one, other in zip(self.weights, vector, strict=True))

    def probability(self, vector: Sequence[float]) -> float:
        return 1 / (1 + exp(-max(-700.0, min(700.0, self.score(vector)))))


def _head(value: Mapping[str, Any]) -> LinearHead:
    return LinearHead(tuple(value["weights"]), value["bias"])


_FILE = json.loads(Path(__file__).with_name("intents.json").read_text("utf-8"))
MODEL: str = _FILE["model"]
"""The embedding model whose vectors the heads know."""
ASKS, ENDS = _head(_FILE["asks"]), _head(_FILE["ends"])
_KINDS = {kind: _head(value) for kind, value in _FILE["kinds"].items()}


def kinds(vector: Sequence[float]) -> dict[str, float]:
    """Return how likely a message is of each kind: `lasting`, `need`, `bounded` to its task, and what is not kept."""
    scores = {kind: head.score(vector) for kind, head in _KINDS.items()}
    highest = max(scores.values())
    raised = {kind: exp(score - highest) for kind, score in scores.items()}
    return {kind: one / sum(raised.values()) for kind, one in raised.items()}
