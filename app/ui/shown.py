"""Make text from users, tools and models safe to display."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from app.text import bm25
from app.text.language import fold_each

_PICTURES = {code: chr(0x2400 + code) for code in range(1, 32) if chr(code) not in "\t\n\r"}
"""Control characters have no place in HTML; each has a picture."""
_UNSEEN = "\u00ad\u200b\u2060\u2061\u2062\u2063\u2064\ufeff\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""Invisible characters, and those that reverse the direction of what follows."""
_NUMBERS = {ord(c): f"‹U+{ord(c):04X}›" for c in _UNSEEN}
_SHOWN: dict[int, str] = {0: "\ufffd", 0x7F: "\u2421", **_PICTURES, **_NUMBERS}
_TAGS = re.compile("[\U000e0000-\U000e007f]+")
"""Copies of ASCII that nothing displays and models read."""


def shown(text: str) -> str:
    """Replace NUL by U+FFFD, other control characters by their pictures, and invisible characters by their code points.

    So no text can reverse its line, or tell a model something that it does not show to people.
    """
    return _TAGS.sub(_spelled_out, text).translate(_SHOWN)


def _spelled_out(match: re.Match[str]) -> str:
    plain = "".join(chr(ord(c) - 0xE0000) for c in match[0])
    return f"‹tags: {plain}›"


@dataclass(frozen=True, slots=True)
class Clipped:
    text: str
    left_out: int
    """Characters."""
    hidden: tuple[str, ...] = ()
    """The invisible characters: name and count of each."""


def clip(text: str, longest: int) -> Clipped:
    beginning = text[:longest]
    return Clipped(shown(beginning), len(text) - len(beginning), hidden(beginning))


def first_line(text: str, longest: int = 140) -> str:
    line = " ".join(shown(text[: longest * 4]).split())
    return line if len(line) <= longest and len(text) <= longest * 4 else f"{line[:longest]}…"


def hidden(text: str) -> tuple[str, ...]:
    """List the invisible characters of a text, each with name and count."""
    if text.isascii():
        return ()
    counts = Counter(c for c in text if c in _UNSEEN)
    tags = sum(len(run) for run in _TAGS.findall(text))
    names = [f"U+{ord(c):04X} {unicodedata.name(c, '').lower()} × {count}" for c, count in sorted(counts.items())]
    return (*names, f"U+E0000–E007F tag characters × {tags}") if tags else tuple(names)


@dataclass(frozen=True, slots=True)
class Piece:
    text: str
    is_match: bool


def marked(preview: str, words: AbstractSet[str]) -> list[Piece]:
    """Split a search preview at its ``**match**``; asterisks that a user wrote are plain text."""
    for match in _MATCH.finditer(preview):
        if fold_each(match[1]) in words or words >= set(bm25.terms(match[1])):
            before, after = preview[: match.start()], preview[match.end(1) + 2 :]
            return [Piece(before, is_match=False), Piece(match[1], is_match=True), Piece(after, is_match=False)]
    return [Piece(preview, is_match=False)]


_MATCH = re.compile(r"\*\*(?=(.+?)\*\*)")
