"""The map of pages out of view: every page is under one line, and the cap decides which lines are open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.core.model import Cut, Policy
from app.core.window.contents import (
    Chapter,
    ContentsLine,
    ContentsPage,
    PageEntry,
    compose,
    is_listed,
    oldest_listable,
)
from app.core.window.cut import CutPlan
from app.core.window.head import MapLine, map_lines
from app.extractive.chapters import PAGES_MAX, PAGES_MIN, VOLUME, Shelf, ToldPage, close, words_told
from app.text.tokens import TokenCounter

POLICY = Policy(unlist_after_turns=40, unlist_unchanged_turns=80)
SUBJECTS = ("harbour", "violin", "tomato", "glacier", "passport", "lantern", "beehive", "kettle")

TERMS = (
    "妈妈",
    "lisa",
    "didn’t",
    "gift-buying",
    "v1.2.3",
    "#12",
    "C++",
    "3,000",
    "sonst (x)",
    "https://x.y",
    "[Page 3]",
)


def count(text: str) -> int:
    return len(text) // 4 + 1


def runs(page: ContentsPage) -> list[MapLine]:
    """Return the lines that cover pages without lines of their own."""
    return [line for line in map_lines("\n".join(page.lines)) if line.first_page not in page.listed]


def entry(page: int, *, recalls: int = 0, recalled_at: int = 0, lines: int = 0, day: str = "") -> PageEntry:
    title = f"About {page}"
    written = tuple(ContentsLine(page * 10 + i, "user", f"line {i}", 4) for i in range(lines))
    return PageEntry(page, title, count(title), written, recalls, recalled_at, day=day)


def told(pages: int, gap_hours: int = 0, every: int = 6) -> list[ToldPage]:
    """Return pages whose subject changes after ``every`` pages, with a silence before each change."""
    now, found = datetime(2030, 1, 1, tzinfo=UTC), []
    for page in range(1, pages + 1):
        now += timedelta(hours=gap_hours if page % every == 1 else 0, minutes=1)
        subject = SUBJECTS[(page - 1) // every % len(SUBJECTS)]
        found.append(ToldPage(page, now, now, f"{subject} number {page} {subject} box".split()))
    return found


def tree(pages: int, gap_hours: int = 9, every: int = 6) -> list[Chapter]:
    return close(told(pages, gap_hours, every), Shelf({}))


def contents_of(
    entries: Sequence[PageEntry], chapters: Sequence[Chapter], last_page: int, cap: int, policy: Policy = POLICY
) -> ContentsPage:
    is_open = frozenset(page.page for page in entries)
    return compose(entries, is_open, chapters, last_page, cap, policy, "en", count)


def text_of(page: ContentsPage) -> str:
    return "\n".join(page.lines)


def covered(page: ContentsPage) -> list[int]:
    """Return the pages under lines, each as often as it is under one."""
    in_runs = [number for run in runs(page) for number in range(run.first_page, run.last_page + 1)]
    return sorted([*page.listed, *in_runs])


# --- Chapters -----------------------------------------------------------------------------------------


@given(st.integers(0, 200), st.integers(0, 12), st.integers(1, 20), st.integers(1, 30))
def test_chapters_are_contiguous_bounded_and_the_same_in_any_batches(
    pages: int, gap_hours: int, every: int, batch: int
) -> None:
    source = told(pages, gap_hours, every)
    at_once = close(source, Shelf({}))
    levels: dict[int, list[Chapter]] = {}
    found: list[Chapter] = []
    for end in range(batch, pages + batch, batch):
        through = max((chapter.last_page for chapter in found), default=0)
        found += close(source[through : min(end, pages)], Shelf(levels))
        levels = {n: [chapter for chapter in found if chapter.level == n] for n in range(1, 5)}
    assert found == at_once
    chapters = [chapter for chapter in at_once if chapter.level == 1]
    assert [c.first_page for c in chapters] == [1, *(c.last_page + 1 for c in chapters)][: len(chapters)]
    assert all(PAGES_MIN <= c.last_page - c.first_page + 1 <= PAGES_MAX for c in chapters)
    assert len([c for c in at_once if c.level == 2]) == len(chapters) // VOLUME


def test_a_chapter_ends_at_a_long_silence_or_where_the_subject_changes() -> None:
    for gap_hours in (0, 9):
        chapters = [chapter for chapter in tree(60, gap_hours) if chapter.level == 1]
        assert [(c.first_page, c.last_page) for c in chapters[:3]] == [(1, 6), (7, 12), (13, 18)]


def test_terms_name_what_tells_a_chapter_apart() -> None:
    second = [chapter for chapter in tree(60) if chapter.level == 1][1]
    assert second.terms[0] == "violin"
    assert "harbour" not in second.terms[:16]


@given(st.lists(st.sampled_from(TERMS), min_size=1, max_size=20), st.integers(20, 200))
def test_the_terms_of_a_line_weigh_what_the_line_weighs(counter: TokenCounter, terms: list[str], cap: int) -> None:
    chapter = Chapter(1, 1, 12, 13, tuple(terms))
    page = compose((), frozenset(), [chapter], 12, cap, POLICY, "en", counter.count)
    assert page.tokens == sum(counter.count(line) + 1 for line in page.lines)


def test_a_volume_has_terms_of_each_of_its_chapters() -> None:
    volume = next(chapter for chapter in tree(120) if chapter.level == 2)
    assert (volume.first_page, volume.last_page) == (1, 48)
    assert set(SUBJECTS) <= set(volume.terms)


# --- Which pages are open -----------------------------------------------------------------------------


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
def test_pages_close_after_m_turns_or_p_after_a_recall(recalls: int, recalled_at: int, now: int, listed: bool) -> None:
    assert is_listed(10, recalls, recalled_at, now, POLICY) is listed


@given(st.integers(1, 500), st.integers(1, 500))
def test_no_page_older_than_the_oldest_listable_is_listed_without_a_recall(page: int, now: int) -> None:
    if page < oldest_listable(now, POLICY):
        assert not is_listed(page, 0, 0, now, POLICY)


# --- What the cap opens ------------------------------------------------------------------------------------------


def test_over_the_cap_the_least_recently_used_close_first() -> None:
    entries = [entry(1, recalls=1, recalled_at=9), entry(2), entry(3), entry(4)]
    listed = [contents_of(entries, (), 4, cap).listed for cap in (16, 24, 100)]
    assert listed == [(1,), (1, 4), (1, 2, 3, 4)]


def test_recent_pages_have_all_their_lines_and_older_ones_their_title() -> None:
    text = text_of(contents_of([entry(page, lines=3) for page in range(1, 6)], (), 5, 90))
    assert [line for line in text.splitlines() if not line.startswith(" ")] == [f"{p}: About {p}" for p in range(1, 6)]
    assert text.endswith("5: About 5\n  user: line 0\n  user: line 1\n  user: line 2")
    assert "1: About 1\n2: About 2\n" in text


def test_the_oldest_are_volumes_where_there_is_no_room_for_chapters() -> None:
    page = contents_of([entry(p) for p in range(360, 391)], tree(400), 390, 100)
    sizes = [run.last_page - run.first_page + 1 for run in runs(page)]
    assert sizes[0] >= 48
    assert max(sizes[-3:]) <= 16


def test_short_chapters_in_a_row_share_a_line_until_each_has_room_for_eight_terms() -> None:
    chapters = [
        Chapter(1, first, first + 3, first + 4, tuple(f"{word}{first}" for word in "abcdefghijklmnop"))
        for first in range(1, 80, 4)
    ]
    together, apart = (contents_of((), chapters, 80, cap) for cap in (200, 900))
    assert [run.last_page - run.first_page for run in runs(together)] == [15] * 5
    assert runs(together)[0].text.startswith("1–16: a1, a5, a9, a13, b1")
    assert [run.last_page - run.first_page for run in runs(apart)] == [3] * 20
    assert all(len(run.text.split(",")) >= 8 for run in runs(apart))


def test_every_chapter_has_a_line_with_its_terms_before_pages_have_theirs() -> None:
    entries = [entry(p) for p in range(1, 121)]
    page = contents_of(entries, tree(120), 120, 700)
    lines = [run.text for run in runs(page)]
    assert lines[0].startswith("1–6: harbour")
    assert all(line.count(", ") >= 1 for line in lines)
    assert page.listed[-1] == 120
    assert covered(page) == list(range(1, 121))


def test_a_recall_lists_a_page_of_long_ago() -> None:
    cap = 700
    before = contents_of([entry(390)], tree(400), 390, cap)
    after = contents_of([entry(20, recalls=1, recalled_at=399), entry(390)], tree(400), 390, cap)
    assert 20 not in before.listed
    assert 20 in after.listed
    assert "20: About 20 (recalled 1×)" in text_of(after)


def test_a_line_says_where_the_month_changes() -> None:
    days = [replace(c, day="2030-01-01") for c in tree(25) if c.level == 1]
    entries = [entry(7, day="2030-01-05"), entry(8, day="2030-02-05"), entry(9, day="2030-02-28")]
    lines = text_of(contents_of(entries, days[:1], 9, 400)).splitlines()
    assert lines[0] == "[2030-01]"
    assert lines[1].startswith("1–6: ")
    assert lines[2:] == ["7: About 7", "[2030-02]", "8: About 8", "9: About 9"]


def test_the_lines_of_runs_can_be_switched_off() -> None:
    page = contents_of([entry(5)], tree(60), last_page=10, cap=400, policy=Policy(chapter_lines=False))
    assert (text_of(page), runs(page)) == ("5: About 5", [])


def test_the_page_reads_in_chinese_too() -> None:
    entries = [entry(2, recalls=1, day="2030-01-05"), entry(3)._replace(title="部署")]
    page = compose(entries, frozenset({2}), (), 4, 400, POLICY, "zh", count)
    assert text_of(page) == "1\n[2030-01]\n2: About 2（已召回1次）\n3–4: 部署"


def test_nothing_is_archived_and_nothing_is_shown() -> None:
    assert contents_of([], (), last_page=0, cap=400) == ContentsPage()


entries_of = st.builds(
    entry, st.integers(1, 200), recalls=st.integers(0, 3), recalled_at=st.integers(0, 220), lines=st.integers(0, 9),
    day=st.sampled_from(("", "2030-01-01")),
)  # fmt: skip
TREES = {(gap, every): tree(220, gap, every) for gap in (0, 9) for every in (3, 6, 17)}


@given(
    st.lists(entries_of, max_size=40, unique_by=lambda e: e.page),
    st.integers(1, 200),
    st.integers(16, 3000),
    st.sampled_from(sorted(TREES)),
)
@example([], 159, 16, (9, 6))
@example([entry(1, recalls=1, recalled_at=200, lines=9)], 200, 40, (9, 6))
def test_every_page_is_under_one_line_and_the_cap_holds(
    entries: list[PageEntry], last_page: int, cap: int, of: tuple[int, int]
) -> None:
    page = contents_of(entries, TREES[of], last_page, cap)
    assert covered(page) == list(range(1, last_page + 1))
    assert count(text_of(page)) <= page.tokens <= cap
    assert contents_of(entries, TREES[of], last_page, cap) == page


@given(st.integers(1, 220), st.integers(16, 6000), st.sampled_from(sorted(TREES)))
def test_pages_that_a_cut_does_not_read_would_have_no_line_or_title(
    last_page: int, cap: int, of: tuple[int, int]
) -> None:
    chapters = [c for c in TREES[of] if c.last_page <= last_page]
    every = [entry(page, lines=2)._replace(title_tokens=6) for page in range(1, last_page + 1)]
    policy = replace(POLICY, unlist_after_turns=1_000)
    read = CutPlan(Cut(1, 8_000, last_page=last_page), policy, "en", cap, last_page, range(0)).read(chapters, count)
    shown = contents_of(every[read.start - 1 : read.stop - 1], chapters, last_page, cap)
    assert shown == contents_of(every, chapters, last_page, cap)


some_entries = st.lists(entries_of, max_size=60, unique_by=lambda e: e.page)


@given(some_entries, st.integers(17, 200), st.integers(16, 1500), st.sampled_from(sorted(TREES)))
def test_no_line_stands_for_more_than_sixteen_pages_while_lines_of_fewer_fit(
    entries: list[PageEntry], last_page: int, cap: int, of: tuple[int, int]
) -> None:
    page = contents_of(entries, TREES[of], last_page, cap)
    chapters = [c for c in TREES[of] if c.level == 1 and c.last_page <= last_page]
    bare = contents_of((), [replace(c, terms=()) for c in chapters], last_page, 100_000)
    if any(run.last_page - run.first_page >= 16 for run in runs(page)):
        assert bare.tokens > cap


@given(some_entries, st.integers(1, 200), st.integers(16, 1500), st.integers(1, 500), st.sampled_from(sorted(TREES)))
def test_a_larger_cap_never_lists_fewer_pages(
    entries: list[PageEntry], last_page: int, cap: int, more: int, of: tuple[int, int]
) -> None:
    page, larger = (contents_of(entries, TREES[of], last_page, room) for room in (cap, cap + more))
    assert len(larger.listed) >= len(page.listed)


@given(some_entries, st.integers(20, 200), st.integers(40, 2000))
def test_what_was_closed_later_does_not_change_a_map(entries: list[PageEntry], last_page: int, cap: int) -> None:
    known = [chapter for chapter in TREES[9, 6] if chapter.last_page <= last_page]
    assert contents_of(entries, TREES[9, 6], last_page, cap) == contents_of(entries, known, last_page, cap)


def test_a_chapter_names_no_function_words() -> None:
    now, said = datetime(2030, 1, 1, tzinfo=UTC), "The plumber Renske Vos moves the drain for 1,150 on Tuesday."
    words = " ".join(words_told(f"{said} 我们看了这部电影 那本书总是听说 此外 一道 鲈鱼"))
    pages = [ToldPage(number, now, now, words.split()) for number in range(1, PAGES_MAX + 4)]
    chapter = close(pages, Shelf({}))[0]
    assert set(chapter.terms) >= {"电影", "鲈鱼", "plumber"}
    assert not set(chapter.terms) & {"这部", "总是", "此外", "一道"}
