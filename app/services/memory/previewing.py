"""Preview a passage by the sentence that best answers a query."""

from __future__ import annotations

import re
from collections import Counter
from math import log

from app.extractive.patterns import specifics
from app.text import bm25
from app.text.language import fold_each

PREVIEW_CHARACTERS = 200
_ROOM = PREVIEW_CHARACTERS - 6
"""Without the marks."""
VALUE = 0.3
"""What a name or a figure is worth beside words: an answer has one, and shares no word with many a question."""
_SENTENCE = re.compile(r"[^\s。！？][^\n。！？.!?]*(?:[.!?](?!\s)[^\n。！？.!?]*)*[。！？.!?]*")


def preview(text: str, query: str) -> str:
    """Return up to 200 characters about the query, with its longest word marked ``**so**``."""
    first, last = _most_telling(text, query) if len(text) > _ROOM else (0, len(text))
    at, length = _first_match(text[first:last], query)
    at += first
    start = first if last - first <= _ROOM else max(first, at - PREVIEW_CHARACTERS // 3)
    start = max(0, min(start, len(text) - _ROOM))
    shown = text[start : start + _ROOM]
    at -= start
    if length and at + length <= len(shown):
        shown = f"{shown[:at]}**{shown[at : at + length]}**{shown[at + length :]}"
    return ("…" if start else "") + " ".join(shown.split()) + ("…" if start + _ROOM < len(text) else "")


def _most_telling(text: str, query: str) -> tuple[int, int]:
    """Return the place of the sentence with the most words of a query (rare ones count more), names and figures."""
    folded, wanted = fold_each(text), set(bm25.terms(query)) - bm25.STOP_WORDS
    sentences = [match.span() for match in _SENTENCE.finditer(folded)]
    found = [{term for term in wanted if folded.find(term, *span) >= 0} for span in sentences]
    holders = Counter(term for terms in found for term in terms)
    worths = [
        sum(log(1 + len(sentences) / holders[term]) for term in sorted(terms)) + VALUE * specifics(text[first:last])
        for (first, last), terms in zip(sentences, found, strict=True)
    ]
    return sentences[worths.index(max(worths))] if wanted and any(worths) else (0, len(text))


def _first_match(text: str, query: str) -> tuple[int, int]:
    """Return place and length of the first occurrence of the longest query word in the text; (0, 0) if none occurs.

    A word matches in any of its forms: not "steak" for "tea", but "longjing" for its term, which is cut short, and
    "User" within "getUserName". A Chinese match extends over the word pairs that follow it.
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
        for match in re.finditer(rf"{re.escape(word)}[^\W_]*", folded):
            begin = next(i for i in range(match.start(), -1, -1) if not i or not folded[i - 1].isalnum())
            if word in bm25.terms(text[begin : match.end()]):
                return match.start(), len(match[0]) if begin == match.start() else len(word)
    return 0, 0
