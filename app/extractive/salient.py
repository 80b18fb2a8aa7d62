"""Select the most informative sentences or lines: salience × TF-IDF, with MMR against repetition."""

import math
from collections import Counter
from collections.abc import Sequence
from itertools import chain

from app.extractive import patterns
from app.extractive.blocks import without_markup
from app.extractive.terms import content_words
from app.text.language import clip, sentences, squeeze

_MAX_SENTENCES = 140
_LAST_SENTENCES = 40
_HEAD_CHARS = 24_000
_TAIL_CHARS = 8_000
# The penalty for repeating a chosen candidate, 0 to 1.
_REDUNDANCY = 0.7


def best_sentences(text: str, max_chars: int, *, limit: int) -> list[str]:
    """Return up to ``limit`` sentences in text order, at most ``max_chars`` in total with the spaces between."""
    if len(text) > _HEAD_CHARS + _TAIL_CHARS:
        text = text[:_HEAD_CHARS] + "\n" + text[-_TAIL_CHARS:]
    candidates = [plain for raw in sentences(text) if (plain := squeeze(without_markup(raw[:600])).lstrip("*#|>- "))]
    if len(candidates) > _MAX_SENTENCES:
        candidates = candidates[: _MAX_SENTENCES - _LAST_SENTENCES] + candidates[-_LAST_SENTENCES:]
    if not candidates:
        return []
    weights = [
        patterns.salience(sentence) * _fit(len(sentence), max_chars) * (1.3 - 0.5 * min(at, 12) / 12)
        for at, sentence in enumerate(candidates)
    ]
    chosen = choose(candidates, weights, max_items=limit, max_chars=max_chars)
    return [candidates[at] for at in chosen] or [clip(candidates[0], max_chars)]


def _fit(length: int, room: int) -> float:
    """Return a factor that lowers the weight of fragments, which say little, and of sentences that do not fit."""
    if length < 25:
        return 0.35
    return 1.0 if length <= room else max(0.3, room / length)


def choose(texts: Sequence[str], weights: Sequence[float], *, max_items: int, max_chars: int) -> list[int]:
    """Return the indices of the texts to keep, in ascending order.

    Greedy: of the texts that still fit, each step takes the one with the highest weight × number of distinct words,
    reduced by its similarity to the texts chosen before.
    """
    vectors = _vectors(texts)
    values = [weight * (0.4 + min(len(vector), 12) / 12) for weight, vector in zip(weights, vectors, strict=True)]
    repeated = [0.0] * len(texts)
    holders = _holders(vectors)
    open_positions = list(range(len(texts)))
    chosen: list[int] = []
    room = max_chars + 1  # each text takes one more for a separator, except the last
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
    """Return the TF-IDF vector of each text's content words, normalised to length 1."""
    bags = [Counter(content_words(text[:600])) for text in texts]
    spread = Counter(chain.from_iterable(bags))
    rareness = {word: math.log(1 + len(bags) / times) for word, times in spread.items()}
    vectors: list[dict[str, float]] = []
    for bag in bags:
        vector = {word: times * rareness[word] for word, times in bag.items()}
        norm = math.sqrt(sum([weight * weight for weight in vector.values()])) or 1.0
        vectors.append({word: weight / norm for word, weight in vector.items()})
    return vectors


def _holders(vectors: Sequence[dict[str, float]]) -> dict[str, list[tuple[int, float]]]:
    """Map each word to the indices of the texts that contain it, with its weight in each."""
    holders: dict[str, list[tuple[int, float]]] = {}
    for at, vector in enumerate(vectors):
        for word, weight in vector.items():
            holders.setdefault(word, []).append((at, weight))
    return holders


def _similarities(
    vectors: Sequence[dict[str, float]], holders: dict[str, list[tuple[int, float]]], chosen: int
) -> list[float]:
    """Return the inner product of a text with each. Words are added in order, so that every process gets equal sums."""
    similarities = [0.0] * len(vectors)
    for word, weight in vectors[chosen].items():
        for at, other in holders[word]:
            similarities[at] += weight * other
    return similarities
