"""A provider that is not there at all, for long, also when the service starts; and one that is there again."""

from collections.abc import Iterator

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import StorageUnavailable
from app.ids import uuid7
from app.jobs.policy import judge
from app.postgres.embedded import EmbeddedPostgres
from app.providers import TemporaryError
from app.queue import table
from app.queue.table import Claimed
from app.queue.verdict import DeadLetter, TryAgain
from app.settings import Settings
from app.text.tokens import TokenCounter
from tests.conftest import serving, wait_for
from tests.faults.kit import Conversation, Provider, Sql, service
from tests.jobs.kit import Model
from tests.providers.fake_openai import FakeOpenAI

DAY = 24 * 3600.0


@given(st.lists(st.tuples(st.floats(0, 1), st.none() | st.floats(0, 86_400)), min_size=1, max_size=60), st.booleans())
def test_an_outage_is_waited_out_at_a_bounded_pace_and_no_attempt_counts(
    outage: list[tuple[float, float | None]], database: bool
) -> None:
    """So the job still has all of them for a fault of its own."""
    for done, (random, asked) in enumerate(outage):
        claimed = job(attempts=done + 1, excused=done)
        error = StorageUnavailable("away") if database else TemporaryError("away", asked)
        verdict = judge(error, claimed, random)
        assert isinstance(verdict, TryAgain)
        assert verdict.is_transient
        pause = min(0.0 if database else asked or 0.0, table.RETRY_AFTER_MAX_SECONDS)
        assert pause + table.BACKOFF_MIN_SECONDS <= verdict.seconds <= pause + table.BACKOFF_MAX_SECONDS
    after = judge(ValueError(), job(attempts=len(outage) + 1, excused=len(outage)), 1.0)
    assert isinstance(after, TryAgain)


def test_an_outage_is_given_up_after_more_than_a_day() -> None:
    waited = [judge(TemporaryError("away"), job(n + 1, n), 0.5) for n in range(table.TRANSIENT_ATTEMPTS_MAX)]
    assert sum(verdict.seconds for verdict in waited if isinstance(verdict, TryAgain)) > DAY
    hours = [judge(TemporaryError("away", 30.0), job(n + 1, n), 1.0) for n in range(100)]
    first_hour = [sum(v.seconds for v in hours[:n] if isinstance(v, TryAgain)) < 3600 for n in range(100)]
    assert first_hour.count(True) < 25, "attempts in an hour"
    last = judge(TemporaryError("away"), job(table.TRANSIENT_ATTEMPTS_MAX + 1, table.TRANSIENT_ATTEMPTS_MAX), 0.5)
    assert last == DeadLetter("TemporaryError: away")


def job(attempts: int, excused: int) -> Claimed:
    return Claimed(uuid7(), uuid7(), "page", "s", "c", {}, attempts, 1, uuid7(), "llm", excused)


@pytest.fixture
def away() -> FakeOpenAI:
    """A provider that has gone."""
    gone = FakeOpenAI()
    with gone:
        pass
    return gone


@pytest.fixture
def client(postgres: EmbeddedPostgres, settings: Settings, away: FakeOpenAI, clean: None) -> Iterator[httpx.Client]:
    serves = serving(service(settings, postgres.app_dsn, away.url))
    with httpx.Client(base_url=next(serves), timeout=30) as opened:
        yield opened
    next(serves, None)


def test_everything_said_during_an_outage_is_processed_afterwards(
    client: httpx.Client, away: FakeOpenAI, run_as_superuser: Sql, counter: TokenCounter
) -> None:
    conversation = Conversation(client, run_as_superuser, counter)
    conversation.goes_on(14)

    def failed_often() -> bool:
        conversation.time_passes()
        [row] = run_as_superuser("SELECT min(attempts) AS attempts, count(error) = count(*) AS failed FROM work")
        return bool(row["failed"] and row["attempts"] > table.ATTEMPTS_MAX)

    wait_for(failed_often, seconds=60)
    jobs = conversation.jobs()
    assert (jobs["dead"], jobs["pending"] > 0) == (0, True)

    def all_say_why() -> bool:
        """Of what waits: for a moment all of a lane may be tried."""
        conversation.time_passes()
        lanes = conversation.jobs()["lanes"].values()
        return {str(lane["error"]).split(":")[0] for lane in lanes} == {"TemporaryError"}

    wait_for(all_say_why)
    assert conversation.get("summary")["source"] == "extractive"
    last = conversation.goes_on(1)
    assert {"index_lags", "summary_lags"} <= {warning["code"] for warning in last["warnings"]}

    model = Model()
    with FakeOpenAI(reply=model, port=int(away.url.split(":")[-1].split("/")[0])) as back:
        Provider(back, model).heal()
        conversation.settles()
        conversation.assert_complete()
