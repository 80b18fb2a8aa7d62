"""Preview a passage around the first word of a query that it contains."""

from __future__ import annotations

import re

from app.text import bm25
from app.text.language import fold_each

PREVIEW_CHARACTERS = 200


def preview(text: str, query: str) -> str:
    """Return up to 200 characters around the first match, which is marked ``**so**``."""
    at, length = _first_match(text, query)
    start = max(0, min(at - PREVIEW_CHARACTERS // 3, len(text) - PREVIEW_CHARACTERS + 6))
    shown = text[start : start + PREVIEW_CHARACTERS - 6]
    at -= start
    if length and at + length <= len(shown):
        shown = f"{shown[:at]}**{shown[at : at + length]}**{shown[at + length :]}"
    return (
        ("…" if start else "") + " ".join(shown.split()) + ("…" if start + PREVIEW_CHARACTERS - 6 < len(text) else "")
    )


def _first_match(text: str, query: str) -> tuple[int, int]:
    """Return place and length of the first occurrence of the query's longest word that occurs; (0, 0) if none does.

    A word matches in any of its forms; a Chinese match extends over the word pairs that follow it.
    """
    folded = fold_each(text)
    words = set(bm25.terms(query)) - bm25.STOP_WORDS
    for word in sorted(words, key=lambda word: (-len(word), folded.find(word))):
        at = folded.find(word)
        if at < 0:
            continue
        if not folded[at].isascii():
            end = at + len(word)
            while folded[end - 1 : end + 1] in words:
                end += 1
            return at, end - at
        if found := _whole_word(folded, word) or _part_of_word(text, folded, word):
            return found
    return 0, 0


def _whole_word(folded: str, term: str) -> tuple[int, int] | None:
    """Return the first word that has a term: not "steak" for "tea"; but "longjing" for its term, which is cut short."""
    for match in re.finditer(rf"(?<![^\W_]){re.escape(term)}[^\W_]*", folded):
        if term in bm25.terms(match[0]):
            return match.start(), len(match[0])
    return None


def _part_of_word(text: str, folded: str, term: str) -> tuple[int, int] | None:
    """Return a term within the first word that has it as a part: "User" of "getUserName", but not "eat" of "great"."""
    for match in re.finditer(r"[^\W_]+", text):
        at = folded.find(term, *match.span())
        if at >= 0 and term in bm25.terms(match[0]):
            return at, len(term)
    return None
