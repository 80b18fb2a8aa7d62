"""The judge of histories accepts what a correct service can answer, and refuses what it cannot."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.histories.linearizable import Call, refute
from tests.histories.model import (
    ERASED,
    Answer,
    Append,
    Branch,
    Done,
    EraseAll,
    EraseMessage,
    Fork,
    Glimpse,
    History,
    Missing,
    Placed,
    Read,
    Result,
    Search,
    Shown,
    State,
    Sync,
    Unknown,
    Window,
    Write,
    allows,
    outcome,
)


def one_after_the_other(*pairs: tuple[Write | Read, Result]) -> list[Call]:
    return [Call(what, result, at, at + 0.5) for at, (what, result) in enumerate(pairs)]


Histories = dict[str, list[tuple[Write | Read, Result]]]

AB, CD = Append(("a", "b")), Append(("c", "d"))
FIRST: tuple[Write | Read, Result] = (AB, Placed(1, 2))

GOOD: Histories = {
    "an append, shown": [FIRST, (History(), Shown(("a", "b")))],
    "an erased message keeps its place": [FIRST, (EraseMessage(1), Done()), (History(), Shown((ERASED, "b")))],
    "a conversation begins anew": [FIRST, (EraseAll(), Done()), (Window(), Missing()), (CD, Placed(1, 2))],
    "a list goes on": [FIRST, (Sync(("a", "b", "c")), Placed(3, 1)), (Sync(("a", "b")), Placed(0, 0))],
    "an erased message is known in a list": [FIRST, (EraseMessage(1), Done()), (Sync(("a", "b", "c")), Placed(3, 1))],
    "a list that contradicts": [FIRST, (Sync(("a", "c", "d")), Fork())],
    "a branch": [FIRST, (CD, Placed(3, 2)), (EraseMessage(1), Done()), (Branch(), Shown((ERASED, "b", "c")))],
    "a part of it": [FIRST, (CD, Placed(3, 2)), (Glimpse(), Shown(("a", "d")))],
}
BROKEN: Histories = {
    "a lost message": [FIRST, (History(), Shown(("a",)))],
    "a lost append": [FIRST, (History(), Missing())],
    "a doubled message": [FIRST, (History(), Shown(("a", "b", "a", "b")))],
    "messages in another order": [FIRST, (History(), Shown(("b", "a")))],
    "a branch with another's words": [FIRST, (CD, Placed(3, 2)), (Branch(), Shown(("a", "b", "x")))],
    "an erased message in a branch": [FIRST, (EraseMessage(1), Done()), (Branch(), Shown(("a", "b")))],
    "a place given twice": [FIRST, (CD, Placed(1, 2))],
    "a gap": [FIRST, (CD, Placed(4, 2))],
    "a stale window": [FIRST, (CD, Placed(3, 2)), (Window(), Shown(("a", "b")))],
    "a stale search": [FIRST, (Search("a"), Shown(()))],
    "a foreign text": [FIRST, (Glimpse(), Shown(("b", "x")))],
    "an erased message in the history": [FIRST, (EraseMessage(1), Done()), (History(), Shown(("a", "b")))],
    "an erased message in a window": [FIRST, (EraseMessage(1), Done()), (Glimpse(), Shown(("a", "b")))],
    "an erased message in a search": [FIRST, (EraseMessage(1), Done()), (Search("b"), Shown(("a", "b")))],
    "a resurrected conversation": [FIRST, (EraseAll(), Done()), (CD, Placed(1, 2)), (Window(), Shown(tuple("abcd")))],
    "a conversation erased twice": [FIRST, (EraseAll(), Done()), (EraseAll(), Done())],
    "a list stored over another": [FIRST, (Sync(("a", "c", "d")), Placed(3, 2))],
    "a list stored twice": [FIRST, (Sync(("a", "b", "c")), Placed(3, 1)), (Sync(("a", "b", "c")), Placed(4, 1))],
}


@pytest.mark.parametrize("name", GOOD)
def test_what_can_be_is_accepted(name: str) -> None:
    assert refute(one_after_the_other(*GOOD[name])) is None


@pytest.mark.parametrize("name", BROKEN)
def test_what_cannot_be_is_refused(name: str) -> None:
    assert "none of these can come next" in str(refute(one_after_the_other(*BROKEN[name])))


def test_what_overlaps_can_come_in_either_order_but_in_one_only() -> None:
    writes = [Call(AB, Placed(3, 2), 0, 9), Call(CD, Placed(1, 2), 0, 9)]
    half, whole = Shown(("c", "d")), Shown(("c", "d", "a", "b"))
    assert refute([*writes, Call(History(), half, 1, 2), Call(Window(), whole, 3, 4)]) is None
    assert refute([*writes, Call(History(), whole, 1, 2), Call(Window(), half, 3, 4)])


def test_a_write_of_unknown_outcome_can_be_done_late_or_never_but_once() -> None:
    lost = Call(AB, Unknown(), 0)
    seen, gone = Call(History(), Shown(("a", "b")), 5, 6), Call(History(), Missing(), 1, 2)
    assert refute([lost]) is None
    assert refute([lost, gone]) is None
    assert refute([lost, gone, seen]) is None
    assert refute([lost, seen, replace(gone, began=7, ended=8)])
    assert refute([lost, Call(CD, Placed(3, 2), 2, 3), Call(History(), Shown(tuple("abcdab")), 5, 6)])


def test_a_list_can_bring_back_what_was_erased_with_its_conversation() -> None:
    sent_again = [FIRST, (EraseAll(), Done()), (Sync(("a",)), Placed(1, 1)), (History(), Shown(("a",)))]
    assert refute(one_after_the_other(*sent_again)) is None


def test_an_answer_comes_after_its_question_and_not_after_both_were_erased() -> None:
    ask = [Call(Append(("q",)), Done(), 0, 9), Call(Answer("q", "r"), Done(), 0, 9, follows=0)]
    erased = Call(EraseAll(), Done(), 3, 4)
    assert refute([*ask, Call(History(), Shown(("q", "r")), 10, 11)]) is None
    assert refute([*ask, Call(History(), Shown(("r", "q")), 10, 11)])
    assert refute([*ask, erased, Call(History(), Missing(), 10, 11)]) is None
    assert refute([*ask, erased, Call(History(), Shown(("r",)), 10, 11)])


class Conversation:
    """A correct one, used by several clients at once: each operation takes effect at some moment within its time."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.state: State = None
        self.marks = 0

    def history(self, number: int) -> list[Call]:
        return [self.call(at + self.rng.random()) for at in range(number)]

    def call(self, moment: float) -> Call:
        what = self.operation()
        began, ended = moment - self.rng.random() * 3, moment + self.rng.random() * 3
        if isinstance(what, Read):
            return Call(what, self.shown(what), began, ended)
        result, self.state = outcome(self.state, what)
        is_lost = self.rng.random() < 0.1
        return Call(what, Unknown(), began) if is_lost else Call(what, result, began, ended)

    def operation(self) -> Write | Read:
        rng, size = self.rng, len(self.state or ())
        self.marks += 2
        new = (f"{self.marks}", f"{self.marks + 1}")
        listed = tuple(mark.removeprefix(ERASED) for mark in self.state or ())
        choices: Sequence[Write | Read] = (
            Append(new), Append(new, creates=False), Sync((*listed, *new)), Sync((*listed[:-1], *new)),
            EraseMessage(rng.randrange(1, size + 3)), EraseAll(), History(), Window(), Glimpse(), Search(new[0]),
        )  # fmt: skip
        [found] = rng.choices(choices, (8, 2, 4, 1, 2, 1, 3, 3, 2, 2))
        return found

    def shown(self, what: Read) -> Result:
        if self.state is None:
            return Missing()
        history = tuple(ERASED if mark.startswith(ERASED) else mark for mark in self.state)
        shown = Shown(history) if isinstance(what, History) else Shown(tuple(m for m in history if m != ERASED))
        return Shown(()) if isinstance(what, Search) else shown


@given(st.integers(0, 2**32), st.integers(1, 60))
@settings(deadline=None)
def test_a_correct_conversation_is_never_refused(seed: int, number: int) -> None:
    assert refute(Conversation(random.Random(seed)).history(number)) is None


@given(st.integers(0, 2**32))
@settings(deadline=None)
def test_a_last_look_that_misses_a_live_message_is_always_refused(seed: int) -> None:
    conversation = Conversation(random.Random(seed))
    calls = [call for call in conversation.history(40) if call.result != Unknown()]
    state = conversation.state
    if len(calls) < 40 or state is None or state[-1].startswith(ERASED):
        return  # what was lost could explain it
    shown = Shown(tuple(ERASED if mark.startswith(ERASED) else mark for mark in state[:-1]))
    assert not allows(state, History(), shown)
    assert refute([*calls, Call(History(), shown, 100, 101)])
