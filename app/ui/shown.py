"""Text of users, tools and models as a page can show it."""

from __future__ import annotations

import unicodedata
from collections import Counter
from dataclasses import dataclass

_PICTURES = {code: chr(0x2400 + code) for code in range(1, 32) if chr(code) not in "\t\n\r"}
"""Control characters have no place in HTML; each has a picture."""
_SHOWN = str.maketrans({0: "\ufffd", 0x7F: "\u2421", **_PICTURES})

_HIDDEN = frozenset("\u00ad\u200b\u2060\u2061\u2062\u2063\u2064\ufeff\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_TAGS = range(0xE0000, 0xE0080)
"""Copies of ASCII that nothing displays and models read."""


def shown(text: str) -> str:
    """NUL as U+FFFD, other control characters as their pictures."""
    return text.translate(_SHOWN)


@dataclass(frozen=True, slots=True)
class Clipped:
    text: str
    left_out: int
    """Characters."""


def clip(text: str, longest: int) -> Clipped:
    """The beginning of a text; the rest is counted."""
    return Clipped(shown(text[:longest]), max(0, len(text) - longest))


def first_line(text: str, longest: int = 140) -> str:
    """A text in a line."""
    line = " ".join(shown(text[: longest * 4]).split())
    return line if len(line) <= longest and len(text) <= longest * 4 else f"{line[:longest]}…"


def hidden(text: str) -> list[str]:
    """Characters that nobody sees and a model reads, or that turn the direction of a line: each with its number."""
    found = Counter("tags" if ord(c) in _TAGS else c for c in text if c in _HIDDEN or ord(c) in _TAGS)
    return [f"{_name(c)} × {count}" for c, count in sorted(found.items())]


def _name(character: str) -> str:
    if character == "tags":
        return "U+E0000–E007F tag characters"
    return f"U+{ord(character):04X} {unicodedata.name(character, '').lower()}".strip()
