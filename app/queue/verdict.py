"""What becomes of a job that failed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class TryAgain:
    """Later; ``excused`` attempts do not count towards a dead letter."""

    error: str
    seconds: float
    excused: bool = False


@dataclass(frozen=True, slots=True)
class Bury:
    """Never, until a person or a new enqueueing brings it back."""

    error: str


@dataclass(frozen=True, slots=True)
class StopLane:
    """Nothing in its lane would work: the job is given back, and the lane rests."""

    error: str


Verdict: TypeAlias = TryAgain | Bury | StopLane
