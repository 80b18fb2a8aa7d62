"""Where zones begin, in numbers.

The examples have a recent zone of 550 tokens, so an epoch is due at 550, 825, 1100 ... tokens of history, and
messages of 10 tokens (4 when condensed) in pages of 5.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.budget import Shares, shares
from app.core.model import Entry, Kind, Layout, Policy, Totals
from app.core.paging import layout, ledger_reach, page_threshold, token_threshold

SHARES = Shares(available=1000, head=100, condensed=350, recent=550)
POLICY = Policy(full_recent_count=10, active_pages=1000)


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
    [(0, 0), (550, 0), (551, 550), (825, 550), (826, 825), (1100, 825), (1101, 1100)],
)
def test_an_epoch_is_due_when_the_recent_zone_is_full_and_then_after_every_half_of_it(full: int, passed: int) -> None:
    assert token_threshold(full, SHARES) == passed


@pytest.mark.parametrize(("page", "opened"), [(4, 0), (5, 5), (6, 5), (7, 7), (8, 7), (9, 9)])
def test_an_epoch_is_due_when_there_is_a_page_too_many_and_then_after_every_half_of_them(
    page: int, opened: int
) -> None:
    assert page_threshold(page, Policy(active_pages=4)) == opened


def test_until_the_first_threshold_everything_is_verbatim() -> None:
    entries = small_pages(55)
    found = laid_out(entries)
    assert (found.number, found.condensed_from, found.verbatim_from, found.full_until) == (0, 1, 1, 550)
    assert found.holds(totals(entries))
    assert not found.holds(totals(small_pages(56)))


def test_at_the_threshold_the_last_messages_stay_verbatim_rounded_out_to_a_page() -> None:
    #   1 ....... 46 ....... 56      56 x 10 tokens; message 56 passes 550
    #   condensed  | verbatim        10 messages back from 56 is 47; its page begins at 46
    found = laid_out(small_pages(56))
    assert (found.number, found.verbatim_from, found.condensed_from) == (56, 46, 1)
    assert found.full_until == 825
    assert found.trigger_page == 12


def test_within_an_epoch_nothing_moves() -> None:
    made = laid_out(small_pages(56))
    for messages in range(57, 83):  # 82 x 10 = 820 <= 825
        assert laid_out(small_pages(messages)) == made
    assert laid_out(small_pages(83)).number == 83


def test_more_recent_messages_than_the_zone_holds_are_cut_to_about_half_of_it() -> None:
    #   floor: 550 - 275 = 275 tokens; the first page that begins after it is the seventh, at 300
    found = laid_out(small_pages(56), replace(POLICY, full_recent_count=1000))
    assert found.verbatim_from == 31


def test_what_does_not_fit_the_condensed_zone_goes_to_the_contents_page() -> None:
    #   the last threshold is 550 + 16 x 275 = 4950; 350 tokens of room, 4 a message: 87 messages before 486,
    #   from where the next page begins at 401
    found = laid_out(small_pages(511))
    assert (found.number, found.verbatim_from, found.condensed_from) == (496, 486, 401)
    assert found.head_room == 100


def test_pages_alone_make_an_epoch_due_too() -> None:
    policy = Policy(full_recent_count=2, active_pages=4)
    pages = [[(1, 1), (1, 1)]] * 5
    found = laid_out(history(*pages), policy)
    #   page 5 opens with message 9: two messages back is 8, in page 4; pages 3 to 5 stay in the body
    assert (found.number, found.verbatim_from, found.condensed_from) == (9, 7, 5)
    assert found.pages_until == 6


def test_a_page_larger_than_the_zone_is_cut_inside_and_its_question_stays() -> None:
    entries = history([(10, 4)] * 200)
    found = laid_out(entries)
    #   the last threshold is 1925, the floor 275 before it: message 166 begins there. Of 1000 tokens, growth
    #   takes 550, the head 100, the question 10; in the 340 that are left 85 condensed messages fit
    assert (found.number, found.verbatim_from, found.condensed_from) == (193, 166, 81)
    assert found.pinned == 1


def test_a_call_group_is_never_cut() -> None:
    entries = history([(10, 10)], [(10, 10)] * 60)
    kinds: dict[int, Kind] = {20: "call", **dict.fromkeys(range(21, 50), "result")}
    grouped = [e._replace(group=20, kind=kinds[e.seq]) if e.seq in kinds else e for e in entries]
    for messages in range(30, 62):
        found = laid_out(grouped[:messages])
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
    for messages in range(56, 61):
        for recent in (1, 99):
            found = laid_out(made[:messages], replace(POLICY, full_recent_count=recent))
            assert 31 not in (found.verbatim_from, found.condensed_from)


def test_a_message_larger_than_the_whole_zone_stands_alone_in_it() -> None:
    found = laid_out(history([(10, 10)], [(10, 10), (5000, 5000)]))
    assert found.verbatim_from == 3
    assert found.head_room == 0
    assert found.pinned == 2


def test_the_generation_makes_a_new_number() -> None:
    entries = small_pages(60)
    erased = replace(totals(entries), generation=1)
    before, after = laid_out(entries), layout(entries, erased, SHARES, POLICY)
    assert after.number == before.number + 1
    assert not before.holds(erased)


def test_what_leads_a_conversation_as_its_prompt_is_not_paged() -> None:
    entries = small_pages(56)
    prompt = Entry(1, 1, 1, "prompt", 0, 0, 0, 0, 0, 1)
    moved = [e._replace(seq=e.seq + 1, group=e.group + 1, user_seq=e.user_seq + 1) for e in entries]
    with_prompt, without = laid_out([prompt, *moved]), laid_out(moved)
    assert with_prompt == without
    assert with_prompt.condensed_from == 1


weights = st.tuples(st.integers(4, 60), st.integers(1, 60)).map(lambda w: (w[0], min(w)))


@given(st.lists(st.lists(weights, min_size=1, max_size=12), min_size=1, max_size=30), st.data())
def test_messages_may_be_missing_anywhere(pages: list[list[tuple[int, int]]], data: st.DataObject) -> None:
    entries = history(*pages)
    gone = data.draw(st.sets(st.integers(1, len(entries))))
    known = shares(data.draw(st.integers(0, 2000)), POLICY)
    policy = Policy(active_pages=data.draw(st.integers(1, 30)))
    left = [e for e in entries if e.seq not in gone]
    found = layout(left, totals(entries), known, policy)
    assert found.condensed_from <= found.verbatim_from
    assert found.holds(totals(entries))


@given(st.integers(0, 3000), st.lists(st.lists(weights, min_size=1, max_size=12), min_size=1, max_size=30))
def test_the_zones_of_a_layout_fit_what_is_available(available: int, pages: list[list[tuple[int, int]]]) -> None:
    known, entries = shares(available, POLICY), history(*pages)
    found = laid_out(entries, known=known)
    start = next((e for e in entries if e.seq == found.verbatim_from), entries[0])
    growth = found.full_until - start.full_before
    pinned = sum(e.full for e in entries if e.seq == found.pinned)
    if growth + pinned <= known.recent:  # no message or question larger than the zone
        condensed = sum(e.short for e in entries if found.condensed_from <= e.seq < found.verbatim_from)
        assert found.head_room + condensed + pinned + growth <= max(available, known.recent)
    assert ledger_reach(known) >= known.recent + known.condensed
