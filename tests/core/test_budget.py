"""Budgets, windows of models, and shares."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.model import OPENING_TOKENS, Fixed, Policy
from app.core.models import TABLE
from app.core.window.budget import (
    CACHED_PRICE,
    KEPT_LEAST,
    KEPT_MOST,
    LOADED_TOKENS,
    WINDOW_DEFAULT,
    ZONES_MAX,
    RecallRoom,
    fair,
    kept_share,
    recall_room,
    reserves,
    shares,
)
from app.core.window.profile import Defaults, budget_of, offers_tools, profile, unfit_shares

a_share = st.floats(0, 1)
policies = st.builds(Policy, head_share=a_share, condensed_share=a_share, recall_share=st.none() | st.floats(0, 0.8))


@given(st.integers(0, 10_000_000), policies, st.integers(0, 100))
def test_shares_never_add_up_to_more_than_is_available(available: int, policy: Policy, pages: int) -> None:
    for reserve in reserves(available, policy):
        found = shares(available, policy, reserve=reserve)
        assert found.body + found.reserve == available
        assert found.head(pages) <= found.body * ZONES_MAX
        assert found.head(pages) <= found.head(pages + 1)
        assert found.whole == max(0, found.body - OPENING_TOKENS)


def test_a_budget_of_10_000_is_shared_out_like_this() -> None:
    found = profile(Policy(), 10_000, Fixed(tools_tokens=600, system_tokens=400)).shares
    assert (found.available, found.reserve, found.whole, found.condensed) == (9000, 0, 8994, 900)
    assert [found.head(pages) for pages in (0, 1, 10, 20, 1_000)] == [0, 380, 675, 1350, 1350]


a_price = st.floats(0.11, 1)


@given(st.floats(1, 2_000), st.integers(1, 200_000), a_price)
def test_what_is_kept_is_the_most_that_a_token_in_view_is_worth(group: float, room: int, price: float) -> None:
    kept = kept_share(group, room, price)
    assert KEPT_LEAST <= kept <= KEPT_MOST
    if kept > KEPT_LEAST:
        assert 2 * (group / room) / (1 - kept**2) + CACHED_PRICE <= price + 1e-9
    if kept < KEPT_MOST:
        assert 2 * (group / room) / (1 - (kept + 0.01) ** 2) + CACHED_PRICE > price


@pytest.mark.parametrize(("group", "kept"), [(50, 0.85), (200, 0.71), (300, 0.5), (2_000, 0.5)])
def test_a_window_of_8_000_keeps_less_of_larger_groups(group: int, kept: float) -> None:
    assert round(kept_share(group, 8_000, 0.2), 2) == kept


def test_the_body_gives_way_to_a_tail_in_steps() -> None:
    assert reserves(9_000, Policy()) == [0, 1350, 3150, 5850]
    assert reserves(9_000, Policy(recall_share=0.3)) == [0, 1350, 2700]
    found = profile(Policy(), 10_000, Fixed(600, 400), reserve=5850).shares
    assert (found.reserve, found.body) == (5850, 3150)


def test_a_large_window_gives_the_head_no_more_than_it_can_use() -> None:
    assert shares(100_000, Policy()).head(100) == 4_000


@pytest.mark.parametrize(("available", "head"), [(1_000, 250), (1_520, 380), (2_000, 380), (8_000, 1_200)])
def test_a_small_window_has_a_head_that_holds_a_summary(available: int, head: int) -> None:
    assert shares(available, Policy()).head(20) == head
    assert shares(available, Policy(head_share=0)).head(20) == 0


@pytest.mark.parametrize(
    ("policy", "is_fit"),
    [(Policy(), True), (Policy(head_share=0.1, condensed_share=0.8), True), (Policy(condensed_share=0.8), False)],
)
def test_shares_that_leave_no_room_to_grow_are_unfit(policy: Policy, is_fit: bool) -> None:
    assert (unfit_shares(policy) is None) == is_fit


def test_fixed_parts_over_the_budget_leave_nothing() -> None:
    assert profile(Policy(), 100, Fixed(90, 90)).shares.available == 0


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("gpt-4", 8_192),
        ("gpt-4o-mini-2024-07-18", 128_000),
        ("openai/gpt-4.1-nano", 1_047_576),
        ("GPT-5-mini", 400_000),
        ("anthropic/claude-sonnet-4", 200_000),
        ("qwen3-32b", 131_072),
        ("deepseek-chat", 128_000),
        (" o3 ", 200_000),
        ("my-own-model", None),
        ("", None),
    ],
)
def test_a_model_is_known_by_its_longest_prefix(model: str, window: int | None) -> None:
    assert TABLE.window(model) == window


def test_every_known_window_is_its_own_longest_prefix() -> None:
    rows = [row for row in TABLE.rows.values() if row.window is not None]
    assert all(TABLE.window(prefix) == row.window for row in rows for prefix in row.prefixes)


def test_the_first_source_that_sets_a_budget_wins() -> None:
    defaults = Defaults(output_reserve=4096)
    assert budget_of(defaults, 500, 700, "gpt-4") == 500
    assert budget_of(defaults, None, 700, "gpt-4") == 700
    assert budget_of(defaults, None, None, "gpt-4") == 8192 - 4096
    assert budget_of(defaults, None, None, None) == WINDOW_DEFAULT - 4096
    assert budget_of(Defaults(context_window=32_000), None, None, "gpt-4") == 32_000 - 4096
    assert budget_of(Defaults(context_window=5000), None, None, None) == 2500  # never under half the window


def test_recall_tools_are_offered_where_they_take_at_most_a_quarter() -> None:
    assert offers_tools(400, 100)
    assert not offers_tools(399, 100)


@given(st.integers(0, 10_000_000))
def test_what_a_tool_brings_in_leaves_half_of_the_window_to_the_rest(available: int) -> None:
    found = recall_room(shares(available, Policy()))
    assert 1 <= found.usual <= found.most <= max(1, available // 2)
    assert found.usual <= LOADED_TOKENS


def test_a_window_of_4_000_gets_900_tokens_at_a_time_and_a_large_one_4_000() -> None:
    small, large = (profile(Policy(), budget, Fixed(350, 0)).shares for budget in (4_000, 128_000))
    assert recall_room(small) == RecallRoom(912, 1_825)
    assert recall_room(large) == RecallRoom(4_000, 63_825)


@given(st.lists(st.integers(0, 1_000)), st.integers(-10, 20_000))
def test_a_room_is_shared_out_fairly(wanted: list[int], room: int) -> None:
    found = fair(wanted, room)
    assert sum(found) <= max(room, 0)
    assert all(has <= wants for has, wants in zip(found, wanted, strict=True))
    short = [has for has, wants in zip(found, wanted, strict=True) if has < wants]
    assert all(has <= min(short, default=0) + 1 for has in short)
    assert not short or max(found) <= max(short) + 1  # the remainder of the division
    assert not short or sum(found) > room - len(wanted)
