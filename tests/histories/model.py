"""What a conversation promises, as a sequential object: from a state and an operation to the states that can follow.

A state is the conversation's messages in order, each by the mark in its text, an erased one with ``-`` before it; None
where there is no conversation. A mark is sent once by one client only, so it tells whose text any answer shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

State = tuple[str, ...] | None
ERASED = "-"


@dataclass(frozen=True)
class Done:
    """It was done; the answer says no more."""


@dataclass(frozen=True)
class Unknown:
    """No answer came, or one that leaves open whether it was done."""


@dataclass(frozen=True)
class Missing:
    """There is no such conversation or message."""


@dataclass(frozen=True)
class Fork:
    """The list contradicts what is stored."""


@dataclass(frozen=True)
class Placed:
    """So many messages were stored, the first one as this `seq`."""

    seq: int
    number: int


@dataclass(frozen=True)
class Shown:
    """The marks that an answer shows, in its order, with ERASED where the history has an erased message."""

    marks: tuple[str, ...]


@dataclass(frozen=True)
class Append:
    marks: tuple[str, ...]
    creates: bool = True


@dataclass(frozen=True)
class Sync:
    """The caller's whole list."""

    marks: tuple[str, ...]


@dataclass(frozen=True)
class Answer:
    """What the proxy stores after its question; nothing, if that was erased with its conversation meanwhile."""

    question: str
    mark: str


@dataclass(frozen=True)
class EraseMessage:
    seq: int


@dataclass(frozen=True)
class EraseAll:
    pass


@dataclass(frozen=True)
class History:
    pass


@dataclass(frozen=True)
class Branch:
    """A branch that was made at some time before: it shows the conversation up to there, as far as it is not erased."""


@dataclass(frozen=True)
class Window:
    """A window whose budget is enough for everything."""


@dataclass(frozen=True)
class Glimpse:
    """A window that holds only a part."""


@dataclass(frozen=True)
class Search:
    """For one mark."""

    mark: str


Write = Append | Sync | Answer | EraseMessage | EraseAll
Read = History | Branch | Window | Glimpse | Search
Result = Done | Unknown | Missing | Fork | Placed | Shown


def after(state: State, write: Write, result: Result) -> Sequence[State]:
    """Return the states that can follow a write with this result; none if the state does not allow the result."""
    expected, following = outcome(state, write)
    fits = result in (expected, Unknown()) or (result == Done() and isinstance(expected, Placed))
    return [following] if fits else []


def outcome(state: State, write: Write) -> tuple[Result, State]:
    """Return what a write answers in a state, and the state after it."""
    match write:
        case Append(marks, creates):
            return _placed(state, marks) if creates or state is not None else (Missing(), None)
        case Sync(marks):
            new = new_of(live_or_erased(state), marks)
            return (Fork(), state) if new is None else _placed(state, new)
        case Answer(question, mark):
            return _placed(state, (mark,) if question in live_or_erased(state) else ())
        case EraseMessage(seq):
            return _erased(state or (), seq) if seq <= len(state or ()) else (Missing(), state)
        case EraseAll():
            return (Missing() if state is None else Done()), None
        case _:
            assert_never(write)


def _placed(state: State, new: tuple[str, ...]) -> tuple[Result, State]:
    before = state or ()
    return (Placed(len(before) + 1, len(new)), before + new) if new else (Placed(0, 0), state)


def _erased(state: tuple[str, ...], seq: int) -> tuple[Result, State]:
    erased = ERASED + state[seq - 1].removeprefix(ERASED)
    return Done(), (*state[: seq - 1], erased, *state[seq:])


def live_or_erased(state: State) -> tuple[str, ...]:
    return tuple(mark.removeprefix(ERASED) for mark in state or ())


def new_of(stored: tuple[str, ...], listed: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return what a list adds to what is stored; None for a fork. See docs/clients.md."""
    same = 0
    while same < min(len(stored), len(listed)) and stored[same] == listed[same]:
        same += 1
    tail, rest = stored[same:], listed[same:]
    if not rest or not tail:
        return rest
    for length in range(min(len(rest), len(tail)), 0, -1):
        if rest[:length] == tail[-length:]:
            return rest[length:]
    is_old = len(rest) > 1 and any(tail[at : at + len(rest)] == rest for at in range(len(tail)))
    return () if is_old else None


def allows(state: State, read: Read, result: Result) -> bool:
    """Return whether the state shows this result."""
    if state is None or not isinstance(result, Shown):
        return state is None and result == Missing()
    live = tuple(mark for mark in state if not mark.startswith(ERASED))
    match read:
        case History():
            return result.marks == tuple(ERASED if mark.startswith(ERASED) else mark for mark in state)
        case Branch():
            now = tuple(ERASED if mark.startswith(ERASED) else mark for mark in state)
            return result.marks == now[: len(result.marks)]
        case Window():
            return result.marks == live
        case Glimpse():
            newest = {mark for mark in state[-1:] if mark in live}
            return newest <= set(result.marks) <= set(live)
        case Search(mark):
            return set(result.marks) <= set(live) and (mark in result.marks) == (mark in live)
        case _:
            assert_never(read)
