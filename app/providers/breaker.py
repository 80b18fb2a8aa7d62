"""Decide when to leave a failing provider alone: a circuit breaker, as values.

::

    Closed ── enough failures in a row ──> Open ── its time is over, one call is let through ──> HalfOpen
      ^                                     ^                                                       │
      │                                     └───────────── the probe failed ────────────────────────┤
      └──────────────────────────────────────────────────── the probe succeeded ────────────────────┘

A call is let in by `admit`, which says whether it is the probe, and is reported exactly once: `succeeded`, `failed`
or, where it was cancelled and nothing was learnt, `abandoned`. While the circuit is not closed only the probe's
report counts; calls that were let in earlier come too late to say anything.
"""

from dataclasses import dataclass
from typing import assert_never


@dataclass(frozen=True, slots=True)
class BreakerPolicy:
    failures: int = 5
    """Failures in a row that open the circuit."""
    open_seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class Closed:
    failures: int = 0
    """In a row, so far."""


@dataclass(frozen=True, slots=True)
class Open:
    until: float
    """The time, on the caller's clock, from which a probe is let through."""


@dataclass(frozen=True, slots=True)
class HalfOpen:
    """One probe is out."""


State = Closed | Open | HalfOpen


@dataclass(frozen=True, slots=True)
class Admitted:
    probe: bool


@dataclass(frozen=True, slots=True)
class Refused:
    seconds: float
    """How long to pause; above zero."""


def admit(state: State, now: float, policy: BreakerPolicy) -> tuple[State, Admitted | Refused]:
    match state:
        case Closed():
            return state, Admitted(probe=False)
        case Open(until) if now < until:
            return state, Refused(until - now)
        case Open():
            return HalfOpen(), Admitted(probe=True)
        case HalfOpen():
            return state, Refused(policy.open_seconds)
    assert_never(state)


def succeeded(state: State, call: Admitted) -> State:
    return Closed() if call.probe or isinstance(state, Closed) else state


def failed(state: State, call: Admitted, now: float, policy: BreakerPolicy) -> State:
    if call.probe:
        return Open(now + policy.open_seconds)
    if not isinstance(state, Closed):
        return state
    failures = state.failures + 1
    return Open(now + policy.open_seconds) if failures >= policy.failures else Closed(failures)


def abandoned(state: State, call: Admitted, now: float) -> State:
    """Let the next call be the probe, because a cancelled probe shows nothing."""
    return Open(now) if call.probe else state
