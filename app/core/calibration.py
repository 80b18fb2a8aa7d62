"""How many tokens a conversation's model makes of a hundred of ours.

Windows are counted with one vocabulary. Other vendors' tokenizers make more of the same text: the safety margin holds
what they make up to 10/9, and what is beyond that is learned from what callers report after their model was asked.
What is learned only rises. Each change begins a new epoch, so it goes by steps; and a model that makes fewer tokens of
the next window, in another language perhaps, makes more of one after it.
"""

from __future__ import annotations

from dataclasses import dataclass

OURS = 100
"""Percent of ours: as o200k_base counts."""
STEP = 5
PERCENT_MAX = 200
"""A report beyond this is of no tokenizer: there was more in the prompt than the window."""
WINDOW_TOKENS_MIN = 500
"""Of a smaller window, what a model's API adds to every prompt is too large a part."""


@dataclass(frozen=True, slots=True)
class ReportedUsage:
    """A model call as its API counted it."""

    window_tokens: int
    """The window's ``usage.total``."""
    prompt_tokens: int
    """All that the model read for it, from its cache or not."""


def risen(percent: int, reported: ReportedUsage) -> int:
    """What is known after a report. Up to a step more than what is known is left to the safety margin."""
    if reported.window_tokens < WINDOW_TOKENS_MIN:
        return percent
    seen = -(-reported.prompt_tokens * OURS // reported.window_tokens)
    if not percent + STEP < seen <= PERCENT_MAX:
        return percent
    return -(-seen // STEP) * STEP
