"""Date lines: their places, their tokens, and the day of a page."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.model import Language
from app.core.search.days import DAY_TOKENS, MESSAGE_TOKENS, dated, day_line, in_zone, settled, tokens_of
from app.text.tokens import TokenCounter
from tests.core.book import Book, Seen
from tests.core.conversations import user

pages_of_days = st.dictionaries(st.integers(1, 40), st.sampled_from(("2023-05-07", "2024-01-31", "2030-12-01")))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_date_line_weighs_no_more_than_is_charged(counter: TokenCounter, language: Language) -> None:
    for days in range(0, 50_000, 17):
        line = day_line((date(1970, 1, 1) + timedelta(days)).isoformat(), language)
        assert counter.count(f"{line}\n") <= DAY_TOKENS


@given(pages_of_days)
def test_no_page_is_later_than_those_after_it(stored: dict[int, str]) -> None:
    found = settled(stored)
    days = [found[page] for page in sorted(found)]
    assert days == sorted(days)
    assert all(found[page] <= day for page, day in stored.items())
    assert settled(found) == found


@given(st.lists(st.sampled_from(("", "2023-05-07", "2024-01-31", "2030-12-01"))).map(sorted))
def test_lines_are_dated_where_the_day_changes_and_no_oftener_than_is_charged(days: list[str]) -> None:
    found, last = dated([("line", day) for day in days], "", "en")
    lines = [line for line in found if line != "line"]
    assert len(lines) == len(set(lines)) == tokens_of(days) // DAY_TOKENS
    assert last == max(days, default="")
    assert [line for line in found if line == "line"] == ["line"] * len(days)


def test_what_stands_above_needs_no_second_line() -> None:
    lines = [("a", "2030-01-31"), ("b", "2030-01-31"), ("c", "2030-02-01")]
    assert dated(lines, "2030-01-31", "en")[0] == ["a", "b", "[Date: 2030-02-01]", "c"]
    assert dated(lines[2:], "2030-01-31", "zh")[0] == ["[日期：2030-02-01]", "c"]


def test_where_the_room_is_small_the_newest_days_have_lines() -> None:
    days = {page: f"2030-01-{page:02}" for page in range(1, 11)}
    assert [day.page for day in in_zone(days, 4 * 3 * MESSAGE_TOKENS, "en")] == [8, 9, 10]
    assert in_zone(days, 10, "en") == ()


def long_talk(hours: int) -> Seen:
    book = Book()
    for turn in range(60):
        book.append([user(f"question {turn} " * 8), {"role": "assistant", "content": f"answer {turn} " * 12}])
        book.now += timedelta(hours=hours)
    return book.window(3_000)


def shown_days(seen: Seen) -> list[str]:
    found = (line for m in seen.messages for line in str(m["content"]).split("\n"))
    return [line for line in found if line.startswith("[Date: ")]


def test_what_was_said_on_one_day_has_one_date_line() -> None:
    seen = long_talk(hours=0)
    assert seen.cut.condensed_from > 1
    assert shown_days(seen) == ["[Date: 2026-01-02]"]


def test_where_the_day_changes_head_and_condensed_messages_say_so_and_verbatim_ones_do_not() -> None:
    seen = long_talk(hours=24)
    zones = [(p.zone, p.seq) for p in seen.window.body]
    first_verbatim = next(i for i, (zone, _) in enumerate(zones) if zone == "verbatim")
    assert [seq for _, seq in zones[first_verbatim:] if not seq] == []
    assert zones[first_verbatim - 1][1] == 0  # its day is another than that of the last condensed message
    condensed_pages = {p.page for p in seen.window.body if p.zone == "condensed" and p.seq}
    assert len([1 for _, seq in zones if not seq]) == len(condensed_pages) + 1
    days = shown_days(seen)
    assert days == sorted(days)
