"""Summarise a run of pages: informative lines, topics and standing notes."""

import math
from collections import Counter
from collections.abc import Sequence

from app.extractive import patterns
from app.extractive.notes import standing_note
from app.extractive.salient import choose
from app.extractive.terms import content_words, key_terms, rarity
from app.text.language import clip, fold, squeeze

__all__ = ["pick_lines", "standing_note", "summarize_lines", "topics"]

_MAX_LINES = 80
_LINE_CHARS = 400
_MAX_TEXTS = 400
# Whose words are worth keeping, other things being equal.
_ROLE_WEIGHT = {"user": 1.25, "assistant": 1.0, "tool": 0.75, "function": 0.75, "system": 0.6, "developer": 0.6}


def summarize_lines(lines: Sequence[tuple[str, str]], *, max_items: int, max_chars: int) -> list[str]:
    """Return the most informative of (role, line) pairs in order, without repetition.

    ``max_chars`` bounds the total, with one character between lines. A line longer than a fair share of it is cut.
    """
    longest = min(_LINE_CHARS, max_chars)
    return [
        clip(squeeze(lines[at][1][:2000]), longest)
        for at in pick_lines(lines, max_items=max_items, max_chars=max_chars)
    ]


def pick_lines(lines: Sequence[tuple[str, str]], *, max_items: int, max_chars: int) -> list[int]:
    """Return the positions of the lines that ``summarize_lines`` keeps, ascending."""
    if max_items <= 0 or max_chars <= 0 or not lines:
        return []
    longest = min(_LINE_CHARS, max_chars)
    texts = [clip(squeeze(line[:2000]), longest) for _, line in lines]
    weights = [
        _ROLE_WEIGHT.get(role, 0.8) * patterns.salience(text) * (0.9 + 0.2 * (at + 1) / len(lines)) if text else 0.0
        for at, ((role, _), text) in enumerate(zip(lines, texts, strict=True))
    ]
    # MMR compares every candidate with every choice, so only the best few hundred are candidates.
    candidates = sorted(sorted(range(len(texts)), key=lambda at: -weights[at])[:_MAX_LINES])
    chosen = choose(
        [texts[at] for at in candidates],
        [weights[at] for at in candidates],
        max_items=max_items,
        max_chars=max_chars,
    )
    return [candidates[at] for at in chosen]


def topics(texts: Sequence[str], n: int = 6) -> list[str]:
    """Return up to ``n`` terms shared by several titles or lines, best first; then the most telling other ones."""
    seen = [text[:_LINE_CHARS] for text in texts[-_MAX_TEXTS:]]
    spread: Counter[str] = Counter()
    for text in seen:
        spread.update(list(dict.fromkeys(fold(word) for word in content_words(text))))
    joined = "\n".join(seen)
    candidates = key_terms(joined, max(n, 0) * 5)
    scored = sorted(((_topic_score(term, spread), -rank, term) for rank, term in enumerate(candidates)), reverse=True)
    return [term for _, _, term in scored[: max(n, 0)]]


def _topic_score(term: str, spread: Counter[str]) -> float:
    """Score a topic by rarity × number of texts that have it, so that a shared term beats one from a single text."""
    parts = content_words(term)
    if not parts:
        return 0.0
    shared = min(spread[fold(part)] for part in parts)
    return math.log2(1 + shared) * (0.5 + max(rarity(part) for part in parts))
