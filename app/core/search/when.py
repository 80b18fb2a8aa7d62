"""Expressions of days in a text, in English and Chinese: 「三个月前」, "last Tuesday", "the week before 9 June 2023".

Each becomes the days it names, as seen from the day on which it is said. An expression that names no existing day, such
as 30 February, names nothing. Times of a day are left out: a message's time is known in UTC, its sender's is not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

from app.core.search import when_chinese, when_english
from app.core.search.spans import Rule, Span

CHARACTERS_MAX = 2_000
"""Of a longer text, only the end is read: there a question stands."""
SPANS_MAX = 5

_HAN = re.compile("[一-鿿]")


def days_named(text: str, today: date) -> tuple[Span, ...]:
    """Return the days that a text names, in the order of the text; SPANS_MAX at most."""
    text = text[-CHARACTERS_MAX:].casefold().replace("\u2019", "'")
    found = _spans_of([_moved_english(text, one) for one in _matches(text, when_english.RULES, today)])
    if _HAN.search(text):
        text = when_chinese.plain(text)
        found += _spans_of([_moved_chinese(text, one) for one in _matches(text, when_chinese.RULES, today)])
    return tuple(dict.fromkeys(found))[:SPANS_MAX]


class _Expression(NamedTuple):
    """An expression of time: its place with what moves it, and the days that it names; None: none that exist."""

    start: int
    end: int
    span: Span | None
    is_moved: bool = False


def _matches(text: str, rules: Sequence[Rule], today: date) -> list[_Expression]:
    found = []
    for pattern, make in rules:
        for match in pattern.finditer(text):
            found.append(_Expression(match.start(), match.end(), make(match, today)))
            text = text[: match.start()] + "\0" * len(match[0]) + text[match.end() :]
    return sorted(found, key=lambda one: one.start)


def _moved_english(text: str, one: _Expression) -> _Expression:
    words = when_english.SHIFTERS.search(text[: one.start])
    if words is None or one.span is None:
        return one
    return _Expression(words.start(), one.end, when_english.shifted(one.span, words), is_moved=True)


def _moved_chinese(text: str, one: _Expression) -> _Expression:
    words = when_chinese.SHIFTERS.match(text[one.end :])
    if words is None or one.span is None:
        return one
    return _Expression(one.start, one.end + words.end(), when_chinese.shifted(one.span, words), is_moved=True)


def _spans_of(found: Sequence[_Expression]) -> list[Span]:
    """Return what the expressions name, without those that are part of another's words."""
    moved = [one for one in found if one.is_moved]
    return [
        one.span for one in found if one.span and not any(m is not one and m.start <= one.start < m.end for m in moved)
    ]
