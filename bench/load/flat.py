"""Whether what is measured all the while is flat: it rises when it grows by much, and by more than its noise."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

SLICES = 12
"""Of a run, of each of which the median counts."""
EACH_MIN = 8
"""Values in a slice, on the average: of fewer the median says nothing."""
RISE_MAX = 0.3
"""Over the whole run, as a part of the mean."""
ERRORS_MAX = 3.0
"""A slope so many times as large as its standard error is no chance."""


@dataclass(frozen=True, slots=True)
class Trend:
    rise: float
    """By a straight line over the run, as a part of the mean."""
    errors: float
    """The slope in standard errors."""

    @property
    def is_flat(self) -> bool:
        return self.rise <= RISE_MAX or self.errors <= ERRORS_MAX


def slices(values: Sequence[tuple[float, float]], begin: float, end: float, number: int) -> list[list[float]]:
    """Values by their times, in so many parts of the time between."""
    found: list[list[float]] = [[] for _ in range(number)]
    for at, value in values:
        if begin <= at < end:
            found[int((at - begin) / (end - begin) * number)].append(value)
    return found


def trend(levels: Sequence[float]) -> Trend:
    """Of values at equal distances."""
    number = len(levels)
    mean = statistics.fmean(levels)
    if number < 3 or mean <= 0:
        return Trend(0.0, 0.0)
    slope, first = statistics.linear_regression(range(number), levels)
    left = sum((level - first - slope * at) ** 2 for at, level in enumerate(levels))
    error = (left / (number - 2) / (number * (number * number - 1) / 12)) ** 0.5
    rise = slope * (number - 1) / mean
    return Trend(rise, slope / error if error > 0 else float("inf") if slope > 0 else 0.0)


def trend_of(values: Sequence[tuple[float, float]], begin: float, end: float) -> Trend | None:
    """Of medians; None where they are too few to say."""
    parts = slices(values, begin, end, SLICES)
    if sum(map(len, parts)) < EACH_MIN * SLICES or not all(parts):
        return None
    return trend([statistics.median(part) for part in parts])
