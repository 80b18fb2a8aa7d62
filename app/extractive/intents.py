"""Read from its vector whether a message asks for something that was said before.

The head is made by ``python -m bench.people.intents`` from sentences, for one model. Vectors of others tell nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp
from pathlib import Path


@dataclass(frozen=True, slots=True)
class LinearHead:
    """A plane between the vectors of messages that have an intent and those of the others."""

    weights: tuple[float, ...]
    bias: float

    def probability(self, vector: Sequence[float]) -> float:
        distance = self.bias + sum(one * other for one, other in zip(self.weights, vector, strict=True))
        return 1 / (1 + exp(-max(-700.0, min(700.0, distance))))


_FILE = json.loads(Path(__file__).with_name("intents.json").read_text("utf-8"))
MODEL: str = _FILE["model"]
"""The embedding model whose vectors the heads know."""
ASKS = LinearHead(tuple(_FILE["asks"]["weights"]), _FILE["asks"]["bias"])
