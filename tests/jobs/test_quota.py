"""A tenant's tokens of background work: jobs wait when they are used up, and nothing is lost."""

from dataclasses import replace
from datetime import UTC, datetime

import httpx
from hypothesis import given
from hypothesis import strategies as st

from app.core.edge.limits import Quota, seconds_of_day_left
from app.runtime import Meters
from tests.api.kit import append, ok, path, user
from tests.jobs.conftest import Sql
from tests.jobs.kit import Model, Worker


@given(st.datetimes(timezones=st.just(UTC)).filter(lambda now: now.year < 9999))
def test_a_days_limit_ends_within_a_day(now: datetime) -> None:
    assert 0 < seconds_of_day_left(now) <= 86_400


def test_background_work_stops_at_the_limit_and_goes_on_when_it_is_raised(
    client: httpx.Client, worker: Worker, model: Model, sql: Sql
) -> None:
    append(client, "c", [user(f"message {number}") for number in range(10)])
    quota = Quota(background_tokens_per_day=1)
    limited = Worker(replace(worker.runtime, quota=quota, meters=Meters()), worker.portal)
    assert limited.drain("summary") == {"done": 1}, "nothing was used yet"
    append(client, "c", [user(f"more {number}") for number in range(5)])
    asked = len(model.asked)
    assert limited.drain("summary", rounds=1) == {"TemporaryError": 1}
    assert len(model.asked) == asked
    [job] = sql("SELECT error FROM work WHERE kind = 'summary'")
    assert "limit of 1 tokens of background work a day is reached until " in job["error"]
    assert worker.drain("summary") == {"done": 1}
    assert ok(client.get(path("c", "summary")))["through_seq"] == 9
