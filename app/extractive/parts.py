"""Choose the parts of a long tool result that matter to a question, without a model.

The text is divided into stretches of a few lines. The score of a stretch is its BM25 score for the question, with word
weights from the text itself, plus bonuses for errors and values. The first and last stretches get a bonus too, because
they show what the result is and how it ended.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from math import log

from app.extractive.patterns import specifics
from app.text import bm25

SCAN_CHARACTERS = 200_000
"""Characters at the beginning of a text that are read; of a longer one also END_CHARACTERS at the end."""
END_CHARACTERS = 4_000
STRETCH_CHARACTERS = 400
OTHERS_CHARACTERS = 16_000
"""Stretches with neither a word of the question nor an error are taken only up to this total: they cost as much."""
K1 = 1.2
EDGE, ERROR, VALUE = 2.0, 2.0, 0.15
"""The bonuses of the first and last stretches, of a stretch with an error, and of each value in a stretch."""
_ERRORS = ("error", "exception", "traceback", "failed", "failure", "fatal", "denied", "warning")
_HAN_ERRORS = ("错误", "失败", "异常", "警告", "报错")
_ERROR = re.compile(rf"\b(?:{'|'.join(_ERRORS)})\b|{'|'.join(_HAN_ERRORS)}")


def best_parts(text: str, question: str, characters_max: int) -> list[tuple[int, int]]:
    """Return start and length of the best stretches, best first, of at most ``characters_max`` characters together."""
    stretches = list(_stretches(text))
    worth = _worth([text[start : start + length] for start, length in stretches], question)
    found: list[tuple[int, int]] = []
    taken = 0
    for at in sorted(range(len(stretches)), key=lambda i: (-worth[i][0], i)):
        (_, matters), (_, length) = worth[at], stretches[at]
        if taken + length <= (characters_max if matters else min(characters_max, OTHERS_CHARACTERS)):
            taken += length
            found.append(stretches[at])
    return found


def _stretches(text: str) -> Iterator[tuple[int, int]]:
    middle = min(len(text), SCAN_CHARACTERS)
    for begin, end in ((0, middle), (max(middle, len(text) - END_CHARACTERS), len(text))):
        at = begin
        while at < end:
            to = min(at + STRETCH_CHARACTERS, end)
            seam = text.rfind("\n", at + STRETCH_CHARACTERS // 2, to)
            to = seam + 1 if seam > 0 and to < end else to
            yield at, to - at
            at = to


class _Wanted(dict[str, tuple[str, ...]]):
    """A cache of the question's terms in each run of a text, because texts repeat their words."""

    def __init__(self, question: str) -> None:
        self.terms = set(bm25.terms(question)) - bm25.STOP_WORDS

    def __missing__(self, run: str) -> tuple[str, ...]:
        found = tuple(bm25.terms_of_run(run))
        self[run] = found = () if self.terms.isdisjoint(found) else tuple(term for term in found if term in self.terms)
        return found


def _worth(stretches: list[str], question: str) -> list[tuple[float, bool]]:
    """Return the score of each stretch, and whether it contains a word of the question or an error."""
    wanted = _Wanted(question)
    found = [Counter(chain.from_iterable(map(wanted.__getitem__, bm25.runs(text)))) for text in stretches]
    holders = Counter(term for terms in found for term in terms)
    weights = {term: log(1 + len(stretches) / count) for term, count in holders.items()}
    worth = []
    for at, (text, terms) in enumerate(zip(stretches, found, strict=True)):
        fails = _reports_error(text.lower())
        score = sum(weights[term] * count * (K1 + 1) / (count + K1) for term, count in terms.items())
        score += EDGE * (at in (0, len(stretches) - 1)) + ERROR * fails + VALUE * specifics(text)
        worth.append((score, fails or bool(terms)))
    return worth


def _reports_error(text: str) -> bool:
    """Return whether a lower-case text reports an error. Searching for plain words first is faster: most have none."""
    return any(map(text.__contains__, (*_ERRORS, *_HAN_ERRORS))) and _ERROR.search(text) is not None
