"""Find standing notes: what a user says once and expects to hold from then on.

Precision comes first, because a wrong note is in every window from then on. A sentence must use one of a few wordings,
and lookalikes ("never mind", "I always wondered", "call me back") are ruled out first. Pasted or quoted text is
ignored. The patterns are in ``notes.txt``.
"""

import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from app.extractive.blocks import take_apart
from app.extractive.patterns import strip_lead
from app.text.language import clip, language, squeeze, window
from app.text.word_lists import patterns_of

_MAX_SENTENCE = 300
_NOTE_CHARS = 200
NOTES_MAX = 20
"""Notes of one message."""

_PARTS = ("languages", "languages_han", "orders", "orders_han")
_PATTERNS = patterns_of(Path(__file__).with_name("notes.txt"), _PARTS)
LANGUAGES, LANGUAGES_HAN, ORDERS = _PATTERNS["languages"], _PATTERNS["languages_han"], _PATTERNS["orders"]
_IS = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in _PATTERNS.items()}
_ENGLISH = [
    (frozenset(name.removeprefix("english: ").split()), pattern)
    for name, pattern in _IS.items()
    if name.startswith("english: ")
]
"""Wordings, each with words; it can match only a text that has one of them."""
_LETTERS = re.compile("[a-z]+")


def standing_notes(text: str) -> list[str]:
    """Return the sentences of a user's message that hold for good, each at most 200 characters."""
    return notes_in(take_apart(window(text)).prose)


def notes_in(prose: Sequence[str]) -> list[str]:
    """Return the standing notes among the sentences of a message; see ``standing_notes``."""
    if any(_IS["role_play"].search(sentence) for sentence in prose):
        return []
    squeezed = (squeeze(sentence) for sentence in prose)
    found = (one for one in squeezed if 4 <= len(one) <= _MAX_SENTENCE and _holds_for_good(one))
    return list(dict.fromkeys(clip(strip_lead(one), _NOTE_CHARS) for one in islice(found, NOTES_MAX)))


def _holds_for_good(sentence: str) -> bool:
    if language(sentence) == "zh":
        return _holds_for_good_in_chinese(sentence)
    holds = _holds_for_good_in_english(sentence)
    return holds and _IS["not_standing"].search(sentence) is None and _IS["narrated"].search(sentence) is None


def _holds_for_good_in_chinese(sentence: str) -> bool:
    if sentence.endswith(("?", "？")) or _IS["han_asks"].search(sentence) or _IS["not_standing"].search(sentence):
        return False
    if _IS["told_han"].search(sentence) or _IS["narrated"].search(sentence):
        return False
    return _IS["chinese"].search(sentence) is not None


def _holds_for_good_in_english(sentence: str) -> bool:
    if _IS["task"].match(sentence) is not None:
        return False
    words = set(_LETTERS.findall(sentence.lower()))
    if not any(pattern.search(sentence) for needed, pattern in _ENGLISH if not needed.isdisjoint(words)):
        return False
    if _IS["once"].search(sentence):
        return False
    if sentence.endswith(("?", "？")):
        return False
    return _IS["told"].search(sentence) is None or _IS["order"].match(sentence) is not None
