"""Extract key terms: the few words that distinguish a text from many others.

A term's score is its frequency (dampened) × its specificity × a small bonus for coming early. Specific terms have a
characteristic form (an identifier, an address, a code, a name) or are rare in the language; for Chinese the segmenter's
dictionary gives the rarity.
"""

import heapq
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Literal

from app.extractive.envelope import WINDOW, parse_json, unwrap
from app.extractive.patterns import PATTERNS, any_case
from app.extractive.stopwords import CHINESE, COMMON, ENGLISH
from app.text.bm25 import WORD_CACHED_MAX
from app.text.chinese_scripts import simplified
from app.text.language import HAN, fold, is_han, jieba, scalar, segments, squeeze, straight, words

_TOKEN = re.compile(
    r"https?://[^\s\"'<>()\[\]{}|\\，。；、]+"
    rf"|[{HAN}]+"
    rf"|[^\W{HAN}]+(?:[-._@/'\u2019][^\W{HAN}]+)*"
    r"|[.,;:!?。，；：！？\n]"
)
_ASCII_TOKEN = re.compile(r"https?://[^\s\"'<>()\[\]{}|\\]+|[A-Za-z0-9_]+(?:[-._@/'][A-Za-z0-9_]+)*|[.,;:!?\n]")
"""Matches the same tokens in ASCII texts, in two thirds of the time."""
_NAME, _TITLED, _QUANTITY, _EMAIL, _DATE, _HASH, _CAMEL = (
    re.compile(PATTERNS[name]) for name in ["name", "titled", "quantity", "email", "date", "hash", "camel"]
)
_EXTENSION = any_case("extension")
_PUNCTUATION = frozenset(".,;:!?。，；：！？\n")

_MAX_TERM = 60
_MAX_TOKENS = 40_000
_MAX_LEAVES = 20_000
# The name of a JSON member shows what kind of thing its value is, but seldom which one.
_KEY_WEIGHT = 0.4
# The sum of the word frequencies in rjieba's dictionary; only the ratio matters.
_DICTIONARY_TOTAL = 6.0e7


def key_terms(text: str, n: int = 15) -> list[str]:
    """Return up to ``n`` terms, best first, as written in the text and without near duplicates."""
    return [term for term, _ in scored_terms(text, n)]


def scored_terms(text: str, n: int) -> list[tuple[str, float]]:
    """Return the ``key_terms`` with their scores."""
    if n <= 0:
        return []
    readable, keys = _readable(straight(scalar(unwrap(text))))
    tokens = (_ASCII_TOKEN if readable.isascii() else _TOKEN).findall(readable)[:_MAX_TOKENS]
    segmented = {token: segments(token) for token in dict.fromkeys(tokens) if is_han(token)}
    scores = _word_scores(tokens, segmented)
    for term, score in (*_phrases(readable), *_pairs(tokens, segmented, scores)):
        scores[term] = max(score, scores.get(term, 0.0))
    for key in keys:
        term, weight = _weighed(key)
        scores.setdefault(term, _KEY_WEIGHT * weight)
    # Of equal scores the earlier term wins: nlargest keeps the insertion order.
    best = heapq.nlargest(n * 8, scores.items(), key=lambda item: item[1])
    return [(term, scores[term]) for term in _distinct((term for term, _ in best), n)]


def kind_of(term: str) -> Literal["number", "identifier", "name", "phrase", "word"]:
    if term[:1].isdigit() and not term.isalpha():
        return "number" if not any(char.isascii() and char.isalpha() for char in term) else "identifier"
    if _CAMEL.search(term) or (term.isascii() and re.search(r"\d|[_@/.:]", term)):
        return "identifier"
    if term[:1].isupper():
        return "name"
    return "phrase" if " " in term else "word"


def content_words(text: str) -> list[str]:
    """Return the words of a text in order, in lower case and without stop words, for comparing texts."""
    found = [word for word in words(scalar(text)) if word not in ENGLISH and (len(word) > 1 or word.isdigit())]
    return found if text.isascii() else [word for word in found if word.isascii() or simplified(word) not in CHINESE]


@lru_cache(5_000)
def rarity(word: str) -> float:
    """Return how specific a content word is: from about 0.2 (要求, "table") to 2.5 (an identifier)."""
    if is_han(word):
        frequency = max(jieba().suggest_freq(simplified(word)), 1)
        return min(max((math.log10(_DICTIONARY_TOTAL / frequency) - 3.0) / 2.2, 0.1), 1.8)
    return _shape(word)


def _readable(text: str) -> tuple[str, list[str]]:
    """Return the text whose words count (for JSON, its values), and the names of JSON members."""
    value = parse_json(text)
    if value is None:
        return text[:WINDOW], []
    keys: dict[str, None] = {}
    leaves: list[str] = []
    stack: list[object] = [value]
    while stack and len(leaves) < _MAX_LEAVES:
        node = stack.pop()
        if isinstance(node, dict):
            keys.update(dict.fromkeys(map(str, node)))
            stack.extend(reversed(node.values()))
        elif isinstance(node, list):
            stack.extend(reversed(node))
        elif isinstance(node, str):
            leaves.append(node)
        elif isinstance(node, (int, float)) and not isinstance(node, bool):
            leaves.append(_number(node))
    return "\n".join(leaves)[:WINDOW], [key for key in keys if key.strip() and key.isprintable()]


def _number(value: float) -> str:
    # str() raises for integers of thousands of digits.
    return "" if isinstance(value, int) and value.bit_length() > 200 else str(value)


def _word_scores(tokens: Sequence[str], segmented: Mapping[str, list[str]]) -> dict[str, float]:
    counts: Counter[str] = Counter()
    for token, times in Counter(tokens).items():
        for candidate in segmented.get(token) or ([] if token in _PUNCTUATION else [token.removesuffix("'s")]):
            counts[candidate] += times
    merged = _merged_by_case(counts)
    total = len(merged) or 1
    scores: dict[str, float] = {}
    for rank, (token, times) in enumerate(merged.items()):
        term, weight = _weighed(token)
        if weight > 0:
            score = (1 + math.log2(times)) * weight * (1.25 - 0.25 * rank / total)
            scores[term] = max(score, scores.get(term, 0.0))
    return scores


def _merged_by_case(counts: Counter[str]) -> dict[str, int]:
    """Count "The" and "the" as one word in lower case. "Berlin" keeps its capital, if "berlin" does not occur."""
    merged: dict[str, int] = {}
    for token, times in counts.items():
        lower = token.lower()
        name = lower if lower != token and lower in counts and token.istitle() else token
        merged[name] = merged.get(name, 0) + times
    return merged


def _weighed(token: str) -> tuple[str, float]:
    """Return a token's term and its specificity; 0 if the token is no term."""
    return _weighed_word(token) if len(token) <= WORD_CACHED_MAX and token.isalpha() else _weigh(token)


@lru_cache(maxsize=50_000)
def _weighed_word(word: str) -> tuple[str, float]:
    """Weigh a word. Cached, because texts repeat their words."""
    return _weigh(word)


def _weigh(token: str) -> tuple[str, float]:
    if token.startswith(("http://", "https://")):
        return token.split("/")[2].removeprefix("www."), 1.5
    if is_han(token):
        usable = 2 <= len(token) <= 12 and simplified(token) not in CHINESE
        return token, rarity(token) if usable else 0.0
    if "." in token and _EXTENSION.search(token):
        token = token.rsplit("/", 1)[-1]
        return token, 2.4 if len(token) <= _MAX_TERM else 0.0
    if len(token) > _MAX_TERM:
        return token, 0.0
    return token, _shape(token)


def _shape(token: str) -> float:
    lower = token.lower()
    if lower in ENGLISH or len(token) < 2:
        return 0.0
    if token.isalpha() and len(token) < 33 and (lower == token or not _CAMEL.search(token)):
        return _plain(token, lower)
    forms = (("@" in token, _EMAIL, 2.8), (token[0].isdigit(), _DATE, 0.7), (len(token) > 15, _HASH, 0.6))
    for may_be, pattern, weight in forms:
        if may_be and pattern.match(token):
            return weight
    if any(map(str.isdigit, token)):
        return 2.3 if any(map(str.isalpha, token)) else (min(0.06 * len(token), 0.5) if len(token) > 2 else 0.0)
    if "_" in token or _CAMEL.search(token):
        return 1.0 if lower in COMMON else 2.0
    return 1.3 if "/" in token or "." in token else _plain(token, lower)


def _plain(token: str, lower: str) -> float:
    if lower in COMMON or (len(token) < 3 and not token.isupper()):
        return 0.25
    if token.isupper() and len(token) <= 8:
        return 1.6
    length = min(len(token), 11) / 8
    if lower.removesuffix("s") in COMMON or lower.endswith("ly"):
        return 0.3
    return length * (1.35 if token[0].isupper() or "-" in token else 1.0)


def _phrases(text: str) -> Iterator[tuple[str, float]]:
    """Yield names of several words, quoted titles, and numbers with their units."""
    for pattern, weight in ((_NAME, 2.2), (_TITLED, 2.4), (_QUANTITY, 1.5)):
        for phrase, times in Counter(pattern.findall(text)).most_common(60):
            trimmed = _without_stop_words(squeeze(phrase)) if pattern is _NAME else squeeze(phrase).rstrip(".,")
            if 2 < len(trimmed) <= _MAX_TERM or pattern is _QUANTITY:
                yield trimmed, (1 + math.log2(times)) * weight


def _without_stop_words(name: str) -> str:
    """Return a name of several words without stop words around it, such as those of "The Eiffel Tower"; else ""."""
    parts = name.split(" ")
    while parts and parts[0].lower() in ENGLISH:
        parts.pop(0)
    while parts and parts[-1].lower() in ENGLISH:
        parts.pop()
    return " ".join(parts) if len(parts) > 1 else ""


def _pairs(
    tokens: Sequence[str], segmented: Mapping[str, list[str]], scores: Mapping[str, float]
) -> Iterator[tuple[str, float]]:
    """Yield pairs of content words that occur together more than once ("connection pool", 外卖市场)."""
    word_pairs: list[tuple[str, str]] = []
    previous = ""
    for token in tokens:
        if token in segmented:
            word_pairs.extend(pair for pair in pairwise(segmented[token]) if pair[0] in scores and pair[1] in scores)
            previous = ""
        elif token in scores and token.isalpha():
            if previous:
                word_pairs.append((previous, token))
            previous = token
        else:
            previous = ""
    repeated = Counter({pair: times for pair, times in Counter(word_pairs).items() if times > 1})
    for (first, second), times in repeated.most_common(80):
        joint = f"{first}{second}" if is_han(first) else f"{first} {second}"
        if first != second and len(joint) <= 40:
            yield joint, (1 + math.log2(times)) * 0.62 * (rarity(first) + rarity(second))


def _distinct(ranked: Iterator[str], n: int) -> list[str]:
    """Return the first ``n`` terms, skipping plurals, parts and extensions of earlier ones."""
    chosen: list[str] = []
    keys: list[str] = []
    quantities = 0
    for term in ranked:
        key = _singular(fold(term))
        is_quantity = term[0] in "$€£¥" or term[0].isdigit()
        if any(_near(key, other) for other in keys) or (is_quantity and quantities >= max(n // 3, 1)):
            continue
        chosen.append(term)
        keys.append(key)
        quantities += is_quantity
        if len(chosen) == n:
            break
    return chosen


def _singular(key: str) -> str:
    if len(key) > 4 and key.isascii():
        if key.endswith("ies"):
            return key[:-3] + "y"
        if key.endswith("s") and not key.endswith("ss"):
            return key[:-1]
    return key


def _near(key: str, other: str) -> bool:
    shorter, longer = (key, other) if len(key) <= len(other) else (other, key)
    if not shorter.isascii() or len(shorter) >= 4:
        return shorter in longer
    return shorter == longer or shorter in longer.split(" ")
