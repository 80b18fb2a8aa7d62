"""When a message was said, and the ids that searches compare with a time."""

from datetime import UTC, datetime, timedelta, timezone
from uuid import RFC_4122

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.times import CLOCKS_DIFFER, SAID_FIRST, dated, first_id, problems_of_said, said_at, time_text
from app.ids import uuid7

NOW = datetime(2030, 1, 1, tzinfo=UTC)
OFFSETS = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
TIMES = st.datetimes(datetime(1971, 1, 1), datetime(2029, 12, 30), timezones=st.just(UTC))  # noqa: DTZ001 - in UTC


@given(TIMES, OFFSETS)
def test_a_time_is_read_as_it_was_written_whatever_its_offset(time: datetime, offset: timezone) -> None:
    assert said_at(time.astimezone(offset).isoformat()) == time
    assert said_at(time_text(time)) == time


@given(st.text() | st.integers() | st.none() | st.binary())
def test_anything_else_is_refused_with_a_rule(value: object) -> None:
    with pytest.raises(ValueError, match="must "):
        said_at(value)


@given(st.lists(st.none() | TIMES, max_size=8), st.none() | TIMES)
def test_only_times_in_order_are_accepted_as_far_as_clocks_agree(
    times: list[datetime | None], newest: datetime | None
) -> None:
    told = [time for time in (newest, *times) if time is not None]
    is_in_order = all(time >= max(told[: at + 1]) - CLOCKS_DIFFER for at, time in enumerate(told))
    assert (not problems_of_said(times, newest, NOW)) == is_in_order


def test_a_problem_names_the_place_and_the_limit() -> None:
    late = NOW + timedelta(seconds=61)
    found = problems_of_said([NOW, None, late, SAID_FIRST], None, NOW, first=5)
    assert [problem["loc"][-2] for problem in found] == [7, 8]
    assert "2030-01-01T00:01:00Z" in found[0]["msg"]
    assert "2030-01-01T00:00:00Z" in found[1]["msg"]


@given(TIMES)
def test_an_id_is_found_by_the_time_it_is_dated(time: datetime) -> None:
    made = dated(uuid7(), time)
    assert made.version == 7
    assert made.variant == RFC_4122
    later = time + timedelta(milliseconds=2)
    assert first_id(time - timedelta(milliseconds=1)) <= made < first_id(later)
    assert dated(made, None) == made
