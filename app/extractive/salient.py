"""The few sentences, or lines, that say most: salience × TF-IDF with MMR against repetition."""

import math
from collections import Counter
from collections.abc import Sequence

from app.extractive import patterns
from app.extractive.blocks import without_markup
from app.extractive.terms import content_words
from app.text.language import clip, sentences, squeeze

_MAX_SENTENCES = 140
_LAST_SENTENCES = 40
_HEAD_CHARS = 24_000
_TAIL_CHARS = 8_000
# How strongly a candidate that repeats what was chosen is held back, 0 to 1.
_REDUNDANCY = 0.7


def best_sentences(text: str, max_chars: int, *, limit: int) -> list[str]:
    """Up to ``limit`` sentences in the order of the text, together at most ``max_chars`` with the spaces between."""
    if len(text) > _HEAD_CHARS + _TAIL_CHARS:
        text = text[:_HEAD_CHARS] + "\n" + text[-_TAIL_CHARS:]
    found = [plain for raw in sentences(text) if (plain := squeeze(without_markup(raw[:600])).lstrip("*#|>- "))]
    if len(found) > _MAX_SENTENCES:
        found = found[: _MAX_SENTENCES - _LAST_SENTENCES] + found[-_LAST_SENTENCES:]
    if not found:
        return []
    weights = [
        patterns.salience(sentence) * _fit(len(sentence), max_chars) * (1.3 - 0.5 * min(at, 12) / 12)
        for at, sentence in enumerate(found)
    ]
    chosen = choose(found, weights, max_items=limit, max_chars=max_chars)
    return [found[at] for at in chosen] or [clip(found[0], max_chars)]


def _fit(length: int, room: int) -> float:
    """Fragments say little; sentences that have to be cut lose their end."""
    if length < 25:
        return 0.35
    return 1.0 if length <= room else max(0.3, room / length)


def choose(texts: Sequence[str], weights: Sequence[float], *, max_items: int, max_chars: int) -> list[int]:
    """Positions of the texts to keep, ascending.

    Greedy: each time the text whose weight × rarity of its words is highest after what
    it repeats of the chosen ones is taken off, among those that still fit.
    """
    vectors = _vectors(texts)
    values = [weight * (0.4 + _informativeness(vector)) for weight, vector in zip(weights, vectors, strict=True)]
    repeated = [0.0] * len(texts)
    holders = _holders(vectors)
    open_positions = list(range(len(texts)))
    chosen: list[int] = []
    room = max_chars + 1  # each takes one for what separates it from the next, the last does not
    while open_positions and len(chosen) < max_items:
        open_positions = [at for at in open_positions if len(texts[at]) < room]
        best = max(open_positions, key=lambda at: values[at] * (1 - _REDUNDANCY * repeated[at]), default=-1)
        if best < 0 or values[best] <= 0:
            break
        chosen.append(best)
        room -= len(texts[best]) + 1
        repeated = list(map(max, repeated, _similarities(vectors, holders, best)))
        open_positions = [at for at in open_positions if at != best and repeated[at] < 0.9]
    return sorted(chosen)


def _vectors(texts: Sequence[str]) -> list[dict[str, float]]:
    """TF-IDF of each text's content words, of length 1."""
    bags = [Counter(content_words(text[:600])) for text in texts]
    spread = Counter(word for bag in bags for word in bag)
    total = len(bags)
    vectors: list[dict[str, float]] = []
    for bag in bags:
        vector = {word: times * math.log(1 + total / spread[word]) for word, times in bag.items()}
        norm = math.sqrt(sum(weight * weight for weight in vector.values())) or 1.0
        vectors.append({word: weight / norm for word, weight in vector.items()})
    return vectors


def _informativeness(vector: dict[str, float]) -> float:
    """0 for no content words, levelling off at about twelve."""
    return min(len(vector), 12) / 12


def _holders(vectors: Sequence[dict[str, float]]) -> dict[str, list[tuple[int, float]]]:
    """By word, the positions of the texts that have it, and its weight in each."""
    holders: dict[str, list[tuple[int, float]]] = {}
    for at, vector in enumerate(vectors):
        for word, weight in vector.items():
            holders.setdefault(word, []).append((at, weight))
    return holders


def _similarities(
    vectors: Sequence[dict[str, float]], holders: dict[str, list[tuple[int, float]]], one: int
) -> list[float]:
    """The inner product of a text with each, its words in their order: every process comes to the same."""
    found = [0.0] * len(vectors)
    for word, weight in vectors[one].items():
        for at, other in holders[word]:
            found[at] += weight * other
    return found
