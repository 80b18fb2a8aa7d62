"""Decide whether a recorded history is linearizable: whether some order of its operations explains every answer.

The order must keep an operation that ended before another began before it, and the model must allow each answer. A
search after Wing and Gong, with the memory of Lowe: from what is done and the state that it led to, no place is
looked at twice. Three things keep it short. A read that the state allows is taken at once, since it changes nothing.
A write whose answer never came can take effect at any time after it began, or never; it is tried last. And a state is
given up at once if the next look at the conversation can no longer be reached from it: see `_Search._leads_on`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.histories.model import (
    ERASED,
    Answer,
    Append,
    Done,
    EraseAll,
    EraseMessage,
    History,
    Placed,
    Read,
    Result,
    Shown,
    State,
    Sync,
    Unknown,
    Window,
    Write,
    allows,
    live_or_erased,
)
from tests.histories.model import after as states_after

NEVER = math.inf
PLACES_MAX = 20_000
"""Places that a search looks at before it gives up: a history is then neither explained nor refuted."""


@dataclass(frozen=True)
class Call:
    """An operation as a client saw it. Without an answer it never ended."""

    what: Write | Read
    result: Result
    began: float
    ended: float = NEVER
    follows: int | None = None
    """The place in the history of the operation that must take effect before this one."""
    by: str = ""

    @property
    def is_write(self) -> bool:
        return isinstance(self.what, Append | Sync | Answer | EraseMessage | EraseAll)


class Undecided(Exception):  # noqa: N818 - neither of both
    """The search was given up."""


def refute(history: Sequence[Call]) -> str | None:
    """Return why no order of the operations explains the history; None if one does. Raises Undecided."""
    search = _Search(history)
    waiting: list[Iterator[_Place]] = [iter([search.settle(_Place(0, None))])]
    while waiting:
        place = next(waiting[-1], None)
        if place is None:
            waiting.pop()
        elif search.is_over(place.done):
            return None
        elif search.is_new(place):
            if len(search.seen) > PLACES_MAX:
                raise Undecided
            waiting.append(search.next_places(place))
    return search.furthest_words()


@dataclass(frozen=True)
class _Place:
    """What is done, as bits by place in the history, and the state that it led to."""

    done: int
    state: State


class _Search:
    def __init__(self, history: Sequence[Call]) -> None:
        self.calls = history
        self._by_begin = sorted(range(len(history)), key=lambda at: history[at].began)
        self._by_end = sorted(self._by_begin, key=lambda at: history[at].ended)
        self._answered = sum(1 << at for at, call in enumerate(history) if call.ended != NEVER)
        brought = Counter(mark for call in history for mark in _marks_of(call))
        self._listed = {mark for mark, times in brought.items() if times > 1}
        """What a list can bring again."""
        self._writers = {
            mark: at
            for at, call in enumerate(history)
            for mark in (() if isinstance(call.what, Sync) else _marks_of(call))
            if mark not in self._listed
        }
        self.seen: set[_Place] = set()
        self._furthest = _Place(0, None)

    def is_over(self, done: int) -> bool:
        return self._answered & ~done == 0

    def is_new(self, place: _Place) -> bool:
        if place in self.seen:
            return False
        self.seen.add(place)
        if (place.done & self._answered).bit_count() >= (self._furthest.done & self._answered).bit_count():
            self._furthest = place
        return True

    def next_places(self, place: _Place) -> Iterator[_Place]:
        """Yield where one more write leads, those with an answer first."""
        candidates = [at for at in self._candidates(place.done) if self.calls[at].is_write]
        for at in sorted(candidates, key=lambda at: self.calls[at].ended):
            call = self.calls[at]
            assert not isinstance(call.what, Read)
            for state in states_after(place.state, call.what, call.result):
                if state == place.state and call.ended == NEVER:
                    continue  # it could as well never be done
                settled = self.settle(_Place(place.done | 1 << at, state))
                if self._leads_on(settled):
                    yield settled

    def settle(self, place: _Place) -> _Place:
        """Take every read that the state allows."""
        done = place.done
        while True:
            taken = sum(1 << at for at in self._candidates(done) if self._reads(at, place.state))
            if not taken:
                return _Place(done, place.state)
            done |= taken

    def _leads_on(self, place: _Place) -> bool:
        """Return whether the next look at the whole conversation, by its end, can still come true.

        A mark comes once, unless a list brings it again. So if the look shows one of the state's, nobody erases the
        conversation before it: what else is there now is shown too, in this order and before anything new, unless
        its message is erased meanwhile.
        """
        left = [at for at in self._by_end if not place.done >> at & 1]
        look = next((self.calls[at] for at in left if isinstance(self.calls[at].what, History | Window)), None)
        if look is None:
            return True
        seen = look.result.marks if isinstance(look.result, Shown) else ()
        live = [mark for mark in place.state or () if not mark.startswith(ERASED)]
        there = set(live_or_erased(place.state))
        shared = [mark for mark in seen if mark in there]
        new = [mark for mark in seen if mark != ERASED and mark not in there]
        if any(place.done >> self._writers.get(mark, len(self.calls)) & 1 for mark in new):
            return False  # it was there, and came to an end
        erasing = [self.calls[at].what for at in left if self.calls[at].began < look.ended]
        if set(shared) <= self._listed and EraseAll() in erasing:
            return True
        gone = {mark for seq, mark in enumerate(place.state or (), 1) if EraseMessage(seq) in erasing}
        kept = [mark for mark in live if mark in shared or mark not in gone]
        return [*kept, *new] == [mark for mark in seen if mark != ERASED]

    def _reads(self, at: int, state: State) -> bool:
        call = self.calls[at]
        return isinstance(call.what, Read) and allows(state, call.what, call.result)

    def _candidates(self, done: int) -> list[int]:
        """Return what can come next: what began before anything that is not done ended."""
        left = (at for at in self._by_end if not done >> at & 1)
        horizon = self.calls[first].ended if (first := next(left, None)) is not None else NEVER
        found = []
        for at in self._by_begin:
            if self.calls[at].began > horizon:
                break
            follows = self.calls[at].follows
            if not done >> at & 1 and (follows is None or done >> follows & 1):
                found.append(at)
        return found

    def furthest_words(self) -> str:
        place = self._furthest
        left = [self.calls[at] for at in self._candidates(place.done)]
        done = (place.done & self._answered).bit_count()
        shown = f"{done} of {self._answered.bit_count()} answers are explained, up to the state {place.state}"
        return f"{shown}; none of these can come next:\n{listed(left)}"


def listed(calls: Sequence[Call]) -> str:
    """Return a line for each call, in the order in which they began."""
    ordered = sorted(calls, key=lambda call: call.began)
    return "\n".join(f"  [{c.began:.3f}, {c.ended:.3f}] {c.by} {c.what} -> {c.result}" for c in ordered)


def _marks_of(call: Call) -> tuple[str, ...]:
    """Return what an operation wrote, or can have written."""
    match call.what, call.result:
        case Append(marks), _:
            return marks
        case Answer(_, mark), _:
            return (mark,)
        case Sync(marks), Placed(_, number):
            return marks[len(marks) - number :]
        case Sync(marks), Unknown() | Done():
            return marks
        case _:
            return ()
