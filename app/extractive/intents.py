"""Detect the intent of a message: ask for something said before, state something to remember, or take it back.

A head reads the message's vector, which shows the subject, and its small words and their order, which show the
intention. Without a vector, the words alone decide whether it asks. ``python -m bench.people.intents`` trains the heads
from sentences for one embedding model; they cannot read the vectors of other models.
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
"""Characters of a text that are read. Longer texts were pasted."""
WORDS_MIN = 0.26
"""The least probability at which words alone count as asking, chosen so that a tenth of other messages in the even rows
pass. In the odd rows 77 % of questions and 8.7 % of other messages pass."""
SIZE_MAX = 6
"""The size class of texts with 32 words and more: all of them ask equally rarely."""
_NUMBER = re.compile(r"\d+")
_SIGN = re.compile(rf"[a-z]+(?:'[a-z]+)?|[{HAN}]|[?!#]|```|\n")
"""Matches a sign: a word, a Chinese character, or a mark. ``#`` replaces numbers."""


def signs(text: str) -> set[str]:
    """Return a text's words, pairs of neighbouring words, first and last words, and size class."""
    folded = fold(text[:SIGNS_CHARACTERS]).replace("\u2019", "'").replace("#", " ")
    said = _SIGN.findall(_NUMBER.sub("#", folded))
    pairs = map(" ".join, pairwise(said))
    size = min(SIZE_MAX, len(said).bit_length())
    return {*said, *pairs, f"^ {' '.join(said[:2])}", f"$ {' '.join(said[-1:])}", f"size {size}"}


@dataclass(frozen=True, slots=True)
class LinearHead:
    """A linear classifier of messages with an intent."""

    bias: float
    parts: tuple[float, ...]
    """The weights of the vector's components; empty if the head reads only words."""
    signs: Mapping[str, float]

    def probability(self, text: str, vector: Sequence[float] = ()) -> float:
        score = self.bias + sum(weight * part for weight, part in zip(self.parts, vector, strict=True))
        score += sum(map(self.signs.get, signs(text), repeat(0.0)))
        return 1 / (1 + exp(-max(-700.0, min(700.0, score))))


_FILE = json.loads(Path(__file__).with_name("intents.json").read_text("utf-8"))
MODEL: str = _FILE.pop("model")
"""The embedding model whose vectors the heads can read."""
_HEADS = {name: LinearHead(head["bias"], tuple(head["parts"]), head["signs"]) for name, head in _FILE.items()}
ASKS, ENDS = _HEADS["asks"], _HEADS["ends"]
ASKS_BY_WORDS, KEEPS_BY_WORDS = _HEADS["asks by words"], _HEADS["keeps by words"]


def may_ask(text: str) -> bool:
    """Return whether a text asks for something said earlier, judging by its words alone."""
    return ASKS_BY_WORDS.probability(text) >= WORDS_MIN


def likely(text: str, vector: Sequence[float]) -> dict[str, float]:
    """Return the probabilities that a text states something to remember, and that it states a person's need."""
    return {name: _HEADS[name].probability(text, vector) for name in ("keeps", "need")}
