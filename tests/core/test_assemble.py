"""Fitting a window: what takes precedence in a tight budget."""

from __future__ import annotations

from datetime import timedelta

import pytest

from app.core.model import Policy, TailItem
from app.core.window.assemble import TAIL_OVERHEAD, free_for_tail, with_tail
from app.core.window.budget import usable
from app.core.window.head import FRAMES, keeps
from app.core.window.render import TAIL_FRAMES
from app.errors import BudgetTooSmall
from tests.core.apis import openai_problems
from tests.core.book import Book, Seen, count
from tests.core.conversations import Message, result, user


def recall(call_id: str) -> Message:
    call = {"id": call_id, "type": "function", "function": {"name": "recall_page", "arguments": '{"page": 1}'}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def book_of(*messages: Message) -> Book:
    book = Book(Policy(active_pages=100))
    book.append(messages)
    return book


def seqs(seen: Seen) -> list[int]:
    return [p.seq for p in seen.window.body]


def test_the_newest_user_message_is_kept_whatever_happens() -> None:
    book = book_of(user("a" * 400), user("b" * 400), {"role": "assistant", "content": "c" * 4000})
    with pytest.raises(BudgetTooSmall) as caught:
        book.window(100)
    smallest = caught.value.extra["minimum_budget"]
    seen = book.window(smallest)
    assert seqs(seen) == [2]
    assert [w.code for w in seen.window.warnings] == ["window_squeezed"]
    assert (seen.window.pages.verbatim, seen.window.pages.unlisted) == ((), 2)


def test_an_empty_conversation_has_a_window() -> None:
    seen = Book().window(1000)
    assert [m["role"] for m in seen.messages] == ["system"]
    assert seen.window.pages.unlisted == 0


def test_loaded_text_is_shown_in_full_until_the_next_user_message() -> None:
    book = book_of(user("what did we say?"), recall("a"), result("a", "the page " * 40))
    first = book.window(10_000)
    assert "the page the page" in first.text
    assert first.rendered.stable.count == 4  # system, question, call, result
    book.append([{"role": "assistant", "content": "This."}])
    assert "the page the page" in book.window(10_000).text
    book.append([user("thanks")])
    after = book.window(10_000)
    assert "the page the page" not in after.text
    assert after.text.count("was shown in full at the time") == 1
    assert after.window.number == first.window.number  # a mark replaces it; nothing before it moved
    assert after.texts[:3] == first.texts[:3]


def test_loaded_text_can_displace_messages_and_is_a_mark_afterwards() -> None:
    book = Book(Policy(active_pages=100))
    numbers, shown = [], []
    for message in (user("a" * 500), user("b" * 40), recall("a"), result("a", "x" * 2400), user("c"), user("d")):
        book.append([message])
        seen = book.window(750)
        numbers.append(seen.window.number)
        shown.append(any(p.passing for p in seen.window.body))
        assert seen.window.ledger.total <= 750
    assert numbers == [1, 1, 1, 2, 2, 2]  # the cut that the recall brought forward
    assert shown == [False, False, False, True, False, False]


def test_loads_of_a_loop_stay_in_full_until_a_cut() -> None:
    book = book_of(user("compare the pages"))
    in_full = []
    for i in range(5):
        book.append([recall(f"c{i}"), result(f"c{i}", "x" * 4000)])
        seen = book.window(4400)
        in_full.append([p.seq for p in seen.window.body if p.passing])
    assert in_full == [[3], [3, 5], [3, 5, 7], [3, 5, 7, 9], [7, 9, 11]]


def test_no_date_stands_between_a_call_and_a_result_that_comes_a_day_later() -> None:
    calls = [{"id": name, "type": "function", "function": {"name": "search", "arguments": "{}"}} for name in "ab"]
    book = book_of(user("go"), {"role": "assistant", "tool_calls": calls}, result("a", "first"))
    book.now += timedelta(days=1)
    book.append([user("and?"), result("b", "second " * 200)])
    book.now += timedelta(days=1)
    book.append([user("x" * 1400)])
    seen = book.window(800)
    assert str(seen.messages).count("[Date: ") == 1
    assert openai_problems(seen.messages) == []


def test_the_tail_fills_the_free_tokens_in_the_requested_order() -> None:
    seen = book_of(user("hi")).window(1000)
    free = free_for_tail(seen.window)
    assert free == usable(1000) - seen.window.ledger.total - TAIL_OVERHEAD
    found = with_tail(seen.window, [TailItem("a", free - 10), TailItem("b", 11), TailItem("c", 10)])
    assert [item.text for item in found.tail] == ["a", "c"]
    assert found.ledger.total == usable(1000)
    assert [w.code for w in found.warnings] == ["tail_cut"]


def test_the_overheads_cover_the_frames() -> None:
    for opening, closing in TAIL_FRAMES.values():
        assert count(opening) + count(closing) + 4 + 2 <= TAIL_OVERHEAD
    assert all(words["open"].startswith("<quire-memory>\n") for words in FRAMES.values())


def test_the_full_history_is_counted_with_archived_results_in_full() -> None:
    book = Book(Policy(archive_threshold=1000))
    asked = {"id": "a", "type": "function", "function": {"name": "search", "arguments": "{}"}}
    book.append([user("go"), {"role": "assistant", "tool_calls": [asked]}, result("a", "x" * 40_000)])
    ledger = book.window(2000).window.ledger
    assert ledger.full_history > 10_000
    assert ledger.saved > 0.8


def test_a_head_keeps_whole_lines_whoever_said_them() -> None:
    head = "## To keep in mind\n- Ann: Use metric units. (2026-11-29)\n- Answer in French. (2026-11-28)"
    assert keeps(head, "Use metric\nunits.", "Ann")
    assert keeps(head, "Answer in French.", "Ann")
    assert not keeps(head, "Use metric", "Ann")
    assert not keeps(head, "Use metric units.", "Bob")
