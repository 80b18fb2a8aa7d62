"""Where zones begin, in numbers.

The examples have a body of 1,000 tokens: 100 for the head, 150 condensed, 200 kept, so 550 of growth. A cut is due at
1,000, 1,550, 2,100 ... tokens of history. Messages have 10 tokens (4 when condensed), in pages of 5.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.model import Entry, Kind, Layout, Policy, Totals
from app.core.window.budget import Shares, shares
from app.core.window.paging import in_force, layout, page_threshold, token_threshold

SHARES = Shares(available=1200, reserve=200, whole=1000, head=100, condensed=150, keep=200)
WITH_QUERY = Shares(available=1200, reserve=600, whole=1000, head=60, condensed=90, keep=120)
POLICY = Policy(full_recent_count=10)


def history(*pages: list[tuple[int, int]]) -> list[Entry]:
    """Entries of pages, each a list of (full, short); every page begins with its user message."""
    entries: list[Entry] = []
    full = short = 0
    for page, messages in enumerate(pages, 1):
        user_seq = len(entries) + 1
        for weight, condensed in messages:
            seq = len(entries) + 1
            entries.append(Entry(seq, page, seq, "message", weight, condensed, full, short, user_seq, seq))
            full, short = full + weight, short + condensed
    return entries


def totals(entries: list[Entry]) -> Totals:
    last = entries[-1]
    return Totals(last.seq, last.page, last.full_after, last.short_before + last.short)


def small_pages(messages: int) -> list[Entry]:
    """Pages of 5 messages of 10 tokens."""
    return history(*([(10, 4)] * min(5, messages - done) for done in range(0, messages, 5)))


def laid_out(entries: list[Entry], policy: Policy = POLICY, known: Shares = SHARES) -> Layout:
    return layout(entries, totals(entries), known, policy)


@pytest.mark.parametrize(
    ("full", "passed"),
    [(0, 0), (1000, 0), (1001, 1000), (1550, 1000), (1551, 1550), (2100, 1550), (2101, 2100)],
)
def test_a_cut_is_due_when_the_body_is_full_and_each_time_it_has_grown_full_again(full: int, passed: int) -> None:
    assert token_threshold(full, SHARES) == passed


@pytest.mark.parametrize(("full", "passed"), [(1000, 0), (1001, 930), (1261, 1260)])
def test_a_query_shrinks_the_body_unless_the_whole_history_fits(full: int, passed: int) -> None:
    assert (WITH_QUERY.body, WITH_QUERY.growth) == (600, 330)
    assert token_threshold(full, WITH_QUERY) == passed


@pytest.mark.parametrize(("page", "opened"), [(4, 0), (5, 5), (6, 5), (7, 7), (8, 7), (9, 9)])
def test_an_epoch_is_due_when_there_is_a_page_too_many_and_then_after_every_half_of_them(
    page: int, opened: int
) -> None:
    assert page_threshold(page, Policy(active_pages=4)) == opened


def test_no_limit_on_pages_makes_no_epoch_due() -> None:
    assert page_threshold(10_000, POLICY) == 0


def test_until_the_first_threshold_everything_is_verbatim() -> None:
    entries = small_pages(100)
    found = laid_out(entries)
    assert (found.number, found.condensed_from, found.verbatim_from, found.full_until) == (0, 1, 1, 1000)
    assert found.holds(totals(entries))
    assert not found.holds(totals(small_pages(101)))


def test_at_the_threshold_the_newest_pages_stay_verbatim_within_their_share() -> None:
    #   1 .. 46 ..... 81 ..... 101    101 x 10 tokens; message 101 passes 1000
    #   head | condensed | verbatim   200 tokens before 1000 is message 81, which begins a page;
    #                                 150 tokens condensed are 37 messages: pages from 46 on
    found = laid_out(small_pages(101))
    assert (found.number, found.verbatim_from, found.condensed_from) == (101, 81, 46)
    assert (found.full_until, found.trigger_page, found.head_room) == (1550, 21, 100)


def test_within_an_epoch_nothing_moves() -> None:
    made = laid_out(small_pages(101))
    for messages in range(102, 156):  # 155 x 10 = 1550
        assert laid_out(small_pages(messages)) == made
    assert laid_out(small_pages(156)).number == 156


def test_a_window_is_full_at_the_end_of_an_epoch() -> None:
    entries = small_pages(155)
    found = laid_out(entries)
    verbatim = sum(e.full for e in entries if e.seq >= found.verbatim_from)
    condensed = sum(e.short for e in entries if found.condensed_from <= e.seq < found.verbatim_from)
    assert found.head_room + condensed + verbatim == 100 + 140 + 750
    assert SHARES.body - 10 == 100 + 140 + 750


def test_a_page_is_cut_inside_if_too_few_messages_would_stay() -> None:
    #   pages of 15 messages: message 91 opens one, but 101 - 90 = 11 is too few of 15
    pages = history(*([(10, 4)] * 15 for _ in range(7)))[:101]
    assert laid_out(pages).verbatim_from == 91
    found = laid_out(pages, replace(POLICY, full_recent_count=15))
    assert (found.verbatim_from, found.pinned, found.condensed_from) == (81, 0, 46)


def test_pages_alone_make_an_epoch_due_too() -> None:
    policy = Policy(full_recent_count=2, active_pages=4)
    pages = [[(1, 1), (1, 1)]] * 5
    found = laid_out(history(*pages), policy)
    #   page 5 opens with message 9: pages 3 to 5 stay in the body
    assert (found.number, found.verbatim_from, found.condensed_from) == (9, 5, 5)
    assert found.pages_until == 6


def test_a_page_larger_than_the_zone_is_cut_inside_and_its_question_stays() -> None:
    entries = history([(10, 4)] * 200)
    found = laid_out(entries)
    #   the last threshold is 1550, the floor 200 before it: message 136 begins there. Of 1000 tokens growth takes 750,
    #   the head 100, the question 10; in the 140 that are left 35 condensed messages fit
    assert (found.number, found.verbatim_from, found.condensed_from) == (156, 136, 101)
    assert found.pinned == 1


def test_a_layout_made_under_other_shares_is_not_in_force() -> None:
    known = totals(small_pages(120))
    made = laid_out(small_pages(120))
    assert in_force(made, known, SHARES, POLICY)
    assert not in_force(made, totals(small_pages(156)), SHARES, POLICY)
    assert not in_force(made, replace(known, generation=1), SHARES, POLICY)
    assert not in_force(made, known, replace(SHARES, keep=250), POLICY)
    assert not in_force(made, known, SHARES, replace(POLICY, active_pages=40))


def test_a_call_group_is_never_cut() -> None:
    entries = history([(10, 10)], [(10, 10)] * 60)
    kinds: dict[int, Kind] = {20: "call", **dict.fromkeys(range(21, 50), "result")}
    grouped = [e._replace(group=20, kind=kinds[e.seq]) if e.seq in kinds else e for e in entries]
    known = replace(SHARES, available=400, whole=350, reserve=50, head=35, condensed=50, keep=70)
    for messages in range(30, 62):
        found = laid_out(grouped[:messages], known=known)
        assert not 20 < found.verbatim_from < 50
        assert not 20 < found.condensed_from < 50


def test_an_orphan_between_a_call_and_its_result_begins_no_zone() -> None:
    #   call 30, orphan 31, result 32: cut at 31, the result would be without its call
    entries = history([(10, 10)] * 60)
    kinds: dict[int, tuple[Kind, int]] = {30: ("call", 30), 31: ("orphan", 31), 32: ("result", 30)}
    made = []
    full = 0
    for e in entries:
        kind, group = kinds.get(e.seq, ("message", e.seq))
        weight = 0 if kind == "orphan" else e.full
        made.append(e._replace(kind=kind, group=group, full=weight, short=weight, full_before=full, short_before=full))
        full += weight
    for keep in range(200, 400, 5):
        known = Shares(available=600, reserve=50, whole=550, head=50, condensed=100, keep=keep)
        for recent in (1, 99):
            found = laid_out(made[:59], replace(POLICY, full_recent_count=recent), known)
            assert found.number
            assert 31 not in (found.verbatim_from, found.condensed_from)


def test_a_message_larger_than_the_whole_zone_stands_alone_in_it() -> None:
    found = laid_out(history([(10, 10)], [(10, 10), (5000, 5000)]))
    assert found.verbatim_from == 3
    assert found.head_room == 0
    assert found.pinned == 2


def test_the_generation_makes_a_new_number() -> None:
    entries = small_pages(120)
    erased = replace(totals(entries), generation=1)
    before, after = laid_out(entries), layout(entries, erased, SHARES, POLICY)
    assert after.number == before.number + 1
    assert not before.holds(erased)


def test_the_leading_prompt_is_not_paged() -> None:
    entries = small_pages(101)
    prompt = Entry(1, 1, 1, "prompt", 0, 0, 0, 0, 0, 1)
    moved = [e._replace(seq=e.seq + 1, group=e.group + 1, user_seq=e.user_seq + 1) for e in entries]
    with_prompt, without = laid_out([prompt, *moved]), laid_out(moved)
    assert with_prompt == without


weights = st.tuples(st.integers(4, 60), st.integers(1, 60)).map(lambda w: (w[0], min(w)))


@given(st.lists(st.lists(weights, min_size=1, max_size=12), min_size=1, max_size=30), st.data())
def test_paging_copes_with_missing_messages(pages: list[list[tuple[int, int]]], data: st.DataObject) -> None:
    entries = history(*pages)
    gone = data.draw(st.sets(st.integers(1, len(entries))))
    known = shares(data.draw(st.integers(0, 2000)), POLICY)
    policy = Policy(active_pages=data.draw(st.integers(0, 30)))
    left = [e for e in entries if e.seq not in gone]
    found = layout(left, totals(entries), known, policy)
    assert found.condensed_from <= found.verbatim_from
    assert found.holds(totals(entries))


some_pages = st.lists(st.lists(weights, min_size=1, max_size=12), min_size=1, max_size=30)
some_shares = st.builds(shares, st.integers(0, 3000), st.just(POLICY), has_query=st.booleans())


@given(some_shares, some_pages)
def test_the_zones_of_a_layout_fit_the_body(known: Shares, pages: list[list[tuple[int, int]]]) -> None:
    entries = history(*pages)
    found = laid_out(entries, known=known)
    start = next((e for e in entries if e.seq == found.verbatim_from), entries[0])
    growth = found.full_until - start.full_before
    pinned = sum(e.full for e in entries if e.seq == found.pinned)
    if found.number and growth + pinned <= known.body:  # no message or question larger than the zone
        condensed = sum(e.short for e in entries if found.condensed_from <= e.seq < found.verbatim_from)
        assert found.head_room + condensed + pinned + growth <= known.body


@given(some_shares, some_pages)
def test_nothing_that_fits_is_dropped(known: Shares, pages: list[list[tuple[int, int]]]) -> None:
    entries = history(*pages)
    found = laid_out(entries, known=known)
    fits = totals(entries).full <= known.whole
    assert fits == (found.verbatim_from == found.condensed_from == 1 and not found.number)


@given(some_shares, some_pages)
def test_a_layout_is_in_force_as_long_as_it_holds(known: Shares, pages: list[list[tuple[int, int]]]) -> None:
    entries = history(*pages)
    made = laid_out(entries[: len(entries) // 2 + 1], known=known)
    now = totals(entries)
    assert in_force(made, now, known, POLICY) == made.holds(now)
