"""Reduce a text to its statement, a form that is equal for texts that state the same.

"Well, my favourite tea is really longjing!" and "Longjing is my favourite tea" have the same statement. Only words that
change no fact are dropped (openings, emphasis, articles), so texts that differ in a number, a name, a negation, a tense
or any other word stay different. Word overlap cannot tell: in a long text a single word hardly changes it.
"""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

from app.core.canonical import digest, remembered
from app.text.chinese_scripts import simplified
from app.text.language import HAN
from app.text.word_lists import patterns_of

STATEMENT_CHARACTERS = 300
"""A longer text is its own statement: facts are shorter, and reducing a text takes 0.6 microseconds a character."""
REMEMBERED = 10_000
"""The number of cached digests: from one turn to the next, a user's searches find much the same texts."""

_PATTERNS = patterns_of(Path(__file__).with_name("statements.txt"), ("opener",), {"HAN": HAN})
_CAPITALS, _MARKS, _LIGHT, _IS, _HAN_SPACE = (
    re.compile(_PATTERNS[name]) for name in ("capitals", "marks", "light", "is", "han space")
)
_OPENING = re.compile(_PATTERNS["opening"], re.IGNORECASE)
_SPELLINGS = {
    r"\bwon't\b": "will not",
    r"\bcan(?:no|')t\b": "can not",
    r"n't\b": " not",
    r"\bi'm\b": "i am",
    r"\bit's\b": "it is",
}


def statement(text: str) -> str:
    """Return the statement of a text. A question never equals an answer."""
    if len(text) > STATEMENT_CHARACTERS:
        return text.strip()
    said = simplified(unicodedata.normalize("NFKC", text)).replace("\u2019", "'")
    asks = "?" * said.count("?")
    said = _OPENING.sub("", " ".join(_MARKS.sub(" ", said).split()))
    said = _HAN_SPACE.sub("", " ".join(_LIGHT.sub(" ", _first_small(said)).split()))
    said = _CAPITALS.sub(lambda match: match[0].lower(), said)
    for written, spelling in _SPELLINGS.items():
        said = re.sub(written, spelling, said)
    halves = [half.strip() for half in _IS.split(said)]
    joined = " = ".join(sorted(halves) if len(halves) == 2 else halves)
    return joined + asks if any(halves) else text.strip()


@remembered(REMEMBERED)
def stated(text: str) -> bytes:
    """Return the digest of a text's statement."""
    return digest(statement(text))


def _first_small(text: str) -> str:
    first, space, rest = text.partition(" ")
    return (first.lower() if first[1:].islower() or first in "AI" else first) + space + rest
