"""Learning a model's tokenizer from the usage that its API reports."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.calibration import (
    FILE_PERCENTS,
    LEARNED_MAX,
    LEARNED_MIN,
    Charge,
    ReportedUsage,
    learn_file_weights,
    learn_percent,
)
from app.core.model import OURS, FileWeight
from app.core.models import EXACT, FAMILIES

charges = st.builds(
    Charge, st.sampled_from(list(FAMILIES.values())), st.just(0) | st.integers(LEARNED_MIN, LEARNED_MAX)
)
windows = st.integers(1, 1_000_000)


def after(charge: Charge, window: int, percent: int, times: int = 1) -> Charge:
    """Return the charge after ``times`` reports of a percent of the family's formula."""
    for _ in range(times):
        predicted = Charge(charge.family, OURS).family.tokens * window // OURS
        found = learn_percent(charge, ReportedUsage(window, predicted * percent // OURS), predicted)
        charge = Charge(charge.family, found)
    return charge


@given(charges, windows, st.integers(0, 10**12), windows)
def test_a_report_is_clamped_and_moves_towards_what_it_says(
    charge: Charge, window: int, prompt: int, predicted: int
) -> None:
    found = learn_percent(charge, ReportedUsage(window, prompt), predicted)
    assert min(charge.rest, LEARNED_MIN) <= found <= max(charge.rest, LEARNED_MAX)
    assert (found >= charge.rest) or prompt * OURS < charge.rest * predicted
    assert charge.family is not FAMILIES[EXACT] or found >= min(OURS, charge.rest)


@pytest.mark.parametrize("name", sorted(set(FAMILIES) - {EXACT}))
@pytest.mark.parametrize("percent", [85, 95, 100, 112, 130, 160])
def test_three_reports_leave_a_small_margin(name: str, percent: int) -> None:
    found = after(Charge(FAMILIES[name]), 8_000, percent, 3)
    assert percent <= found.rest <= percent + 6


def test_a_small_sample_moves_little() -> None:
    charge = Charge(FAMILIES["qwen"])
    assert abs(after(charge, 30, 200).rest - charge.rest) <= 4
    assert after(charge, 1, 200).rest == charge.rest
    assert after(charge, 20_000, 150).rest > 140


def test_the_count_falls_again() -> None:
    high = after(Charge(FAMILIES["claude"]), 8_000, 150, 3)
    assert after(high, 8_000, 90, 4).rest <= 94


def test_a_model_of_our_vocabulary_is_never_charged_less() -> None:
    exact = Charge(FAMILIES[EXACT])
    assert after(exact, 8_000, 60, 5).rest == OURS
    assert after(exact, 8_000, 130, 5).rest >= 128


def test_files_of_one_kind_learn_before_the_text() -> None:
    files = [FileWeight(1, "pdf", 25_000, 25_000)]
    percents, text, charge = learn_file_weights({}, files, ReportedUsage(26_000, 76_000), 26_100)
    assert percents == {"pdf": 299}
    assert charge == 1_100
    assert text.window_tokens == 1_000
    assert text.prompt_tokens == pytest.approx(1_100, abs=200)
    beyond, rest, _ = learn_file_weights({}, files, ReportedUsage(26_000, 10**9), 26_100)
    assert beyond == {"pdf": FILE_PERCENTS[1]}
    assert rest.prompt_tokens > 10**8


def test_files_of_two_kinds_teach_nothing() -> None:
    files = [FileWeight(1, "pdf", 9_000, 9_000), FileWeight(1, "audio", 9_000, 9_000)]
    report = ReportedUsage(26_000, 76_000)
    assert learn_file_weights({"pdf": 50}, files, report, 26_000) == ({"pdf": 50}, report, 26_000)
