"""Summarise a run of pages by its most informative lines."""

from collections.abc import Sequence

from app.extractive import patterns
from app.extractive.salient import choose
from app.text.language import clip, squeeze

_MAX_LINES = 80
_LINE_CHARS = 400
# How much the words of each role are worth keeping, other things being equal.
ROLE_WEIGHT = {"user": 1.25, "assistant": 1.0, "tool": 0.75, "function": 0.75, "system": 0.6, "developer": 0.6}


def summarize_lines(lines: Sequence[tuple[str, str]], *, max_items: int, max_chars: int) -> list[str]:
    """Return the most informative lines of (role, line) pairs in order, without repetition.

    ``max_chars`` bounds the total, with one character between lines. A line longer than a fair share of it is cut.
    """
    longest = min(_LINE_CHARS, max_chars)
    return [
        clip(squeeze(lines[at][1][:2000]), longest)
        for at in pick_lines(lines, max_items=max_items, max_chars=max_chars)
    ]


def pick_lines(lines: Sequence[tuple[str, str]], *, max_items: int, max_chars: int) -> list[int]:
    """Return the indices of the lines that ``summarize_lines`` keeps, in ascending order."""
    if max_items <= 0 or max_chars <= 0 or not lines:
        return []
    longest = min(_LINE_CHARS, max_chars)
    texts = [clip(squeeze(line[:2000]), longest) for _, line in lines]
    weights = [
        ROLE_WEIGHT.get(role, 0.8) * patterns.salience(text) * (0.9 + 0.2 * (at + 1) / len(lines)) if text else 0.0
        for at, ((role, _), text) in enumerate(zip(lines, texts, strict=True))
    ]
    # MMR compares every candidate with every choice, so only the lines with the highest weights are candidates.
    candidates = sorted(sorted(range(len(texts)), key=lambda at: -weights[at])[:_MAX_LINES])
    chosen = choose(
        [texts[at] for at in candidates],
        [weights[at] for at in candidates],
        max_items=max_items,
        max_chars=max_chars,
    )
    return [candidates[at] for at in chosen]
