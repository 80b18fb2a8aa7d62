"""Derive a window's growth, turn by turn, from stored offsets.

No window is assembled again. Within an epoch the head and the condensed zone are frozen and the verbatim zone has a
fixed beginning, so the content of the conversation's own window at the end of a turn is the epoch's sums plus a
difference of two offsets. What a single call loaded (its tail, a loaded result) is not included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PageTurn:
    """A page, and the running total of tokens before its first message."""

    page: int
    full_before: int


@dataclass(frozen=True, slots=True)
class Frozen:
    """The frozen tokens of an epoch, and the beginning of its verbatim zone."""

    number: int
    trigger_page: int
    """The page that was being written when it was made."""
    notes: int
    summary: int
    contents: int
    condensed: int
    verbatim_from: int
    """Running total of tokens before its first verbatim message."""


@dataclass(frozen=True, slots=True)
class Point:
    """The window at the end of a turn, without its tools, system segment and tail."""

    page: int
    epoch: int
    """0 before the first epoch."""
    opens_epoch: bool
    notes: int
    summary: int
    contents: int
    condensed: int
    recent: int
    so_far: int
    """All messages up to here, verbatim."""

    @property
    def total(self) -> int:
        return self.notes + self.summary + self.contents + self.condensed + self.recent


_BEGINNING = Frozen(0, 0, 0, 0, 0, 0, 0)


def growth(turns: Sequence[PageTurn], full_total: int, epochs: Sequence[Frozen], *, is_whole: bool) -> list[Point]:
    """Return a point for each turn. Turns and epochs are in order.

    ``is_whole``: the epochs are all that there are, so before the first the window was in none. Otherwise turns
    before the first known epoch are left out.
    """
    ends = [*(turn.full_before for turn in turns[1:]), full_total][: len(turns)]
    points = []
    before = None
    for turn, end in zip(turns, ends, strict=True):
        epoch = _in_force(epochs, turn.page)
        if epoch is None and not is_whole:
            continue
        points.append(_point(turn, end, epoch or _BEGINNING, before))
        before = points[-1]
    return points


def _in_force(epochs: Sequence[Frozen], page: int) -> Frozen | None:
    """Return the epoch at a page's end: the last one made until then."""
    return next((epoch for epoch in reversed(epochs) if epoch.trigger_page <= page), None)


def _point(turn: PageTurn, end: int, epoch: Frozen, before: Point | None) -> Point:
    return Point(
        page=turn.page,
        epoch=epoch.number,
        opens_epoch=epoch.trigger_page == turn.page if before is None else epoch.number != before.epoch,
        notes=epoch.notes,
        summary=epoch.summary,
        contents=epoch.contents,
        condensed=epoch.condensed,
        recent=max(0, end - epoch.verbatim_from),
        so_far=end,
    )
