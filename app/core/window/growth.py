"""The growth of a window, turn by turn, as the inspector draws it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Point:
    """The window at the end of a turn, without its tools, system segment and tail."""

    window: int
    """Its number among those served."""
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
