"""How windows use their budget: how full they are, what keeps its place, and what is in view.

A window is measured before each model call. It is *outgrown* if its history would not fit nine tenths of the budget,
tools included; in the history an archived result counts as the placeholder that stands for it.

* Fill: tokens of an outgrown window, of its budget.
* Prefix: tokens of a window that the window before it begins with too.
* Reuse: of the messages that were in the window before and still are, the tokens that kept their place in the prefix.
  At small budgets new messages alone are a large part of a window; reuse leaves them out.
* Cost: tokens of a call with a prompt cache, as in bench/money.py.
* In view: tokens of the history that a window has word for word; archived results are left out.
* Whole: of windows whose history would fit with a margin of a tenth, those that have every message word for word.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from statistics import fmean

from bench.tables import Table
from bench.window import money

ARCHIVED_CHARACTERS = 10_000
PLACEHOLDER_TOKENS = 330
OUTGROWN, FITS = 0.9, 0.8
"""Shares of the budget above which a history cannot fit, and up to which it surely does, with the tools' guide."""


@dataclass(frozen=True)
class Shown:
    """A window: its tools and messages with their tokens, and its history."""

    parts: money.Prompt
    said: frozenset[tuple[str, ...]]
    """The texts of its messages, each as in ``bench.window.evidence.texts_of``."""
    history: Sequence[tuple[tuple[str, ...], int]]
    """The texts of each message before the call, and its tokens as charged by Quire, without the system prompt."""

    @property
    def tokens(self) -> int:
        return sum(tokens for _, tokens in self.parts)

    @property
    def needed(self) -> int:
        """Return the tokens of tools and history, with placeholders for archived results."""
        return self.parts[0][1] + sum(PLACEHOLDER_TOKENS if _archived(one) else n for one, n in self.history)

    def in_view(self) -> float:
        kept = [(one in self.said, tokens) for one, tokens in self.history if one and not _archived(one)]
        return sum(tokens for held, tokens in kept if held) / max(sum(tokens for _, tokens in kept), 1)


def _archived(texts: tuple[str, ...]) -> bool:
    return any(len(text) > ARCHIVED_CHARACTERS for text in texts)


def row(name: str, budget: int, conversations: Sequence[Sequence[Shown]]) -> Sequence[str]:
    """Return the table's row for the windows of some conversations at a budget."""
    windows = [window for one in conversations for window in one]
    outgrown = [window for window in windows if window.needed > budget * OUTGROWN]
    fitting = [window for window in windows if window.needed <= budget * FITS]
    pairs = [pair for one in conversations for pair in pairwise(one)]
    cost = sum(money.bill(window.parts for window in one).cached for one in conversations)
    kept, could = (sum(tokens) for tokens in zip(*map(_reused, pairs), strict=True)) if pairs else (0, 0)
    return (
        name,
        f"{budget:,}",
        f"{len(windows)}",
        _mean([window.tokens / budget for window in outgrown]),
        _mean([_common(before, after) / after.tokens for before, after in pairs]),
        f"{kept / max(could, 1):.3f}",
        f"{cost / len(windows):,.0f}",
        _mean([window.in_view() for window in windows]),
        f"{sum(window.in_view() == 1 for window in fitting)} of {len(fitting)}",
    )


def _reused(pair: tuple[Shown, Shown]) -> tuple[int, int]:
    """Return the tokens of the common prefix, and of everything that both windows have."""
    before, after = pair
    had = set(before.parts)
    return _common(before, after), sum(part[1] for part in after.parts if part in had)


def _common(before: Shown, after: Shown) -> int:
    same = takewhile(lambda two: two[0] == two[1], zip(before.parts, after.parts, strict=False))
    return sum(part[1] for part, _ in same)


def _mean(values: Sequence[float]) -> str:
    return f"{fmean(values):.3f}" if values else "–"


def table(rows: Sequence[Sequence[str]]) -> Table:
    return Table(
        "Window use",
        ("set", "budget", "windows", "fill", "prefix", "reuse", "cost", "in view", "whole"),
        rows,
        (
            (
                "Means over the windows before each model call. Fill: of the budget, where the history does not fit. "
                "Prefix: of a window, what the one before begins with too. Reuse: of what was in the window before and "
                "still is, what kept its place. Cost: tokens of a call with a prompt cache. In view: of the history, what "
                "is there word for word. Whole: of windows whose history fits, those that have all of it. Exactly: "
                "bench/window_use.py."
            ),
        ),
    )
