"""Expressions of days, by a table, and properties of every text."""

from datetime import date, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.search.spans import Span
from app.core.search.when import SPANS_MAX, days_named

TODAY = date(2024, 5, 15)
TABLE = [
    tuple(part.strip() for part in line.rsplit("|", 1))
    for line in (Path(__file__).parent / "when.txt").read_text("utf-8").splitlines()
    if not line.startswith("#")
]
PIECES = st.sampled_from([
    "3", "13", "31", "99999", "2023", "in", "the", "last", "next", "before", "ago", "days", "weeks", "years", "may",
    "feb", "30", "th", "of", "sunday", "christmas", "/", "-", ".", ",", "三", "十二", "两", "半", "几", "个", "月",
    "日", "号", "年", "周", "星期", "天", "前", "后", "上", "这", "去年", "底", "国庆", "第", "的", "春天", "季度",
    "二〇二三",
])  # fmt: skip


def shown(span: Span) -> str:
    last = span.end - timedelta(days=1)
    return f"{span.first}" if span.first == last else f"{span.first}..{last}"


@pytest.mark.parametrize(("text", "named"), TABLE)
def test_an_expression_names_its_days(text: str, named: str) -> None:
    assert (", ".join(map(shown, days_named(text, TODAY))) or "-") == named


def test_the_table_has_three_hundred_expressions_in_two_languages() -> None:
    assert len(TABLE) >= 300
    assert sum(text.isascii() for text, _ in TABLE) >= 150 <= sum(not text.isascii() for text, _ in TABLE)


@given(st.lists(PIECES, max_size=12), st.sampled_from(["", " "]), st.dates(date(1980, 1, 1), date(2090, 1, 1)))
def test_any_words_name_at_most_some_days_that_exist(words: list[str], between: str, today: date) -> None:
    found = days_named(between.join(words), today)
    assert len(found) <= SPANS_MAX
    assert all(span.first < span.end for span in found)


@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    days_named(text, TODAY)


@given(st.dates(date(1990, 1, 1), date(2050, 1, 1)))
def test_what_is_written_out_does_not_depend_on_today(today: date) -> None:
    for text in ("7 May 2023", "2023年5月7日", "2023-05-07"):
        assert days_named(text, today) == (Span(date(2023, 5, 7), date(2023, 5, 8)),)


def test_of_a_long_text_the_end_is_read() -> None:
    assert days_named("yesterday " + "so " * 2_000, TODAY) == ()
    assert days_named("so " * 2_000 + "yesterday", TODAY) != ()
