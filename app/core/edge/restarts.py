"""Decide how long to wait before something that ended is started again.

At once, unless it ends shortly after each start: then with growing pauses, so that a fault that stays costs little.
"""

from __future__ import annotations

STEADY_SECONDS = 10.0
"""What ran so long has started well."""
PAUSE_FIRST = 0.5
PAUSE_MAX = 5.0


def quick_ends(before: int, ran_seconds: float) -> int:
    """Return how many ends in a row came shortly after a start."""
    return 0 if ran_seconds >= STEADY_SECONDS else before + 1


def pause_seconds(quick: int) -> float:
    """Return the pause after so many quick ends in a row; the first one costs none."""
    return 0.0 if quick <= 1 else min(PAUSE_MAX, PAUSE_FIRST * 2.0 ** min(quick - 2, 16))
