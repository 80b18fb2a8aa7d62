"""Decide whether a series of measurements is flat. It rises if it grows by much, and by more than its noise."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

SLICES = 12
"""The slices of a run, each of which counts by its median."""
EACH_MIN = 8
"""The least mean number of values in a slice: with fewer, the median says nothing."""
RISE_MAX = 0.3
"""The largest growth over the whole run, as a share of the mean."""
ERRORS_MAX = 3.0
"""A slope that exceeds its standard error by this factor is not by chance."""


@dataclass(frozen=True, slots=True)
class Trend:
    rise: float
    """The growth of the regression line over the run, as a share of the mean."""
    errors: float
    """The slope in standard errors."""

    @property
    def is_flat(self) -> bool:
        return self.rise <= RISE_MAX or self.errors <= ERRORS_MAX


def slices(values: Sequence[tuple[float, float]], begin: float, end: float, number: int) -> list[list[float]]:
    """Divide (time, value) pairs into ``number`` equal parts of the time."""
    found: list[list[float]] = [[] for _ in range(number)]
    for at, value in values:
        if begin <= at < end:
            found[int((at - begin) / (end - begin) * number)].append(value)
    return found


def trend(levels: Sequence[float]) -> Trend:
    """Return the trend of values at equal distances."""
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
    """Return the trend of the slices' medians; None if there are too few values."""
    parts = slices(values, begin, end, SLICES)
    if sum(map(len, parts)) < EACH_MIN * SLICES or not all(parts):
        return None
    return trend([statistics.median(part) for part in parts])
