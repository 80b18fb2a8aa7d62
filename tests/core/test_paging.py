"""Where zones begin, in numbers.

The examples have a body of 1,000 tokens: 100 for the head, 150 condensed, 200 kept. Messages have 10 tokens (4 when
condensed), in pages of 5.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.model import OPENING_TOKENS, Entry, Kind, Layout, Policy, Totals, epoch_number
from app.core.window.budget import Shares, shares
from app.core.window.paging import layout, page_threshold

SHARES = Shares(available=1006, reserve=0, whole=1000, head=100, condensed=150, keep=200, head_most=400)
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


def trigger(found: Layout) -> int:
    """Return the message that a cut was due at."""
    return (found.number - epoch_number(0, found.generation)) // 16


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


def test_what_does_not_fit_makes_a_cut_that_keeps_the_newest_within_their_share() -> None:
    #   1 .. 41 ..... 86 ..... 101    101 x 10 tokens; message 101 does not fit
    #   head | condensed | verbatim   200 tokens back is message 82; a page begins at 86, 40 tokens on; 150 tokens and
    #                                 these 40 condensed are 47 messages back from there: pages from 41 on
    found = laid_out(small_pages(101))
    assert (trigger(found), found.verbatim_from, found.condensed_from) == (101, 86, 41)
    #   850 tokens before it, and 1,000 less the head's 100 and 180 condensed
    assert (found.full_until, found.trigger_page, found.head_room) == (850 + 720, 21, 100)


@pytest.mark.parametrize(
    ("group", "most", "kept"),
    [
        (10, 300, 300),  # more than twenty would fit beside it
        (20, 450, 360),  # 1,000 less 100, 150 and twenty groups: nearest to 350
        (40, 450, 200),  # twenty do not fit even beside the usual share
    ],
)
def test_a_cut_keeps_more_of_small_groups_while_twenty_more_of_them_fit(group: int, most: int, kept: int) -> None:
    entries = history(*([(group, group)] for _ in range(1000 // group + 1)))
    found = laid_out(entries, replace(POLICY, full_recent_count=0), replace(SHARES, keep_most=most))
    assert entries[-1].full_after - entries[found.verbatim_from - 1].full_before == kept


def test_of_two_groups_the_cut_falls_where_what_stays_is_nearest_to_its_share() -> None:
    #   a group of 150 tokens before one of 110: 110 are 90 too few, 260 are 60 too many
    entries = history([(10, 4)] * 80, [(150, 4)], [(110, 4)])
    assert laid_out(entries).verbatim_from == 81
    #   with 190 before it, 300 are 100 too many: the room is for what was before, condensed
    entries = history([(10, 4)] * 80, [(190, 4)], [(110, 4)])
    found = laid_out(entries)
    assert (found.verbatim_from, found.condensed_from) == (82, 22)


def test_a_group_larger_than_the_window_leaves_room_to_what_was_before() -> None:
    entries = history([(10, 4)] * 80, [(2_000, 50)])
    found = laid_out(entries)
    assert found.verbatim_from == 81
    assert found.condensed_from < 81


@pytest.mark.parametrize("kind", ["call", "message"])
def test_beside_a_call_that_is_condensed_what_was_before_has_the_room_of_what_stays(kind: Kind) -> None:
    before = history([(10, 4)] * 80)
    last = before[-1]
    sums = last.full_after, last.short_before + last.short
    call = Entry(81, last.page, 81, kind, 2_000, 50, *sums, last.user_seq, 81)
    result = call._replace(
        seq=82, kind="result", full=10, short=10, full_before=sums[0] + 2_000, short_before=sums[1] + 50
    )
    found = laid_out([*before, call, result])
    #   60 tokens of the 200 that stay are the newest group's, 140 and the condensed zone's 150 are 72 messages
    assert (found.verbatim_from, found.condensed_from) == (81, 9)


def test_within_an_epoch_nothing_moves() -> None:
    made = laid_out(small_pages(101))
    for messages in range(102, 158):  # 157 x 10 = 1570
        assert laid_out(small_pages(messages)) == made
    assert trigger(laid_out(small_pages(158))) == 158


def test_a_window_is_full_at_the_end_of_an_epoch() -> None:
    entries = small_pages(157)
    found = laid_out(entries)
    verbatim = sum(e.full for e in entries if e.seq >= found.verbatim_from)
    condensed = sum(e.short for e in entries if found.condensed_from <= e.seq < found.verbatim_from)
    assert found.head_room + condensed + verbatim == SHARES.body - 6 == 1000


def test_a_page_is_cut_inside_where_its_beginning_costs_more_than_a_tenth_of_the_room() -> None:
    pages = history(*([(10, 4)] * 15 for _ in range(7)))[:101]
    assert laid_out(pages).verbatim_from == 91  # 90 tokens on from 82
    found = laid_out(history(*([(10, 4)] * 40 for _ in range(3)))[:101])
    assert (found.verbatim_from, found.pinned) == (82, 81)  # the next page begins at 121


def test_a_page_is_cut_inside_if_too_few_messages_would_stay() -> None:
    pages = history(*([(10, 4)] * 15 for _ in range(7)))[:101]
    found = laid_out(pages, replace(POLICY, full_recent_count=15))
    assert (found.verbatim_from, found.pinned) == (82, 76)


def fresh_results(count: int, size: int) -> list[Entry]:
    """A question, and calls with a fresh result each."""
    entries = history([(10, 10)], *[])
    for _ in range(count):
        last = entries[-1]
        seq = last.seq + 1
        call = Entry(seq, 1, seq, "call", 10, 10, last.full_after, last.short_before + last.short, 1, seq)
        fresh = Entry(
            seq + 1, 1, seq, "result", 10, 10, call.full_after, call.short_before + call.short, 1, seq + 1, (size,)
        )
        entries += [call, fresh]
    return entries


def test_what_is_fresh_brings_a_cut_forward_and_the_cut_stays_when_its_page_is_over() -> None:
    entries = fresh_results(6, 200)  # 130 tokens, and 200 for each result while it is fresh
    assert laid_out(entries[:9]).number == 0  # 90 + 800
    found = laid_out(entries[:11])  # 110 + 1000
    #   at a cut fresh results count by half: two pairs are 40 tokens too many, one is 80 too few
    assert (trigger(found), found.verbatim_from, found.pinned) == (11, 8, 1)
    last = entries[10]
    closed = Entry(12, 2, 12, "message", 10, 10, last.full_after, last.short_before + last.short, 12, 12)
    assert laid_out([*entries[:11], closed]) == found


def test_a_cut_leaves_room_to_grow_while_results_are_fresh() -> None:
    found = laid_out(fresh_results(4, 240), known=replace(SHARES, keep=700))
    #   by half, four pairs are 560 tokens of 700; in full they are 1,040, and three are 780 of 800
    assert (trigger(found), found.verbatim_from) == (9, 4)


def test_a_result_larger_than_its_part_weighs_what_is_shown_of_it() -> None:
    found = laid_out(fresh_results(3, 50_000))
    assert found.number == 0  # three times a quarter of the room, and 70
    assert trigger(laid_out(fresh_results(4, 50_000))) == 9


def recalled_for(entries: list[Entry], seq: int, tokens: int) -> list[Entry]:
    return [e._replace(loaded=tokens) if e.seq == seq else e for e in entries]


def test_what_is_recalled_for_a_message_makes_a_cut_of_its_own_where_it_does_not_fit() -> None:
    entries = small_pages(96)  # 960 tokens, of which the last are a user's message
    assert laid_out(recalled_for(entries, 96, 40)) == laid_out(entries)
    found = laid_out(recalled_for(entries, 96, 41))
    assert found.number == epoch_number(96, 0, recalled=True)
    #   159 tokens are left for messages: the page that begins at 81 is one more, which is nearest
    assert (found.verbatim_from, found.full_until) == (81, 800 + 760)


def test_a_cut_for_what_was_recalled_is_found_again_when_its_page_is_over() -> None:
    entries = recalled_for(small_pages(110), 96, 300)
    made = laid_out(entries[:96])
    for messages in range(97, 111):
        assert laid_out(entries[:messages]) == made


def test_pages_alone_make_an_epoch_due_too() -> None:
    policy = Policy(full_recent_count=2, active_pages=4)
    pages = [[(1, 1), (1, 1)]] * 5
    found = laid_out(history(*pages), policy)
    #   page 5 opens with message 9: pages 3 to 5 stay in the body
    assert (trigger(found), found.verbatim_from, found.condensed_from) == (9, 5, 5)
    assert found.pages_until == 6


def test_a_page_larger_than_the_zone_is_cut_inside_and_its_question_stays() -> None:
    found = laid_out(history([(10, 4)] * 200))
    assert found.number
    assert (found.pinned, found.verbatim_from) == (1, trigger(found) - 19)


def test_a_call_group_is_never_cut() -> None:
    entries = history([(10, 10)], [(10, 10)] * 60)
    kinds: dict[int, Kind] = {20: "call", **dict.fromkeys(range(21, 50), "result")}
    grouped = [e._replace(group=20, kind=kinds[e.seq]) if e.seq in kinds else e for e in entries]
    known = replace(SHARES, available=400, whole=400, head=35, condensed=50, keep=70)
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
        known = Shares(600, 0, whole=550, head=50, condensed=100, keep=keep, head_most=400)
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
    assert after.number == epoch_number(trigger(before), 1)
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


def test_a_tail_that_crowds_the_newest_group_leaves_the_head_its_room() -> None:
    entries = history(*([(10, 4)] * 5 for _ in range(30)), [(900, 200)])
    found = laid_out(entries, known=replace(SHARES, available=706, whole=700, reserve=300))
    assert (found.verbatim_from, found.condensed_from) == (151, 151)
    assert found.head_room == SHARES.head


some_shares = st.builds(shares, st.integers(0, 3000), st.just(POLICY), reserve=st.sampled_from((0, 300, 1500)))


@given(some_shares, some_pages)
def test_the_zones_of_a_layout_fit_the_body(known: Shares, pages: list[list[tuple[int, int]]]) -> None:
    entries = history(*pages)
    found = laid_out(entries, known=known)
    start = next((e for e in entries if e.seq == found.verbatim_from), entries[0])
    pinned = sum(e.full for e in entries if e.seq == found.pinned)
    newest = next(e for e in entries if e.seq == (trigger(found) or 1))
    if found.number and found.full_until > newest.full_after:  # no message or question larger than the zone
        condensed = sum(
            e.short for e in entries if found.condensed_from <= e.seq < found.verbatim_from and e.seq != found.pinned
        )
        growth = found.full_until - start.full_before
        assert found.head_room + condensed + pinned + growth + OPENING_TOKENS <= known.body


@given(some_shares, some_pages)
def test_nothing_that_fits_is_dropped(known: Shares, pages: list[list[tuple[int, int]]]) -> None:
    entries = history(*pages)
    found = laid_out(entries, known=known)
    fits = totals(entries).full <= known.whole
    assert fits == (found.verbatim_from == found.condensed_from == 1 and not found.number)


@given(some_shares, some_pages)
def test_a_larger_budget_shows_no_less_than_a_fresh_cut_of_three_quarters_of_it(
    known: Shares, pages: list[list[tuple[int, int]]]
) -> None:
    entries = history(*pages)
    smaller = shares(known.body * 3 // 4, POLICY)
    found = laid_out(entries, known=shares(known.body, POLICY))
    start = next((e for e in entries if e.seq == found.verbatim_from), entries[0])
    page = smaller.body // 10 + max(e.full for e in entries)  # where a cut falls
    assert totals(entries).full - start.full_before >= min(smaller.keep, totals(entries).full) - page
