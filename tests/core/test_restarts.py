"""Pauses before something that ended is started again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from app.core.edge.restarts import PAUSE_MAX, STEADY_SECONDS, pause_seconds, quick_ends


@given(st.integers(0, 10_000))
def test_pauses_grow_to_a_bound(quick: int) -> None:
    assert 0 <= pause_seconds(quick) <= pause_seconds(quick + 1) <= PAUSE_MAX


@given(st.lists(st.floats(0, 1000), max_size=30))
def test_the_first_end_after_a_steady_run_costs_no_pause(runs: list[float]) -> None:
    quick = 0
    for ran in runs:
        quick = quick_ends(quick, ran)
        assert (quick == 0) == (ran >= STEADY_SECONDS)
    assert pause_seconds(quick_ends(quick, STEADY_SECONDS)) == 0
    assert pause_seconds(quick_ends(0, 0)) == 0
