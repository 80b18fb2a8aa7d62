"""Topics: subjects that a conversation keeps coming back to, and when two names mean one of them.

Models name a subject a little differently each time. Two names are one topic when they are the same words but for
case, width and plural; when nearly all of their words are shared; or, in Chinese, nearly all of their pairs of
characters. Names with different numbers are different topics ("2023 budget", "2024 budget"). The name that came first
stays, for heads have quoted it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

HEAD_TOPICS_MAX = 12
PAGES_TOLD = 100
"""The newest pages are read; older topics are no longer of interest."""
TOPICS_KEPT = 200
"""Their names that are kept beside an open page."""
WORDS_ALIKE = 0.8
PAIRS_ALIKE = 0.65
"""Dice's coefficients, of words and of pairs of characters, from which on two topics are one."""

_WORD = re.compile(r"[^\W\d_]+|\d+")
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_NEGATION = re.compile(r"\b(?:not|never|no|don['’]?t|without|stop|avoid|except)\b|[不别勿没无非]", re.IGNORECASE)
_NO_PLURALS = frozenset({"news", "always", "perhaps", "series", "species"})
_VAGUE = frozenset({"a", "an", "and", "of", "for", "in", "on", "the", "to", "with"})


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic with the number of pages that mention it."""

    name: str
    mentions: int
    last_page: int


def counted(mentions: Iterable[tuple[str, int]]) -> list[Topic]:
    """Return the topics of mentions (name, page), which are in order from the latest on."""
    pages: dict[str, list[int]] = {}
    for name, page in mentions:
        pages.setdefault(name, []).append(page)
    return [Topic(name, len(found), found[0]) for name, found in pages.items()]


Features = tuple[frozenset[str], frozenset[str], frozenset[str]]
"""Words, pairs of characters, numbers."""


def features_of(topics: Iterable[str]) -> dict[str, Features]:
    """Return what topics are compared by."""
    return {name: _features(name) for name in topics}


def merged(existing: Mapping[str, Features], new: Iterable[str]) -> list[str]:
    """Return the new topics under the names they already have; every name once, in order."""
    names = dict(existing)
    by_features = {features: name for name, features in reversed(names.items())}
    result: dict[str, None] = {}
    for topic in new:
        features = _features(topic)
        if not any(features):
            continue
        name = by_features.get(features) or next((n for n, f in names.items() if _alike(features, f)), topic)
        names.setdefault(name, features)
        by_features.setdefault(features, name)
        result[name] = None
    return list(result)


def most_mentioned(topics: Iterable[Topic]) -> list[Topic]:
    """Return the most mentioned topics first, the newer of equals before the older."""
    return sorted(topics, key=lambda t: (-t.mentions, -t.last_page, t.name))


def most_telling(topics: Iterable[Topic], limit: int = HEAD_TOPICS_MAX) -> list[Topic]:
    """Return the most mentioned topics; of "flight" and "flight change" only the one that comes first."""
    chosen: dict[Topic, Features] = {}
    for topic in most_mentioned(topics):
        if len(chosen) >= limit:
            break
        features = _features(topic.name)
        if not any(_within(features, other) or _within(other, features) for other in chosen.values()):
            chosen[topic] = features
    return list(chosen)


def says_no_more(text: str, than: str) -> bool:
    """Return whether each word (in Chinese, pair of characters) and number is in another, and both deny as much."""
    one, other = _features(text), _features(than)
    if len(_NEGATION.findall(text)) != len(_NEGATION.findall(than)):
        return False
    return _within(one, other)


def _features(name: str) -> Features:
    words: set[str] = set()
    pairs: set[str] = set()
    numbers: set[str] = set()
    for run in _WORD.findall(unicodedata.normalize("NFKC", name[:400]).casefold()):
        if run[0].isdigit():
            numbers.add(run)
        elif _WIDE.search(run):
            pairs.update(run[i : i + 2] for i in range(max(1, len(run) - 1)))
        elif run not in _VAGUE:
            words.add(_stem(run))
    return frozenset(words), frozenset(pairs), frozenset(numbers)


def _within(one: Features, other: Features) -> bool:
    return any(one) and all(a <= b for a, b in zip(one, other, strict=True))


def _stem(word: str) -> str:
    if word in _NO_PLURALS:
        return word
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ses", "xes", "zes", "ches", "shes")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def _alike(one: Features, other: Features) -> bool:
    if one[2] != other[2]:
        return False
    return _shared(one[0], other[0]) >= WORDS_ALIKE and _shared(one[1], other[1]) >= PAIRS_ALIKE


def _shared(one: frozenset[str], other: frozenset[str]) -> float:
    return 2 * len(one & other) / (len(one) + len(other)) if one or other else 1.0


def named(topics: Sequence[Topic]) -> list[str]:
    """Format topics, with the number of mentions if it is more than one."""
    return [f"{t.name} ({t.mentions})" if t.mentions > 1 else t.name for t in topics]
