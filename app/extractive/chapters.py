"""Make chapters without a model: decide where one ends, and choose the terms that distinguish it from the others."""

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
"""The number of a message's words that count."""
COURTESY_CHARACTERS = 60
"""Messages longer than this are no mere courtesy."""
CHARACTERS_MAX = 2_000
"""Characters of a message that are searched for words."""
TERMS = 16
"""Terms of a volume, as of a chapter's line. (28 tokens led word overlap to the right chapter less often than 44.)"""
KNOWN_TERMS = 200
"""Terms that are stored with a chapter, so that later chapters can be distinguished from it."""
GENERAL = 0.3
"""The weight of a general word, relative to one that names something."""
PAGES_MIN, PAGES_MAX = 4, 16
GAP_SECONDS = 4 * 3600
"""A silence of at least this length begins a new chapter: a night does, a lunch break does not."""
BESIDE = 3
"""The number of pages on each side of a possible end whose words are compared."""
PAGES_DUE = PAGES_MAX + BESIDE
"""A chapter is made once this many closed pages are in no chapter."""
VOLUME = 8
"""The number of chapters in a volume, and of volumes in a larger one."""
OTHERS_MAX = 64
"""The number of earlier chapters from which a new one is distinguished."""

_LABEL = any_case("label")
_DATED = re.compile(r"\d{4}-\d\d-\d\d")
"""Dates are ignored: they begin each row of logs and tables, and would become terms of a chapter that holds one."""
_FUNCTION_TAGS = ("c", "d", "f", "m", "p", "q", "r", "t", "u", "y")
_POINTING = ("这", "那", "這", "我", "你", "您")
_EMPTY = ENGLISH | CHINESE | SMALL_TALK


def words_told(text: str) -> list[str]:
    """Return the words of a text that can name a subject, in order and in lower case."""
    if len(text) <= COURTESY_CHARACTERS and not names_subject(text):
        return []
    text = scalar(text[:CHARACTERS_MAX])
    text = _LABEL.sub(" ", text) if "[" in text else text
    naming, people = map(_naming, words(text)), addressed(text)
    return [word for word in naming if word and word not in people][:WORDS_MAX]


@lru_cache(maxsize=50_000)
def _naming(word: str) -> str:
    """Return a word without surrounding marks; "" if it cannot name a subject."""
    word = word.strip("'-_.").removesuffix("'s")
    is_empty = len(word) < 2 or word in _EMPTY or "'" in word or (word.isdecimal() and len(word) < 3)
    is_empty = is_empty or _DATED.match(word) is not None
    return "" if is_empty or (not word.isascii() and simplified(word) in _EMPTY) else word[:40]


@lru_cache(maxsize=50_000)
def _is_function_word(word: str) -> bool:
    """Return whether a Chinese word is a numeral, pronoun, link or adverb: 一本, 这部, 我会, 此外, 总是."""
    tags = jieba().tag(simplified(word)) if is_han(word) else ()
    return word.startswith(_POINTING) or (bool(tags) and all(tag.startswith(_FUNCTION_TAGS) for _, tag in tags))


@lru_cache(maxsize=50_000)
def _weight(word: str) -> float:
    """Return a word's weight in any conversation: 喜欢, "people" and "feel" do not distinguish chapters."""
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
    """Return how many of the first pages form a chapter: up to the first long silence, else up to the greatest change
    of words. ``gaps``: seconds of silence after each page.
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
    """Return how much the words change: 0 if both bags have the same proportions, 1 if they share no word."""
    return 1 - sum(before[key] * after[key] for key in before.keys() & after.keys()) / norms if norms else 0.0


@dataclass(frozen=True, slots=True)
class ToldPage:
    page: int
    opened_at: datetime
    ended_at: datetime
    words: Sequence[str]
    """The words that ``words_told`` found in its first messages."""
    first_seq: int = 1


def with_messages(pages: Iterable[ToldPage], messages: Iterable[NewMessage], now: datetime) -> list[ToldPage]:
    """Return stored pages with new messages added, as the statement ``told`` would read them once they are stored."""
    by_number = {page.page: page for page in pages}
    for message in messages:
        time = (message.said_at or now).astimezone(UTC) + timedelta(minutes=message.said_offset)
        page = by_number.get(message.page) or ToldPage(message.page, time, time, (), message.seq)
        words = message.words.split() if message.seq < page.first_seq + LINES_PER_PAGE else ()
        by_number[message.page] = replace(page, ended_at=time, words=[*page.words, *words])
    return list(by_number.values())


@dataclass(frozen=True, slots=True)
class Shelf:
    """The newest chapters by level: enough to distinguish a new one from them, and to bind a volume."""

    levels: Mapping[int, Sequence[Chapter]]

    @property
    def others(self) -> Sequence[Chapter]:
        """Return the chapters from which a new one is distinguished."""
        return self.levels.get(1, ())[-OTHERS_MAX:]

    def unbound(self, level: int) -> Sequence[Chapter]:
        """Return the chapters of a level that are in no volume yet, in order."""
        bound = max((chapter.last_page for chapter in self.levels.get(level + 1, ())), default=0)
        return [chapter for chapter in self.levels.get(level, ()) if chapter.first_page > bound]

    def with_(self, chapter: Chapter) -> Shelf:
        return Shelf({**self.levels, chapter.level: [*self.levels.get(chapter.level, ()), chapter]})


def close(pages: Sequence[ToldPage], shelf: Shelf) -> list[Chapter]:
    """Return the chapters that closed pages make, and the volumes that these make. ``pages`` must directly follow the
    last chapter. The result for given pages does not depend on how many come at once.
    """
    closed: list[Chapter] = []
    words = [page.words for page in pages]
    gaps = [(after.opened_at - before.ended_at).total_seconds() for before, after in pairwise(pages)]
    at = 0
    while len(pages) - at >= PAGES_DUE:
        end = at + end_of(words[at : at + PAGES_DUE], gaps[at : at + PAGES_DUE])
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
    """Return the volume of some chapters, with the best TERMS terms of all."""
    by_rank = ([part.terms[rank] for part in parts if rank < len(part.terms)] for rank in range(TERMS))
    best = list(dict.fromkeys(chain.from_iterable(by_rank)))[:TERMS]
    first, last = parts[0], parts[-1]
    return Chapter(first.level + 1, first.first_page, last.last_page, last.at_page, tuple(best), first.day)


def _ranked(words: Iterable[str], others: Sequence[Chapter]) -> list[str]:
    """Return the terms that distinguish a chapter from others, the best first, each in its most frequent form."""
    forms: dict[str, dict[str, int]] = {}
    for word, count in Counter(words).items():
        if not _is_function_word(word):
            forms.setdefault(_key(word), {})[word] = count
    spread = dict.fromkeys(forms, 0)  # no chapter has two terms of one key
    for term, count in Counter(chain.from_iterable(chapter.terms for chapter in others)).items():
        if (key := _key(term)) in spread:
            spread[key] += count
    written = {key: max(counts, key=counts.__getitem__) for key, counts in forms.items()}
    weights = {
        key: sum(counts.values()) * _weight(written[key]) * math.log((len(others) + 1.5) / (spread[key] + 0.5))
        for key, counts in forms.items()
    }
    best = sorted(weights, key=lambda key: -weights[key])[:KNOWN_TERMS]
    return [written[key] for key in best]
