"""Of results that say the same the newest is shown, in the place of the best, and nothing is lost."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from app.core.search.repetitions import RepeatedStatement, Told, each_once

START = datetime(2026, 1, 1, tzinfo=UTC)


def told(statement: str, day: int) -> Told:
    return Told(statement, (START + timedelta(days=day), 1, 0))


RESULTS = st.lists(st.builds(told, st.sampled_from("abcd"), st.integers(0, 5)), max_size=12)


@given(RESULTS)
def test_every_result_is_shown_or_counted_once(results: list[Told]) -> None:
    shown = each_once(results)
    assert sorted(place for one in shown for place in (one.newest, *one.others)) == list(range(len(results)))
    assert len(shown) == len({result.statement for result in results})


@given(RESULTS)
def test_the_newest_is_shown_where_the_best_stood(results: list[Told]) -> None:
    shown = each_once(results)
    assert [one.best for one in shown] == sorted(one.best for one in shown)
    for one in shown:
        same = [result for result in results if result.statement == results[one.newest].statement]
        assert results[one.newest].said == max(result.said for result in same)


def test_a_fact_that_changed_back_is_shown_when_it_was_last_said() -> None:
    results = [told("Berlin", 1), told("Paris", 2), told("Berlin", 3)]
    assert each_once(results) == [RepeatedStatement(2, (0,)), RepeatedStatement(1, ())]
