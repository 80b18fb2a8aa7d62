"""What recall tools bring in takes the reserve and what is free; the body never moves for it."""

from __future__ import annotations

from copy import deepcopy

from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.model import Format
from app.core.window import paging
from app.core.window.budget import recall_room
from tests.core.book import Book, Seen
from tests.core.conversations import Message, result, user


def recalls(*ids: str) -> Message:
    made = [{"id": i, "type": "function", "function": {"name": "recall_page", "arguments": '{"page":1}'}} for i in ids]
    return {"role": "assistant", "content": None, "tool_calls": made}


def turn(tokens: int) -> list[Message]:
    return [user("q" * tokens), {"role": "assistant", "content": "a" * 3 * tokens}]


def brought_in(book: Book, budget: int) -> str:
    """The most that a tool brings in now."""
    wanted = book.profile(budget)
    room = recall_room(wanted.shares, paging.growth_left(book.totals, wanted.shares, wanted.policy))
    return "r" * 4 * (room.most - 1)


def codes(seen: Seen) -> list[str]:
    return [warning.code for warning in seen.window.warnings]


@settings(max_examples=15)
@given(st.integers(30, 150), st.sampled_from((2_000, 4_000)), st.sampled_from(("openai", "anthropic")))
def test_a_recall_at_any_time_leaves_the_body_where_it_is(size: int, budget: int, form: Format) -> None:
    book = Book()
    for _ in range(budget // size // 2):
        book.append([*turn(size), user("and before?")])
        before = book.window(budget, form)
        recalled = deepcopy(book)
        recalled.append([recalls("a"), result("a", brought_in(book, budget))])
        seen = recalled.window(budget, form)
        assert "window_squeezed" not in codes(seen)
        assert seen.window.body[-1].passing
        if seen.layout == before.layout:
            assert seen.window.number == before.window.number
            assert seen.stable[: len(before.stable)] == before.stable


def test_of_several_recalls_the_newest_stays_in_full_and_marks_stand_for_those_before_it() -> None:
    book = Book()
    while paging.growth_left(book.totals, (wanted := book.profile(4_000)).shares, wanted.policy) > 600:
        book.append(turn(40))
    book.append([user("and before?")])
    shown = []
    for name in "abc":
        book.append([recalls(name), result(name, name * 4 * 480)])
        seen = book.window(4_000)
        assert "window_squeezed" not in codes(seen)
        shown.append([p.text[-20] for p in seen.window.body if p.passing])
    assert [names[-1] for names in shown] == ["a", "b", "c"]
    assert len(shown[-1]) < 3


def test_of_parallel_recalls_that_do_not_fit_the_last_is_in_full() -> None:
    book = Book()
    while paging.growth_left(book.totals, (wanted := book.profile(4_000)).shares, wanted.policy) > 300:
        book.append(turn(40))
    book.append([recalls("a", "b"), result("a", "a" * 4 * 480), result("b", "b" * 4 * 480)])
    seen = book.window(4_000)
    assert codes(seen) == []
    assert [p.text[-20] for p in seen.window.body if p.passing] == ["b"]
