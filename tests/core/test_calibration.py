"""What is learned of a model's tokenizer, and that windows fitted to it are within the budget of its tokens."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from app.core.calibration import OURS, PERCENT_MAX, STEP, UNREPORTED, WINDOW_TOKENS_MIN, ReportedUsage, charged, risen
from app.core.models import TABLE
from app.core.window.budget import smallest_budget, usable

percents = st.integers(OURS // STEP, PERCENT_MAX // STEP).map(lambda n: n * STEP)
reports = st.builds(ReportedUsage, st.integers(1, 1_000_000), st.integers(1, 3_000_000))


@given(st.integers(1, 10_000_000), percents, reports, st.booleans())
def test_a_full_window_is_within_the_budget_of_the_models_tokens(
    budget: int, percent: int, reported: ReportedUsage, is_exact: bool
) -> None:
    assume(reported.window_tokens >= WINDOW_TOKENS_MIN)
    assume(reported.prompt_tokens * OURS <= PERCENT_MAX * reported.window_tokens)
    after = risen(percent, reported, is_exact=is_exact)
    window = usable(budget, charged(after, is_exact=is_exact))
    added = STEP if is_exact else 0  # what an API adds to our count of its own vocabulary
    assert window * reported.prompt_tokens * OURS <= budget * reported.window_tokens * (OURS + added)


@given(percents, st.lists(reports, max_size=20), st.booleans())
def test_calibration_is_stepwise_and_deterministic(percent: int, told: list[ReportedUsage], is_exact: bool) -> None:
    for reported in told:
        after = risen(percent, reported, is_exact=is_exact)
        assert percent <= after <= PERCENT_MAX
        assert after % STEP == 0 or after == OURS + 1
        assert risen(after, reported, is_exact=is_exact) == after
        percent = after


@pytest.mark.parametrize(
    ("window", "prompt", "percent", "of_ours"),
    [
        (1000, 1050, 105, 100), (1000, 1051, 110, 110), (1000, 1300, 130, 130), (1000, 1301, 135, 135),
        (1000, 2000, 200, 200), (1000, 9001, 200, 200), (499, 900, 100, 100), (500, 900, 180, 180),
        (1000, 400, 101, 100),
    ],
)  # fmt: skip
def test_the_first_report_sets_the_ratio(window: int, prompt: int, percent: int, of_ours: int) -> None:
    assert risen(OURS, ReportedUsage(window, prompt), is_exact=False) == percent
    assert risen(OURS, ReportedUsage(window, prompt), is_exact=True) == of_ours


def test_the_margin_is_what_is_uncertain() -> None:
    assert charged(OURS, is_exact=True) == OURS
    assert charged(OURS, is_exact=False) == UNREPORTED
    assert charged(OURS + 1, is_exact=False) < UNREPORTED
    models = ("claude-haiku-4-5", "claude-opus-4-7", "claude-sonnet-5-5", "mistral-large-3", "qwen3.7-plus")
    assert [TABLE.row(model).charge for model in models] == [160, 175, 175, 120, 120]


@given(st.integers(0, 10_000_000), percents)
def test_the_smallest_budget_is_enough_and_one_less_is_not(needed: int, percent: int) -> None:
    smallest = smallest_budget(needed, percent)
    assert usable(smallest, percent) >= needed
    assert needed == 0 or usable(smallest - 1, percent) < needed
