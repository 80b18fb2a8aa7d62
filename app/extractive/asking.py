"""Tell from its words whether a message asks for something that was said before.

Without a vector (``intents``) the small words that such questions share have to tell, and how they follow each other:
what a message is about says nothing here. ``python -m bench.people.asking`` makes the weights from sentences.
"""

from __future__ import annotations

import json
import re
from itertools import pairwise
from math import exp
from pathlib import Path

from app.text.language import HAN, fold

SIGNS_CHARACTERS = 2_000
"""Of a text that is read. Whatever is longer was pasted."""
WORDS_MIN = 0.3
"""The probability from which words ask: 86 % of held-out questions do, and 21 % of other messages."""
SIZE_MAX = 6
"""Longer than 64 words: texts of any such length ask as rarely."""
_SIGN = re.compile(rf"[a-z]+(?:'[a-z]+)?|[{HAN}]|[?!]|\d+|```|\n")
_HEAD = json.loads(Path(__file__).with_name("asking.json").read_text("utf-8"))
_BIAS, _WEIGHTS = _HEAD.pop(""), _HEAD


def may_ask(text: str) -> bool:
    return 1 / (1 + exp(-_BIAS - sum(_WEIGHTS.get(sign, 0.0) for sign in signs(text)))) >= WORDS_MIN


def signs(text: str) -> set[str]:
    """Return the words of a text, its pairs of neighbours, how it begins and ends, and how long it is."""
    folded = fold(text[:SIGNS_CHARACTERS]).replace("\u2019", "'")
    said = ["#" if word[0].isdecimal() else word for word in _SIGN.findall(folded)]
    pairs = (f"{one} {other}" for one, other in pairwise(said))
    size = min(SIZE_MAX, len(said).bit_length())
    return {*said, *pairs, f"^ {' '.join(said[:2])}", f"$ {' '.join(said[-1:])}", f"size {size}"}
