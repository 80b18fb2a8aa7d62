"""Compare texts regardless of their characters' forms: composed, full-width or ligatures.

Texts are compared in normal form, which can differ in length, so each of its characters knows its stretch of the text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from unicodedata import is_normalized, normalize

_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff"
    "\u3099\u309a\ufe20-\ufe2f\uff9e\uff9f"
)
_CLUSTER = re.compile(f"[\u1100-\u11ff]+|.[{_MARKS}]*", re.DOTALL)
OTHER_FORMS = (
    "[\u0300-\u036f\u1100-\u11ff\u3099\u309a\ufb00-\ufb06\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\uff66-\uff9f]"
)
"""An expression for PostgreSQL: what stands in texts that have another form of letters or digits."""
_NUMBER = re.compile(r"\d{1,3}(?:[,'’ ]\d{3})+(?!\d)(?:\.\d+)?|\d{4,}(?:\.\d+)?")
_SEPARATOR = "[,.'’ ]?"


@dataclass(frozen=True, slots=True)
class Comparable:
    """A text in its normal form."""

    text: str
    starts: Sequence[int] | None = None
    """Where the stretch of each character begins in the text; None: the text is in its normal form."""
    ends: Sequence[int] | None = None

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the stretch of the original text for some characters."""
        if self.starts is None or self.ends is None or start >= end:
            return start, end
        return self.starts[start], self.ends[end - 1]


def comparable(text: str, form: Literal["NFC", "NFKC"] = "NFKC") -> Comparable:
    if text.isascii() or is_normalized(form, text):
        return Comparable(text)
    found, starts, ends = [], list[int](), list[int]()
    for cluster in _CLUSTER.finditer(text):
        piece = normalize(form, cluster[0])
        found.append(piece)
        starts += [cluster.start()] * len(piece)
        ends += [cluster.end()] * len(piece)
    return Comparable("".join(found), starts, ends)


def expression_of(literal: str) -> str:
    """Return a regular expression for a literal in normal form. Numbers match with any separators."""
    found, last = [], 0
    for number in _NUMBER.finditer(literal):
        whole, _, decimals = number[0].partition(".")
        groups = _SEPARATOR.join(groups_of(whole))
        found += [re.escape(literal[last : number.start()]), groups + (f"[.,]{decimals}" if decimals else "")]
        last = number.end()
    return "".join([*found, re.escape(literal[last:])])


def groups_of(number: str) -> list[str]:
    """Return the digits of a whole number in groups of three."""
    digits = re.sub(r"\D", "", number)
    first = len(digits) % 3
    return [*([digits[:first]] if first else []), *(digits[at : at + 3] for at in range(first, len(digits), 3))]


def pieces_of(literal: str) -> list[str]:
    """Return the parts of a literal that occur unchanged in every match, in order."""
    found, last = [], 0
    for number in _NUMBER.finditer(literal):
        whole, _, decimals = number[0].partition(".")
        groups = groups_of(whole)
        found += [literal[last : number.start()] + groups[0], *groups[1:], *([decimals] if decimals else [])]
        last = number.end()
    return [*found, literal[last:]]
