"""Where zones begin, in numbers.

The examples have a body of 10,006 tokens: 10,000 for messages, 1,500 for the head once twenty pages are out, 1,000
condensed, and half of the rest kept. Messages have 100 tokens (40 when condensed), in pages of 5.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.model import OPENING_TOKENS, Entry, Kind, Policy, Totals
from app.core.window.budget import Shares, kept_share, shares
from app.core.window.fresh import PARTS_SHARE
from app.core.window.paging import NEWEST_GROUPS, PAGE_COST, Places, places

POLICY = Policy(full_recent_count=10, keep_share=0.5)
SHARES = shares(10_006, POLICY)


def history(*pages: list[tuple[int, int]]) -> list[Entry]:
    """Return the entries of pages, each a list of (full, short) that begins with a user message."""
    entries: list[Entry] = []
    full = short = 0
    for page, messages in enumerate(pages, 1):
        user_seq = len(entries) + 1
        for weight, condensed in messages:
            seq = len(entries) + 1
            entries.append(Entry(seq, page, seq, "message", weight, condensed, full, short, user_seq))
            full, short = full + weight, short + condensed
    return entries


def totals(entries: list[Entry]) -> Totals:
    last = entries[-1]
    return Totals(last.seq, last.page, last.full_after, last.short_before + last.short)


def small_pages(messages: int) -> list[Entry]:
    """Return pages of 5 messages of 100 tokens."""
    return history(*([(100, 40)] * min(5, messages - done) for done in range(0, messages, 5)))


def cut(
    entries: list[Entry], policy: Policy = POLICY, room: Shares = SHARES, shown: dict[int, int] | None = None
) -> Places:
    return places(entries, totals(entries), room, policy, shown=shown)


def kept(entries: list[Entry], found: Places) -> int:
    return sum(entry.full for entry in entries if entry.seq >= found.verbatim_from)


def test_while_all_fits_it_is_verbatim() -> None:
    found = cut(small_pages(100))
    assert (found.condensed_from, found.verbatim_from) == (1, 1)


def test_what_does_not_fit_makes_a_cut_that_keeps_the_newest_within_their_share() -> None:
    #   1 .. 41 ..... 66 ..... 101    head 1,500, and 3,750 of the 7,500 beside it and the condensed stay: 37 messages,
    #   head | condensed | verbatim   or 36 from the page's first on. 1,000 and the 150 left over are 28 condensed, or
    #                                 25 from the page's first on
    found = cut(small_pages(101))
    assert (found.verbatim_from, found.condensed_from, found.head_room) == (66, 41, 1500)


@pytest.mark.parametrize("group", [100, 250, 500])
def test_of_larger_groups_a_cut_keeps_less(group: int) -> None:
    entries = history(*([(group, 10)] for _ in range(10_000 // group + 1)))
    policy = replace(POLICY, keep_share=None, full_recent_count=0)
    share = kept_share(group, SHARES.whole, policy.view_price)
    most = (SHARES.whole - SHARES.head(entries[-1].page - 1) - SHARES.condensed) * share
    assert most - group - SHARES.body * PAGE_COST <= kept(entries, cut(entries, policy)) <= most


def test_the_newest_groups_stay_before_condensed_messages_have_their_part() -> None:
    entries = history([(100, 40)] * 80, *([(2_100, 50)] for _ in range(NEWEST_GROUPS)))
    found = cut(entries, replace(POLICY, full_recent_count=1))
    assert found.verbatim_from == 81
    assert found.condensed_from > 41


def test_a_group_larger_than_the_window_leaves_room_to_what_was_before() -> None:
    found = cut(history([(100, 40)] * 80, [(20_000, 500)]))
    assert found.verbatim_from == 81
    assert found.condensed_from < 81
    assert found.head_room > 0


def test_a_page_is_cut_inside_where_its_beginning_costs_more_than_a_tenth_of_the_room() -> None:
    assert cut(history(*([(100, 40)] * 15 for _ in range(7)))[:101]).verbatim_from == 61  # 100 tokens on
    found = cut(history(*([(100, 40)] * 40 for _ in range(3)))[:101])
    assert found.pinned == 41  # the next page begins at 81
    assert found.verbatim_from > 41


def test_a_page_is_cut_inside_if_too_few_messages_would_stay() -> None:
    pages = history(*([(100, 40)] * 13 for _ in range(8)))[:101]
    assert cut(pages).verbatim_from == 66
    found = cut(pages, replace(POLICY, full_recent_count=40))
    assert (found.verbatim_from < 66, found.pinned) == (True, 53)


def fresh_results(count: int, size: int) -> list[Entry]:
    """Return a question, and calls with a fresh result each."""
    entries = history([(100, 100)])
    for _ in range(count):
        last = entries[-1]
        seq = last.seq + 1
        call = Entry(seq, 1, seq, "call", 100, 100, last.full_after, last.short_before + last.short, 1)
        fresh = call._replace(
            seq=seq + 1, kind="result", full_before=call.full_after, short_before=call.short_before + 100, fresh=(size,)
        )
        entries += [call, fresh]
    return entries


def test_what_was_shown_fresh_weighs_as_it_was_shown_and_what_nobody_saw_with_its_parts() -> None:
    entries = fresh_results(4, 50_000)  # 900 tokens, and what is fresh
    parts = int(SHARES.body * PARTS_SHARE)
    assert cut(entries[:7]).verbatim_from == 1  # three quarters
    assert cut(entries).verbatim_from > 1
    assert cut(entries, shown={3: parts, 5: parts, 7: 1_000}).verbatim_from == 1
    assert cut(entries[:3], shown={3: 9_900}).verbatim_from == 2


def test_what_is_recalled_for_a_message_weighs_while_its_page_is_the_newest() -> None:
    entries = small_pages(96)  # 9,600 tokens, of which the last are a user's message
    for seq, tokens, fits in ((96, 400, True), (96, 401, False), (91, 401, True)):
        recalled = [e._replace(loaded=tokens) if e.seq == seq else e for e in entries]
        assert (cut(recalled).verbatim_from == 1) == fits


def test_pages_alone_make_a_cut_due_too() -> None:
    policy = Policy(full_recent_count=2, active_pages=4)
    assert cut(history(*[[(1, 1), (1, 1)]] * 4), policy).condensed_from == 1
    found = cut(history(*[[(1, 1), (1, 1)]] * 5), policy)
    assert (found.verbatim_from, found.condensed_from) == (5, 5)  # pages 3 to 5 stay in the body


def test_a_page_larger_than_the_zone_is_cut_inside_and_its_question_stays() -> None:
    found = cut(history([(100, 40)] * 200))
    assert found.pinned == 1
    assert found.verbatim_from > 100


def test_a_call_group_is_never_cut() -> None:
    entries = history([(10, 10)], [(10, 10)] * 60)
    kinds: dict[int, Kind] = {20: "call", **dict.fromkeys(range(21, 50), "result")}
    grouped = [e._replace(group=20, kind=kinds[e.seq]) if e.seq in kinds else e for e in entries]
    for messages in range(50, 62):
        found = cut(grouped[:messages], room=shares(400, POLICY))
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
    for available in range(300, 580, 5):
        for recent in (1, 99):
            found = cut(made[:59], replace(POLICY, full_recent_count=recent), shares(available, POLICY))
            assert found.verbatim_from > 1
            assert 31 not in (found.verbatim_from, found.condensed_from)


def test_a_message_larger_than_the_whole_zone_stands_alone_in_it() -> None:
    found = cut(history([(100, 100)], [(100, 100), (50_000, 50_000)]))
    assert (found.verbatim_from, found.pinned) == (3, 2)


def test_the_leading_prompt_is_not_paged() -> None:
    entries = small_pages(101)
    prompt = Entry(1, 1, 1, "prompt", 0, 0, 0, 0, 0)
    moved = [e._replace(seq=e.seq + 1, group=e.group + 1, user_seq=e.user_seq + 1) for e in entries]
    assert cut([prompt, *moved]) == cut(moved)


def test_a_tail_that_crowds_the_newest_group_leaves_the_head_its_room() -> None:
    entries = history(*([(100, 40)] * 5 for _ in range(30)), [(9_000, 2_000)])
    found = cut(entries, room=shares(10_006, POLICY, reserve=3_000))
    assert (found.verbatim_from, found.condensed_from) == (151, 151)
    assert found.head_room == SHARES.head(30)


weights = st.tuples(st.integers(4, 60), st.integers(1, 60)).map(lambda w: (w[0], min(w)))


@given(st.lists(st.lists(weights, min_size=1, max_size=12), min_size=1, max_size=30), st.data())
def test_paging_copes_with_missing_messages(pages: list[list[tuple[int, int]]], data: st.DataObject) -> None:
    entries = history(*pages)
    gone = data.draw(st.sets(st.integers(1, len(entries))))
    known = shares(data.draw(st.integers(0, 2000)), POLICY)
    policy = Policy(active_pages=data.draw(st.integers(0, 30)))
    left = [e for e in entries if e.seq not in gone]
    found = places(left, totals(entries), known, policy)
    assert found.condensed_from <= found.verbatim_from


some_pages = st.lists(st.lists(weights, min_size=1, max_size=12), min_size=1, max_size=30)
some_shares = st.builds(shares, st.integers(0, 3000), st.just(POLICY), reserve=st.sampled_from((0, 300, 1500)))
some_policies = st.builds(
    Policy, full_recent_count=st.sampled_from((1, 10)), keep_share=st.none() | st.floats(0.05, 0.9)
)


@given(some_shares, some_pages, some_policies)
def test_the_zones_of_a_cut_fit_the_body(room: Shares, pages: list[list[tuple[int, int]]], policy: Policy) -> None:
    entries = history(*pages)
    found = cut(entries, policy, room)
    pinned = sum(e.full for e in entries if e.seq == found.pinned)
    condensed = sum(e.short for e in entries if found.condensed_from <= e.seq < found.verbatim_from != found.pinned)
    newest = entries[-1].full + sum(e.full for e in entries if e.seq == entries[-1].user_seq != entries[-1].seq)
    if newest + OPENING_TOKENS <= room.body:
        assert found.head_room + condensed + pinned + kept(entries, found) <= max(0, room.body - OPENING_TOKENS)


@given(some_shares, some_pages)
def test_nothing_that_fits_is_dropped(room: Shares, pages: list[list[tuple[int, int]]]) -> None:
    entries = history(*pages)
    found = cut(entries, room=room)
    fits = totals(entries).full <= room.whole
    assert (found.verbatim_from == 1) == (fits or len(entries) == 1)
    assert found.condensed_from == 1 or not fits


@given(some_shares, some_pages)
def test_a_larger_budget_shows_no_less_than_a_cut_of_three_quarters_of_it(
    room: Shares, pages: list[list[tuple[int, int]]]
) -> None:
    entries = history(*pages)
    smaller = shares(room.body * 3 // 4, POLICY)
    shown, less = (kept(entries, cut(entries, room=each)) for each in (shares(room.body, POLICY), smaller))
    page = smaller.body * PAGE_COST + max(e.full for e in entries)  # where a cut falls
    assert shown >= less - page
