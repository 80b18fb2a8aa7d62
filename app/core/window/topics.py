"""Topics: the subjects of a conversation, and when two names mean the same one.

Models name a subject a little differently each time. Two names mean one topic if they have the same words except for
case, width and plural, if nearly all of their words are the same, or, in Chinese, nearly all of their pairs of
characters. Names with different numbers are different topics ("2023 budget", "2024 budget"). The first name is kept,
because heads have quoted it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

HEAD_TOPICS_MAX = 12
PAGES_TOLD = 100
"""The number of newest pages whose topics a head names; older topics are no longer of interest."""
TOPICS_KEPT = 200
"""The number of topics that are kept with an open page."""
WORDS_ALIKE = 0.8
PAIRS_ALIKE = 0.65
"""Two names mean one topic if Dice's coefficients of their words and of their character pairs are at least these."""

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
    """Return the topics of mentions: (name, page) pairs, the latest first."""
    pages_by_name: dict[str, list[int]] = {}
    for name, page in mentions:
        pages_by_name.setdefault(name, []).append(page)
    return [Topic(name, len(pages), pages[0]) for name, pages in pages_by_name.items()]


Features = tuple[frozenset[str], frozenset[str], frozenset[str]]
"""Words, pairs of characters, numbers."""


def features_of(topics: Iterable[str]) -> dict[str, Features]:
    """Return the features by which topics are compared, by name."""
    return {name: _features(name) for name in topics}


def merged(existing: Mapping[str, Features], new: Iterable[str]) -> list[str]:
    """Return the new topics in order and without duplicates, under existing names where they mean the same."""
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
    """Sort topics by mentions, the most first. Of equal ones the newer comes first."""
    return sorted(topics, key=lambda t: (-t.mentions, -t.last_page, t.name))


def most_telling(topics: Iterable[Topic], limit: int = HEAD_TOPICS_MAX) -> list[Topic]:
    """Return the most mentioned topics, but of "flight" and "flight change" only the first."""
    chosen: dict[Topic, Features] = {}
    for topic in most_mentioned(topics):
        if len(chosen) >= limit:
            break
        features = _features(topic.name)
        if not any(_within(features, other) or _within(other, features) for other in chosen.values()):
            chosen[topic] = features
    return list(chosen)


def says_no_more(text: str, than: str) -> bool:
    """Return whether ``than`` has every word (in Chinese, pair of characters) and number of ``text``, and as many
    negations.
    """
    if len(_NEGATION.findall(text)) != len(_NEGATION.findall(than)):
        return False
    return _within(_features(text), _features(than))


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
