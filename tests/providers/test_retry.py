"""What a Retry-After asks for, and how long a call waits before it is tried again."""

from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.providers import TemporaryError
from app.providers.retry import ASKED_MAX_SECONDS, RETRIES, WAIT_MAX_SECONDS, asked_seconds, pause_seconds

NOW = 1_800_000_000.0


@given(st.integers(0, 10**12 - 1))
def test_seconds_are_taken_up_to_an_hour(seconds: int) -> None:
    assert asked_seconds(f" {seconds} ", NOW) == min(seconds, 3600)


@given(st.integers(-(10**6), 10**6))
def test_a_date_is_taken_for_its_distance_and_the_past_for_now(distance: int) -> None:
    asked = formatdate(NOW + distance, usegmt=True)
    assert asked_seconds(asked, NOW) == min(max(distance, 0), 3600)


@pytest.mark.parametrize("nonsense", ["", "soon", "-5", "nan", "inf", "1e9", "٣", "9" * 400, "Mon, 99 Foo 2026", None])
def test_malformed_headers_are_ignored(nonsense: str | None) -> None:
    assert asked_seconds(nonsense, NOW) is None


@given(st.text(max_size=60), st.floats(0, 4e9))
def test_any_header_gives_a_bounded_wait(header: str, now: float) -> None:
    asked = asked_seconds(header, now)
    assert asked is None or 0 <= asked <= ASKED_MAX_SECONDS


@given(st.none() | st.floats(0, ASKED_MAX_SECONDS), st.integers(0, RETRIES + 1), st.floats(-5, 120), st.floats(0, 1))
def test_a_pause_respects_retry_after_and_the_deadline(
    asked: float | None, retried: int, left: float, chance: float
) -> None:
    seconds = pause_seconds(TemporaryError("", asked), retried, left, chance)
    if seconds is None:
        doubled = 0.5 * 2**retried
        assert retried >= RETRIES or (asked or 0) > WAIT_MAX_SECONDS or (asked or 0) + doubled >= left
    else:
        assert (asked or 0) <= seconds < left
        assert retried < RETRIES


def test_the_pause_doubles_and_the_whole_of_it_is_chance() -> None:
    error = TemporaryError("")
    assert [pause_seconds(error, retried, 60, 1) for retried in range(3)] == [0.5, 1.0, None]
    assert pause_seconds(error, 1, 60, 0) == 0
