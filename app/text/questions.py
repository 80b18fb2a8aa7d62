"""Decide whether a text asks."""

import re

_MARKS = frozenset("?？")
_ENDS = _MARKS | frozenset("吗呢")
_BEGINS = re.compile(r"\W*(?:who|what|when|where|which|why|how|do|does|did|is|are|can)\b", re.IGNORECASE)


def asks(text: str) -> bool:
    last = next((char for char in reversed(text) if char in _MARKS or char.isalnum() or char == "_"), "")
    return last in _ENDS or _BEGINS.match(text) is not None
