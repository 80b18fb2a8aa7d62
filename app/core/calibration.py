"""Learn how many tokens a conversation's model makes of a hundred of ours.

Windows are counted with one vocabulary. Other vendors' tokenizers make more tokens of the same text: the safety margin
covers up to 10/9, and anything beyond is learned from the usage that callers report. The ratio only rises. Each change
begins a new epoch, so it rises in steps; and a model that makes fewer tokens of the next window, perhaps in another
language, makes more of a later one.
"""

from __future__ import annotations

from dataclasses import dataclass

OURS = 100
"""Percent of ours: as o200k_base counts."""
STEP = 5
PERCENT_MAX = 200
"""A report beyond this is of no tokenizer: there was more in the prompt than the window."""
WINDOW_TOKENS_MIN = 500
"""In a smaller window, what a model's API adds to every prompt would distort the ratio."""


@dataclass(frozen=True, slots=True)
class ReportedUsage:
    """A model call as its API counted it."""

    window_tokens: int
    """The window's ``usage.total``."""
    prompt_tokens: int
    """All that the model read for it, from its cache or not."""


def risen(percent: int, reported: ReportedUsage) -> int:
    """Return the ratio after a report. Up to one step more than the known ratio is left to the safety margin."""
    if reported.window_tokens < WINDOW_TOKENS_MIN:
        return percent
    seen = -(-reported.prompt_tokens * OURS // reported.window_tokens)
    if not percent + STEP < seen <= PERCENT_MAX:
        return percent
    return -(-seen // STEP) * STEP
