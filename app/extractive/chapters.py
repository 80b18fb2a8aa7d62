"""Chapters without a model: where one ends, and the terms that tell it from the others."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import chain, pairwise
from operator import mul

from app.core.history.rows import NewMessage
from app.core.search.days import day_of
from app.core.window.contents import LINES_PER_PAGE, Chapter
from app.extractive.lines import names_subject
from app.extractive.patterns import any_case
from app.extractive.speakers import addressed
from app.extractive.stopwords import CHINESE, CHINESE_EMPTY, CHINESE_NO_NOUNS, COMMON, ENGLISH
from app.extractive.terms import rarity
from app.extractive.verbs import GENERIC, is_calendar, is_no_noun
from app.text.bm25 import stem
from app.text.chinese_scripts import simplified
from app.text.language import is_han, jieba, scalar, words
from app.text.queries import SMALL_TALK

WORDS_MAX = 80
"""Words of a message that count."""
COURTESY_CHARACTERS = 60
"""A longer message is no courtesy."""
CHARACTERS_MAX = 2_000
"""Characters of a message that are read for them."""
TERMS = 16
"""Terms of a chapter's line: 28 tokens led word overlap to the right chapter less often than 44."""
KNOWN_TERMS = 200
"""Terms of a chapter that later chapters are told from."""
GENERAL = 0.3
"""What a general English word weighs beside one that names something."""
PAGES_MIN, PAGES_MAX = 4, 16
GAP_SECONDS = 4 * 3600
"""A longer silence begins a new chapter: a night does, lunch does not."""
BESIDE = 3
"""Pages on each side of a possible end whose words are compared."""
PAGES_DUE = PAGES_MAX + BESIDE
"""Closed pages that are in no chapter yet, from which on the first of them become one."""
VOLUME = 8
"""Chapters of a volume, and volumes of a larger one."""
OTHERS_MAX = 64
"""Chapters before it that a new one is told from."""

_LABEL = any_case("label")
_DATED = re.compile(r"\d{4}-\d\d-\d\d")
"""Begins each row of a log or a table, so a chapter that holds one would be named by it."""
_FUNCTION_TAGS = ("c", "d", "f", "m", "p", "q", "r", "t", "u", "y")
_POINTING = ("这", "那", "這", "我", "你", "您")
_EMPTY = ENGLISH | CHINESE | SMALL_TALK


def words_told(text: str) -> list[str]:
    """Return the words of a text that can name a subject, in order, as written but for case."""
    if len(text) <= COURTESY_CHARACTERS and not names_subject(text):
        return []
    text = scalar(text[:CHARACTERS_MAX])
    text = _LABEL.sub(" ", text) if "[" in text else text
    found, people = map(_told, words(text)), addressed(text)
    return [word for word in found if word and word not in people][:WORDS_MAX]


@lru_cache(maxsize=50_000)
def _told(word: str) -> str:
    """Return a word as it is told, "" if it can name no subject."""
    word = word.strip("'-_.").removesuffix("'s")
    is_empty = len(word) < 2 or word in _EMPTY or "'" in word or (word.isdecimal() and len(word) < 3)
    is_empty = is_empty or _DATED.match(word) is not None
    return "" if is_empty or (not word.isascii() and simplified(word) in _EMPTY) else word[:40]


@lru_cache(maxsize=50_000)
def _is_function_word(word: str) -> bool:
    """Return whether a Chinese word counts, points, links or is an adverb: 一本, 这部, 我会, 此外, 总是."""
    tags = jieba().tag(simplified(word)) if is_han(word) else ()
    return word.startswith(_POINTING) or (bool(tags) and all(tag.startswith(_FUNCTION_TAGS) for _, tag in tags))


@lru_cache(maxsize=50_000)
def _weight(word: str) -> float:
    """Return what a word weighs in any talk: 喜欢, "people" and "feel" tell no chapter from those of others."""
    if is_han(word):
        plain = simplified(word)
        is_general = plain in CHINESE_EMPTY or plain in CHINESE_NO_NOUNS or not jieba().has_word(plain)
        return min(rarity(word), 1.0) * (GENERAL if is_general else 1.0)
    is_general = len(word) < 3 or word in COMMON or word in GENERIC or is_no_noun(word) or is_calendar(word)
    return GENERAL if is_general else 1.0


@lru_cache(maxsize=50_000)
def _key(word: str) -> str:
    return stem(word) if word.isascii() else simplified(word)


def end_of(pages: Sequence[Sequence[str]], gaps: Sequence[float]) -> int:
    """Return how many of the first pages are a chapter: up to the first long silence, else up to where the words change
    most. ``gaps``: seconds of silence after each page.
    """
    ends = range(PAGES_MIN, PAGES_MAX + 1)
    silent = next((end for end in ends if gaps[end - 1] >= GAP_SECONDS), None)
    if silent is not None:
        return silent
    keys = [[*map(_key, page)] for page in pages]
    bags = [Counter(chain(*keys[first : first + BESIDE])) for first in range(PAGES_MAX + 1)]
    squares = [sum(map(mul, bag.values(), bag.values())) for bag in bags]
    changes = {at: _change(bags[at - BESIDE], bags[at], math.sqrt(squares[at - BESIDE] * squares[at])) for at in ends}
    return max(ends, key=lambda end: (changes[end], -end)) if any(changes.values()) else PAGES_MAX


def _change(before: Mapping[str, int], after: Mapping[str, int], norms: float) -> float:
    """Return how little the words of some pages and those of the pages after them share, 0 to 1."""
    return 1 - sum(before[key] * after[key] for key in before.keys() & after.keys()) / norms if norms else 0.0


@dataclass(frozen=True, slots=True)
class ToldPage:
    page: int
    opened_at: datetime
    ended_at: datetime
    words: Sequence[str]
    """Those of its first messages, as ``words_told`` found them."""
    first_seq: int = 1


def with_messages(pages: Iterable[ToldPage], messages: Iterable[NewMessage], now: datetime) -> list[ToldPage]:
    """Return pages with the messages that come after what is stored of them, as the statement ``told`` reads both."""
    found = {page.page: page for page in pages}
    for one in messages:
        time = (one.said_at or now).astimezone(UTC) + timedelta(minutes=one.said_offset)
        page = found.get(one.page) or ToldPage(one.page, time, time, (), one.seq)
        words = one.words.split() if one.seq < page.first_seq + LINES_PER_PAGE else ()
        found[one.page] = replace(page, ended_at=time, words=[*page.words, *words])
    return list(found.values())


@dataclass(frozen=True, slots=True)
class Shelf:
    """The newest chapters by level: enough to tell a new one from them, and to bind a volume."""

    levels: Mapping[int, Sequence[Chapter]]

    @property
    def others(self) -> Sequence[Chapter]:
        """Return the chapters that a new one is told from."""
        return self.levels.get(1, ())[-OTHERS_MAX:]

    def unbound(self, level: int) -> Sequence[Chapter]:
        """Return the chapters of a level that are in no volume yet, in order."""
        bound = max((chapter.last_page for chapter in self.levels.get(level + 1, ())), default=0)
        return [chapter for chapter in self.levels.get(level, ()) if chapter.first_page > bound]

    def with_(self, chapter: Chapter) -> Shelf:
        return Shelf({**self.levels, chapter.level: [*self.levels.get(chapter.level, ()), chapter]})


def close(pages: Sequence[ToldPage], shelf: Shelf) -> list[Chapter]:
    """Return the chapters that closed pages make, and the volumes that these make. ``pages`` follow the last chapter
    without a gap; the same pages make the same chapters, however many are there at once.
    """
    closed: list[Chapter] = []
    told = [page.words for page in pages]
    gaps = [(after.opened_at - before.ended_at).total_seconds() for before, after in pairwise(pages)]
    at = 0
    while len(pages) - at >= PAGES_DUE:
        end = at + end_of(told[at : at + PAGES_DUE], gaps[at : at + PAGES_DUE])
        closed.append(described(pages[at:end], shelf.others))
        shelf = shelf.with_(closed[-1])
        at = end
        while len(unbound := shelf.unbound(closed[-1].level)) >= VOLUME:
            closed.append(bound(unbound[:VOLUME]))
            shelf = shelf.with_(closed[-1])
    return closed


def described(pages: Sequence[ToldPage], others: Sequence[Chapter]) -> Chapter:
    terms = _ranked((word for page in pages for word in page.words), others)
    first = pages[0]
    return Chapter(1, first.page, pages[-1].page, first.page + PAGES_DUE, tuple(terms), day_of(first.opened_at))


def bound(parts: Sequence[Chapter]) -> Chapter:
    """Return the volume of some chapters: the best terms of each, as many as a chapter's line has."""
    by_rank = ([part.terms[rank] for part in parts if rank < len(part.terms)] for rank in range(TERMS))
    best = list(dict.fromkeys(chain.from_iterable(by_rank)))[:TERMS]
    first, last = parts[0], parts[-1]
    return Chapter(first.level + 1, first.first_page, last.last_page, last.at_page, tuple(best), first.day)


def _ranked(told: Iterable[str], others: Sequence[Chapter]) -> list[str]:
    """Return the terms that tell a text from other chapters, the best first, as written most often."""
    forms: dict[str, dict[str, int]] = {}
    for word, count in Counter(told).items():
        if not _is_function_word(word):
            forms.setdefault(_key(word), {})[word] = count
    spread = dict.fromkeys(forms, 0)  # no chapter has two terms of one key
    for term, count in Counter(chain.from_iterable(chapter.terms for chapter in others)).items():
        if (key := _key(term)) in spread:
            spread[key] += count
    written = {key: max(found, key=found.__getitem__) for key, found in forms.items()}
    weights = {
        key: sum(found.values()) * _weight(written[key]) * math.log((len(others) + 1.5) / (spread[key] + 0.5))
        for key, found in forms.items()
    }
    best = sorted(weights, key=lambda key: -weights[key])[:KNOWN_TERMS]
    return [written[key] for key in best]
