"""Single operations on the table; test_machine.py tries them in any order, test_races.py at the same time."""

from contextlib import suppress
from uuid import uuid4

import asyncpg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.postgres.database import Database
from app.postgres.transactions import Tx
from app.queue import depths, enqueue, table
from app.queue.table import LeaseLost
from tests.queue.conftest import Rows
from tests.queue.kit import ANN, BOB, KINDS, conversation, done, page, pass_time, put, take

pytestmark = pytest.mark.anyio


@given(st.integers(0, 10_000), st.floats(0, 1), st.none() | st.floats(-10, 1e9))
def test_backoff_is_bounded_and_respects_retry_after(attempts: int, random: float, retry_after: float | None) -> None:
    delay = table.backoff(attempts, random, retry_after)
    asked = min(max(retry_after or 0, 0), table.RETRY_AFTER_MAX_SECONDS)
    assert asked + table.BACKOFF_MIN_SECONDS <= delay <= asked + table.BACKOFF_MAX_SECONDS
    assert delay <= table.backoff(attempts + 1, random, retry_after)


def test_backoff_grows_to_five_minutes() -> None:
    assert [table.backoff(n, 1.0) for n in (1, 2, 3, 8, 9, 50)] == [2, 4, 8, 256, 300, 300]


def test_an_outage_of_a_day_makes_no_dead_letters() -> None:
    assert table.TRANSIENT_ATTEMPTS_MAX * table.BACKOFF_MAX_SECONDS / 2 > 24 * 3600


async def test_finished_work_is_deleted(database: Database, jobs: Rows) -> None:
    await conversation(database, ANN, "c")
    await put(database, ANN, page("c", 1))
    [job] = await take(database)
    assert (job.kind, job.conversation_id, job.args, job.attempts, job.version) == ("page", "c", {"page": 1}, 1, 1)
    await done(database, job)
    assert await jobs() == []


async def test_work_enqueued_again_while_running_runs_once_more(database: Database, jobs: Rows) -> None:
    await conversation(database, ANN, "c")
    await put(database, ANN, page("c", 1))
    [job] = await take(database)
    await put(database, ANN, page("c", 1))
    assert await take(database) == []
    await done(database, job)
    [again] = await take(database)
    assert (again.id, again.version, again.attempts) == (job.id, 2, 1)
    await done(database, again)
    assert await jobs() == []


async def test_a_conversation_has_one_job_in_a_lane_at_a_time(database: Database) -> None:
    await conversation(database, ANN, "c", "d")
    await put(database, ANN, page("c", 1), page("c", 2), page("d", 1))
    assert {job.conversation_id for job in await take(database)} == {"c", "d"}
    assert await take(database) == []


async def test_work_without_a_conversation_is_not_held_back(database: Database) -> None:
    await put(database, ANN, enqueue.embed(ANN), enqueue.embed(BOB))
    assert await take(database) == [], "it is another lane's"
    assert len(await table.claim(database, ANN, "embedding", KINDS, 5)) == 2


async def test_kinds_without_a_handler_are_left_alone(database: Database) -> None:
    await conversation(database, ANN, "c")
    await put(database, ANN, page("c", 1))
    assert await table.claim(database, ANN, "llm", ["summary"], 5) == []


async def test_the_longest_due_job_is_claimed_first(database: Database) -> None:
    await conversation(database, ANN, "c", "d")
    await put(database, ANN, page("c", 1))
    await put(database, ANN, page("d", 1))
    assert [job.conversation_id for job in await take(database, limit=1)] == ["c"]
    assert [job.conversation_id for job in await take(database, limit=1)] == ["d"]


async def test_a_failure_waits_and_keeps_count(database: Database, jobs: Rows) -> None:
    await conversation(database, ANN, "c")
    await put(database, ANN, page("c", 1))
    [job] = await take(database)
    assert await table.fail(database, job, "no\x00 luck \ud800" + "x" * 1000, 60)
    assert await take(database) == []
    [row] = await jobs()
    assert row["error"].startswith("no\ufffd luck ?x")
    assert len(row["error"]) == table.ERROR_MAX
    await pass_time(database)
    [again] = await take(database)
    assert (again.attempts, again.counted) == (2, 2)
    assert await table.fail(database, again, "away", 60, is_transient=True)
    await pass_time(database)
    [third] = await take(database)
    assert (third.attempts, third.counted) == (3, 2)


async def test_a_dead_letter_stays_until_somebody_wants_it(database: Database, jobs: Rows) -> None:
    await conversation(database, ANN, "c")
    await put(database, ANN, page("c", 1))
    [job] = await take(database)
    assert await table.fail(database, job, "refused", None)
    await pass_time(database)
    assert await take(database) == []
    async with database.begin(ANN) as tx:
        [dead] = await table.dead_letters(tx, None, 10)
        assert (dead.id, dead.error, dead.attempts) == (job.id, "refused", 1)
        assert await table.dead_letters(tx, job.id, 10) == []
        for _ in range(2):
            found = await table.retry(tx, job.id)
            assert found is not None
            assert found.state == "pending"
        assert await table.retry(Tx(tx.connection, BOB), job.id) is None
        assert await table.retry(tx, ANN) is None
    [again] = await take(database)
    assert again.attempts == 1
    await done(database, again)


async def test_enqueueing_revives_a_dead_letter(database: Database) -> None:
    await conversation(database, ANN, "c")
    await put(database, ANN, page("c", 1))
    [job] = await take(database)
    await table.fail(database, job, "refused", None)
    await put(database, ANN, page("c", 1))
    [again] = await take(database)
    assert (again.attempts, again.transient_attempts) == (1, 0)


async def test_work_enqueued_before_the_final_failure_is_tried(database: Database, jobs: Rows) -> None:
    await conversation(database, ANN, "c")
    await put(database, ANN, page("c", 1))
    [job] = await take(database)
    await put(database, ANN, page("c", 1))
    await table.fail(database, job, "refused", None)
    [again] = await take(database)
    assert (again.version, again.attempts) == (2, 1)


async def test_all_dead_letters_can_be_revived(database: Database, jobs: Rows) -> None:
    await conversation(database, ANN, "c", "d", "e")
    await put(database, ANN, page("c", 1), page("d", 1), page("e", 1))
    for job in await take(database):
        await table.fail(database, job, "refused", None)
    async with database.begin(ANN) as tx:
        assert [await table.retry_some(tx, 2) for _ in range(3)] == [2, 1, 0]
    assert len(await take(database)) == 3


async def test_a_release_does_not_count_as_an_attempt(database: Database, jobs: Rows) -> None:
    await conversation(database, ANN, "c")
    await put(database, ANN, page("c", 1))
    [job] = await take(database)
    assert await table.release(database, job, error="401")
    [row] = await jobs()
    assert (row["attempts"], row["error"], row["token"], row["claimed"]) == (0, "401", None, None)
    [again] = await take(database)
    assert again.token != job.token
    assert not await table.release(database, job)


async def test_after_the_clock_was_set_back_nothing_is_due_later_than_any_wait(database: Database, jobs: Rows) -> None:
    await conversation(database, ANN, "c")
    await put(database, ANN, page("c", 1), page("c", 2))
    [running] = await take(database)
    await pass_time(database, seconds=-86_400)
    assert await take(database) == []
    assert await table.astray(database, [ANN, BOB]) == [ANN]
    assert await table.bring_back(database, BOB) == 0
    assert await table.bring_back(database, ANN) == 2
    assert await table.astray(database, [ANN, BOB]) == []
    assert await table.beat(database, running), "the running job keeps its lease"
    await table.fail(database, running, "late", table.RETRY_AFTER_MAX_SECONDS)
    assert await table.bring_back(database, ANN) == 0, "a minute's wait is one that is set"
    [again] = await take(database)
    assert again.subject.endswith(":2")


async def test_a_lease_that_ended_is_taken_back_and_the_attempt_counts(database: Database, jobs: Rows) -> None:
    await conversation(database, ANN, "c")
    await put(database, ANN, page("c", 1))
    [job] = await take(database)
    assert await table.reap(database, ANN, lambda: 1.0) == 0
    assert await table.beat(database, job)
    await pass_time(database, seconds=table.LEASE_SECONDS + 1)
    assert await table.reap(database, BOB, lambda: 1.0) == 0
    assert await table.reap(database, ANN, lambda: 1.0) == 1
    assert not await table.beat(database, job)
    assert not await table.fail(database, job, "late", 1)
    [row] = await jobs()
    assert (row["attempts"], row["error"]) == (1, table.DIED)
    with pytest.raises(LeaseLost):
        await done(database, job)
    assert await take(database) == [], "it backs off"
    await pass_time(database)
    assert [again.attempts for again in await take(database)] == [2]


async def test_a_job_that_always_kills_its_worker_becomes_a_dead_letter(database: Database, jobs: Rows) -> None:
    await conversation(database, ANN, "c")
    await put(database, ANN, page("c", 1))
    for _ in range(table.ATTEMPTS_MAX):
        assert len(await take(database)) == 1
        await pass_time(database)
        assert await table.reap(database, ANN, lambda: 0.5) == 1
        await pass_time(database)
    assert await take(database) == []
    [row] = await jobs()
    assert (row["error"], row["attempts"], bool(row["failed_at"])) == (table.DIED, table.ATTEMPTS_MAX, True)


async def test_a_crash_after_a_long_outage_kills_nothing(database: Database, jobs: Rows) -> None:
    await conversation(database, ANN, "c")
    await put(database, ANN, page("c", 1))
    for _ in range(table.ATTEMPTS_MAX * 2):
        [job] = await take(database)
        await table.fail(database, job, "503", 60, is_transient=True)
        await pass_time(database)
    await take(database)
    await pass_time(database)
    await table.reap(database, ANN, lambda: 0.5)
    assert [row["failed_at"] for row in await jobs()] == [None]


async def test_work_that_is_committed_wakes_the_worker(database: Database, jobs: Rows) -> None:
    await conversation(database, ANN, "c")
    with suppress(LookupError):
        async with database.begin(ANN) as tx:
            await enqueue.enqueue(tx, [page("c", 1)])
            raise LookupError
    assert not database.work_came.is_set(), "rolled back"
    async with database.begin(ANN) as tx:
        await enqueue.enqueue(tx, [])
    assert not database.work_came.is_set(), "nothing enqueued"
    async with database.begin(ANN) as tx:
        await enqueue.enqueue(tx, [page("c", 1)])
        assert not database.work_came.is_set(), "not yet committed"
    assert database.work_came.is_set()


async def test_the_result_is_rolled_back_with_a_lost_lease(database: Database, jobs: Rows) -> None:
    await conversation(database, ANN, "c")
    await put(database, ANN, page("c", 1))
    [job] = await take(database)
    await pass_time(database)
    await table.reap(database, ANN, lambda: 0.5)
    with pytest.raises(LeaseLost):
        async with database.begin(ANN) as tx:
            await tx.execute("UPDATE conversations SET title = 'wrong' WHERE tenant_id = $1")
            await table.finish(tx, job)
    async with database.snapshot(ANN) as tx:
        assert await tx.fetchval("SELECT title FROM conversations WHERE tenant_id = $1") is None


async def test_running_work_is_deleted_with_its_conversation(database: Database, jobs: Rows) -> None:
    await conversation(database, ANN, "c")
    await put(database, ANN, page("c", 1))
    [job] = await take(database)
    async with database.begin(ANN) as tx:
        await tx.execute("DELETE FROM conversations WHERE tenant_id = $1")
    assert await jobs() == []
    with pytest.raises(LeaseLost):
        await done(database, job)


async def test_depth_reports_counts_and_age(database: Database) -> None:
    await conversation(database, ANN, "c", "d", "e")
    await put(database, ANN, *(page(name, number) for name in "cde" for number in (1, 2)), enqueue.embed(ANN))
    await pass_time(database, seconds=100)
    [running] = await take(database, limit=1)
    [job] = await take(database, limit=1)
    await table.fail(database, job, "refused", None)
    found = await depths.by_lane(database, [ANN])
    async with database.snapshot(ANN) as tx:
        busy, pages = await depths.of_conversation(tx, running.conversation_id or "")
    assert await depths.neglected(database, [ANN]) == {"llm": None, "embedding": None}
    assert (found["llm"].pending, found["llm"].running, found["llm"].dead) == (4, 1, 1)
    assert found["llm"].unclaimed == 3, "what waits for its conversation is not neglected"
    assert 100 <= (found["llm"].oldest_pending_seconds or 0) < 1000
    assert (found["embedding"].pending, found["embedding"].unclaimed) == (1, 1)
    assert (busy.pending, busy.running, busy.dead, pages) == (1, 1, 0, 2)
    assert await depths.by_lane(database, [BOB]) == {}
    assert await depths.neglected(database, [BOB]) == {}


async def test_two_running_jobs_of_a_conversation_cannot_be_stored(database: Database) -> None:
    await conversation(database, ANN, "c")
    await put(database, ANN, page("c", 1), page("c", 2))
    with pytest.raises(asyncpg.UniqueViolationError):
        async with database.begin(ANN) as tx:
            await tx.execute("UPDATE work SET token = $2 WHERE tenant_id = $1", uuid4())
