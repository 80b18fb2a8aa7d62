"""Read what a message does: ask for something said before, say what is to be kept, take it back.

A head looks at the message's vector, which says what it is about, and at its small words and their order, which say
how it is meant. Without a vector the words alone tell whether it asks. The heads are made by
``python -m bench.people.intents`` from sentences, for one model. Vectors of others tell nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, repeat
from math import exp
from pathlib import Path

from app.text.language import HAN, fold

SIGNS_CHARACTERS = 2_000
"""Of a text that is read. Whatever is longer was pasted."""
WORDS_MIN = 0.26
"""The probability from which words alone ask. Chosen on even rows to take a tenth of other messages; of odd ones 77 %
of questions ask and 8.7 % of others."""
SIZE_MAX = 6
"""Longer than 64 words: texts of any such length ask as rarely."""
_NUMBER = re.compile(r"\d+")
_SIGN = re.compile(rf"[a-z]+(?:'[a-z]+)?|[{HAN}]|[?!#]|```|\n")
"""``#`` stands for a number."""


def signs(text: str) -> set[str]:
    """Return the words of a text, its pairs of neighbours, how it begins and ends, and how long it is."""
    folded = fold(text[:SIGNS_CHARACTERS]).replace("\u2019", "'").replace("#", " ")
    said = _SIGN.findall(_NUMBER.sub("#", folded))
    pairs = map(" ".join, pairwise(said))
    size = min(SIZE_MAX, len(said).bit_length())
    return {*said, *pairs, f"^ {' '.join(said[:2])}", f"$ {' '.join(said[-1:])}", f"size {size}"}


@dataclass(frozen=True, slots=True)
class LinearHead:
    """A plane between the messages that have an intent and the others."""

    bias: float
    parts: tuple[float, ...]
    """The weights of the vector's parts; none of a head that sees words alone."""
    signs: Mapping[str, float]

    def probability(self, text: str, vector: Sequence[float] = ()) -> float:
        score = self.bias + sum(one * other for one, other in zip(self.parts, vector, strict=True))
        score += sum(map(self.signs.get, signs(text), repeat(0.0)))
        return 1 / (1 + exp(-max(-700.0, min(700.0, score))))


_FILE = json.loads(Path(__file__).with_name("intents.json").read_text("utf-8"))
MODEL: str = _FILE.pop("model")
"""The embedding model whose vectors the heads know."""
_HEADS = {name: LinearHead(one["bias"], tuple(one["parts"]), one["signs"]) for name, one in _FILE.items()}
ASKS, ENDS = _HEADS["asks"], _HEADS["ends"]
ASKS_BY_WORDS, KEEPS_BY_WORDS = _HEADS["asks by words"], _HEADS["keeps by words"]


def may_ask(text: str) -> bool:
    """Return whether a text asks for something earlier, by its words alone."""
    return ASKS_BY_WORDS.probability(text) >= WORDS_MIN


def likely(text: str, vector: Sequence[float]) -> dict[str, float]:
    """Return how likely a text says what is to be kept, and whether that is a need of somebody's."""
    return {name: _HEADS[name].probability(text, vector) for name in ("keeps", "need")}
