"""Which archived pages are listed, and how they read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.days import dated
from app.core.model import Policy
from app.core.window.contents import (
    CHAPTER_LINES_MAX,
    CHAPTER_SAMPLE,
    ContentsLine,
    ContentsPage,
    PageEntry,
    Title,
    compose,
    is_listed,
    oldest_listable,
    runs,
    sample,
    select,
)

POLICY = Policy(unlist_after_turns=40, unlist_unchanged_turns=80)


def count(text: str) -> int:
    return len(text) // 4 + 1


def topics(titles: Sequence[str]) -> list[str]:
    return list(titles[:2])


def entry(page: int, *, recalls: int = 0, recalled_at: int = 0, lines: int = 0) -> PageEntry:
    title = f"About {page}"
    written = tuple(ContentsLine(page * 10 + i, "user", f"line {i}", 4) for i in range(lines))
    return PageEntry(page, title, count(title), written, recalls, recalled_at)


def contents_of(entries: Sequence[PageEntry], last_page: int, cap: int, policy: Policy = POLICY) -> ContentsPage:
    titles = {page: Title(f"About {page}") for page in range(1, last_page + 1)}
    return compose(select(entries, cap, policy), last_page, titles, policy, "en", topics, count)


def text_of(page: ContentsPage, above: str = "") -> str:
    return "\n".join(dated(page.blocks, above, "en")[0])


@pytest.mark.parametrize(
    ("recalls", "recalled_at", "now", "listed"),
    [
        (0, 0, 50, True),  # rule m: 40 turns after page 10
        (0, 0, 51, False),
        (1, 30, 110, True),  # rule p: 80 turns after its last recall
        (1, 30, 111, False),
        (3, 100, 111, True),  # recalled again: listed again
    ],
)
def test_pages_are_unlisted_after_m_turns_or_p_after_a_recall(
    recalls: int, recalled_at: int, now: int, listed: bool
) -> None:
    assert is_listed(10, recalls, recalled_at, now, POLICY) is listed


@given(st.integers(1, 500), st.integers(1, 500))
def test_no_page_older_than_the_oldest_listable_is_listed_without_a_recall(page: int, now: int) -> None:
    if page < oldest_listable(now, POLICY):
        assert not is_listed(page, 0, 0, now, POLICY)


def test_over_the_cap_the_least_recently_used_go_first() -> None:
    entries = [entry(1, recalls=1, recalled_at=9), entry(2), entry(3), entry(4)]
    policy = Policy(chapter_lines=False)
    assert entries[1].brief_tokens == 16
    assert select(entries, 16 * 2, policy).listed == {1, 4}
    assert select(entries, 16 * 3, policy).listed == {1, 4, 3}
    assert select(entries, 16 * 4, policy).listed == {1, 2, 3, 4}


def test_recent_pages_have_all_their_lines_and_older_ones_their_title() -> None:
    entries = [entry(page, lines=3) for page in range(1, 6)]
    assert entries[0].full_tokens == 16 + 3 * 8
    chosen = select(entries, 115, Policy(chapter_lines=False))
    assert chosen.full == {5, 4}  # 80 tokens: seven tenths are 80.5
    assert chosen.brief == {3, 2}


def test_unlisted_pages_of_one_run_share_a_line() -> None:
    page = contents_of([entry(5), entry(9)], last_page=10, cap=400)
    assert page.listed == (5, 9)
    assert page.unlisted == 8
    assert text_of(page).splitlines() == [
        "[Pages 1–4] topics: About 1, About 2",
        "[Page 5] About 5",
        "[Pages 6–8] topics: About 6, About 7",
        "[Page 9] About 9",
        "[Page 10] topics: About 10",
    ]


def test_the_day_is_said_where_it_changes_and_of_a_run_where_it_ends() -> None:
    days = {page: f"2030-01-{page:02}" for page in range(1, 11)}
    entries = [replace(entry(page), day=days[page]) for page in (5, 9)]
    titles = {page: Title(f"About {page}", days[page]) for page in days}
    listed = select(entries, 400, POLICY)
    page = compose(listed, 9, titles, POLICY, "en", topics, count)
    assert text_of(page, above="2030-01-01").splitlines() == [
        "[Pages 1–4, to 2030-01-04] topics: About 1, About 2",
        "[Date: 2030-01-05]",
        "[Page 5] About 5",
        "[Date: 2030-01-06]",
        "[Pages 6–8, to 2030-01-08] topics: About 6, About 7",
        "[Date: 2030-01-09]",
        "[Page 9] About 9",
    ]
    assert count(text_of(page)) <= page.tokens <= 400


def test_the_roll_up_can_be_switched_off() -> None:
    page = contents_of([entry(5)], last_page=10, cap=400, policy=Policy(chapter_lines=False))
    assert text_of(page) == "[Page 5] About 5"
    assert page.chapters == ()
    assert page.unlisted == 9


def test_a_recall_is_counted_on_the_page() -> None:
    assert "[Page 5] About 5 (recalled 2×)" in text_of(contents_of([entry(5, recalls=2, recalled_at=8)], 5, 400))


def test_the_page_reads_in_chinese_too() -> None:
    listed = select([entry(2, recalls=1)], 99, POLICY)
    page = compose(listed, 4, {3: Title("部署")}, POLICY, "zh", topics, count)
    assert text_of(page) == "[第1页]\n[第2页] About 2(已召回1次)\n[第3–4页] 话题:部署"


def test_old_runs_are_joined_when_there_are_many() -> None:
    listed = range(10, 101, 10)
    found = runs(listed, 105)
    assert len(found) == CHAPTER_LINES_MAX
    assert found[0] == (1, 59)
    assert found[-1] == (101, 105)


def test_a_long_run_is_sampled_evenly_with_its_ends() -> None:
    assert sample((3, 6)) == [3, 4, 5, 6]
    found = sample((1, 1000))
    assert (found[0], found[-1], len(found)) == (1, 1000, CHAPTER_SAMPLE)


def test_nothing_is_archived_and_nothing_is_shown() -> None:
    assert contents_of([], last_page=0, cap=400) == ContentsPage()


entries_of = st.builds(
    entry, st.integers(1, 60), recalls=st.integers(0, 3), recalled_at=st.integers(0, 60), lines=st.integers(0, 9)
)


@given(st.lists(entries_of, max_size=30, unique_by=lambda e: e.page), st.integers(0, 900), st.booleans())
def test_the_contents_page_keeps_to_its_cap_and_weighs_what_it_says(
    entries: list[PageEntry], cap: int, chapter_lines: bool
) -> None:
    page = contents_of(entries, last_page=60, cap=cap, policy=Policy(chapter_lines=chapter_lines))
    assert page.tokens <= cap
    assert count(text_of(page)) <= page.tokens + 1
    assert len(page.listed) + page.unlisted == 60
