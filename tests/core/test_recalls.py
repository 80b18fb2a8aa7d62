"""Texts that recall tools load are shown in full until the next user message. If they do not fit, a cut is made."""

from __future__ import annotations

from copy import deepcopy

from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.model import Format
from app.core.window.budget import recall_room
from tests.by_turns import examples
from tests.core.book import Book, Seen
from tests.core.conversations import Message, result, user


def recalls(*ids: str) -> Message:
    made = [{"id": i, "type": "function", "function": {"name": "recall_page", "arguments": '{"page":1}'}} for i in ids]
    return {"role": "assistant", "content": None, "tool_calls": made}


def turn(tokens: int) -> list[Message]:
    return [user("q" * tokens), {"role": "assistant", "content": "a" * 3 * tokens}]


def brought_in(book: Book, budget: int) -> str:
    """Return the largest text that a tool loads."""
    return "r" * 4 * (recall_room(book.profile(budget).shares).most - 1)


def codes(seen: Seen) -> list[str]:
    return [warning.code for warning in seen.window.warnings]


@settings(max_examples=examples(15))
@given(st.integers(30, 150), st.sampled_from((2_000, 4_000)), st.sampled_from(("openai", "anthropic")))
def test_a_recall_at_any_time_is_in_full_and_moves_nothing_but_by_a_cut(size: int, budget: int, form: Format) -> None:
    book = Book()
    for _ in range(budget // size // 2):
        book.append([*turn(size), user("and before?")])
        before = book.window(budget, form)
        recalled = deepcopy(book)
        recalled.append([recalls("a"), result("a", brought_in(book, budget))])
        seen = recalled.window(budget, form)
        assert "window_squeezed" not in codes(seen)
        assert seen.window.body[-1].passing
        if seen.window.number == before.window.number:
            assert seen.stable[: len(before.stable)] == before.stable


@settings(max_examples=examples(15))
@given(st.integers(30, 150), st.integers(1, 6))
def test_recalls_of_one_page_stay_as_they_are_until_a_cut(size: int, times: int) -> None:
    book = Book()
    for _ in range(4_000 // size // 2):
        book.append(turn(size))
    book.append([user("and before?")])
    before = book.window(4_000)
    for name in range(times):
        book.append([recalls(f"r{name}"), result(f"r{name}", str(name) * 4 * 480)])
        seen = book.window(4_000)
        assert "window_squeezed" not in codes(seen)
        assert seen.window.body[-1].passing
        if seen.window.number == before.window.number:
            assert seen.stable[: len(before.stable)] == before.stable
        before = seen


def test_a_cut_that_a_recall_brought_forward_stays_when_its_page_is_over() -> None:
    book = Book()
    while book.window(4_000).window.ledger.total < 3_000:
        book.append(turn(40))
    before = book.window(4_000)
    book.append([user("and before?"), recalls("a"), result("a", brought_in(book, 4_000))])
    cut = book.window(4_000)
    assert cut.window.number > before.window.number
    book.append([user("thanks")])
    after = book.window(4_000)
    assert after.cut == cut.cut
    assert after.stable[: len(cut.window.body) - 1] == cut.stable[: len(cut.window.body) - 1]  # the mark follows
