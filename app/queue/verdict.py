"""Verdicts on a job that failed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class TryAgain:
    """Try the job again later. A transient attempt does not count towards a dead letter."""

    error: str
    seconds: float
    is_transient: bool = False


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """Do not try the job again until a person or new work revives it."""

    error: str


@dataclass(frozen=True, slots=True)
class StopLane:
    """Give the job back and pause its lane: no job of the lane would succeed now."""

    error: str


Verdict: TypeAlias = TryAgain | DeadLetter | StopLane
