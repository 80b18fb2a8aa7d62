"""Learn how many tokens a conversation's model makes of a hundred of ours.

Windows are counted with one vocabulary, o200k_base. The models that use it count the same, so their budgets have no
margin. Other vendors' tokenizers make more tokens of the same text: they are charged UNREPORTED until a caller has
reported what its API counted, and from then on what was reported, with a rest for other texts. The ratio only rises.
Each change begins a new epoch, so it rises in steps; and a model that makes fewer tokens of the next window, perhaps in
another language, makes more of a later one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

OURS = 100
"""Percent of ours: as o200k_base counts. A conversation has it until its model's API has reported more."""
UNREPORTED = 112
"""What a model of another vocabulary is charged before its API has reported anything: a margin of a tenth."""
STEP = 5
"""The ratio rises in steps of so many percent; one step more is left to what other texts or the API add."""
PERCENT_MAX = 200
"""A report beyond this counts as this: there was more in the prompt than the window."""
WINDOW_TOKENS_MIN = 500
"""In a smaller window, what a model's API adds to every prompt would distort the ratio."""


@dataclass(frozen=True, slots=True)
class ReportedUsage:
    """A model call as its API counted it."""

    window_tokens: int
    """The window's ``usage.total``."""
    prompt_tokens: int
    """All that the model read for it, from its cache or not."""


def charged(percent: int, *, is_exact: bool, unreported: int = UNREPORTED) -> int:
    """Return the percent that windows are laid out with. ``is_exact``: the model counts with our vocabulary;
    ``unreported``: what it is charged before any report.
    """
    if is_exact:
        return percent
    return percent + STEP if percent > OURS else unreported


def risen(percent: int, reported: ReportedUsage, *, is_exact: bool) -> int:
    """Return the ratio after a report: more than OURS after any report of a model that does not count as we do."""
    if reported.window_tokens < WINDOW_TOKENS_MIN:
        return percent
    seen = min(PERCENT_MAX, -(-reported.prompt_tokens * OURS // reported.window_tokens))
    if percent + STEP < seen or (not is_exact and percent == OURS < seen):
        return -(-seen // STEP) * STEP
    return percent if is_exact else max(percent, OURS + 1)


class FileWeight(NamedTuple):
    """The tokens of the files of one kind in a message."""

    seq: int
    kind: str
    usual: int
    """By the usual estimate."""
    counted: int
    """As they were charged when the message came."""


FILE_PERCENTS = 25, 400
"""Bounds of what is learned of files, in percent of the usual estimate."""


FILES_KEPT = 100
"""Of a conversation's newest messages with files, those whose weights are kept."""


def told_apart(
    known: Mapping[str, int], shown: Sequence[FileWeight], reported: ReportedUsage, percent: int
) -> tuple[Mapping[str, int], ReportedUsage]:
    """Return what files weigh, in percent of the usual, after a report for a window, and what it says of the text
    beside them. ``shown``: the window's files; those of one kind tell what it weighs. ``percent``: the ratio that
    every count is charged with anyway.
    """
    if len(kinds := {weight.kind for weight in shown}) != 1:
        return known, reported
    text = reported.window_tokens - sum(weight.counted for weight in shown)
    usual = sum(weight.usual for weight in shown) * percent
    least, most = FILE_PERCENTS
    seen = (reported.prompt_tokens - text * percent // OURS) * OURS * OURS // max(1, usual)
    learned = min(most, max(least, seen))
    rest = max(0, reported.prompt_tokens - usual * learned // (OURS * OURS))
    return {**known, kinds.pop(): learned}, ReportedUsage(max(0, text), rest)
