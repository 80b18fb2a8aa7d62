"""Show once what was said several times.

The newest is shown, because a fact may have changed and changed back in between: of Berlin, Paris and Berlin again the
last is true. It takes the place of the best, and the others are counted.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from datetime import datetime
from typing import NamedTuple


class Told(NamedTuple):
    """A result: what it states, equal for all that say the same, and when it was said."""

    statement: Hashable
    said: tuple[datetime, int, int]


class RepeatedStatement(NamedTuple):
    """A statement: the index of the newest result, and those of the others, best first."""

    newest: int
    others: tuple[int, ...]

    @property
    def best(self) -> int:
        return min(self.newest, *self.others) if self.others else self.newest


def each_once(results: Sequence[Told]) -> list[RepeatedStatement]:
    """Return each statement of some results, best first like them."""
    places: dict[Hashable, list[int]] = {}
    for place, result in enumerate(results):
        places.setdefault(result.statement, []).append(place)
    return [_repeated(results, same) for same in places.values()]


def _repeated(results: Sequence[Told], same: Sequence[int]) -> RepeatedStatement:
    newest = max(same, key=lambda place: (results[place].said, -place))
    return RepeatedStatement(newest, tuple(place for place in same if place != newest))
