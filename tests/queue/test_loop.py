"""The worker's loop with handlers of the tests, on a real database."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from uuid import UUID

import pytest

from app.jobs.policy import judge
from app.postgres.database import Database
from app.providers import RefusedCaller, RefusedInput, TemporaryError
from app.queue import enqueue, table
from app.queue.enqueue import Lane
from app.queue.loop import Jobs, Loop, Pace, Slots
from app.queue.table import Claimed
from tests.queue.conftest import Rows
from tests.queue.kit import ANN, BOB, conversation, done, page, pass_time, put, until

pytestmark = pytest.mark.anyio

QUICK = Pace(poll=0.02, reap=0.02, probe=0.05, grace=0.05)
NEVER = Pace(poll=3600, grace=0.05)
"""A pace without polling: the loop must be notified of work."""


@dataclass
class Bench:
    """Controls and observes a loop for a test."""

    database: Database
    came: asyncio.Event = field(default_factory=asyncio.Event)
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    stopped: dict[str, str] = field(default_factory=dict)
    seen: list[Claimed] = field(default_factory=list)
    ends: list[tuple[str, str]] = field(default_factory=list)

    @asynccontextmanager
    async def looping(
        self,
        handler: Callable[[Claimed], Awaitable[None]],
        *,
        pace: Pace = QUICK,
        tenants: Sequence[UUID] = (ANN,),
        slots: int = 4,
        share: int = 0,
    ) -> AsyncIterator[None]:
        async def see(claimed: Claimed) -> None:
            self.seen.append(claimed)
            await handler(claimed)

        async def listed() -> Sequence[UUID]:
            return tenants

        lanes: dict[Lane, int] = {"llm": slots, "embedding": 1}
        jobs = Jobs(
            {"page": see, "embed": see},
            lambda e, c: judge(e, c, 0.0),
            lambda claimed, outcome, _: self.ends.append((claimed.kind, outcome)),
        )
        loop = Loop(
            self.database, listed, Slots(lanes, share), jobs,
            came=self.came, random=lambda: 0.0, stopped=self.stopped, pace=pace,
        )  # fmt: skip
        async with asyncio.TaskGroup() as group:
            group.create_task(loop.run(self.stop))
            try:
                yield
            finally:
                self.stop.set()

    async def finish(self, claimed: Claimed) -> None:
        await done(self.database, claimed)

    async def saw(self, number: int) -> None:
        await until(lambda: len(self.seen) >= number)

    async def ended(self, number: int) -> None:
        await until(lambda: len(self.ends) >= number)


@pytest.fixture
def bench(database: Database) -> Bench:
    return Bench(database)


async def forever(claimed: Claimed) -> None:
    await asyncio.Event().wait()


async def test_a_notified_loop_runs_a_job_at_once(bench: Bench, jobs: Rows) -> None:
    await conversation(bench.database, ANN, "c")
    async with bench.looping(bench.finish, pace=NEVER):
        await put(bench.database, ANN, page("c", 1), page("c", 2), page("c", 3))
        bench.came.set()
        await bench.ended(3)
    assert [job.args["page"] for job in bench.seen] == [1, 2, 3]
    assert await jobs() == []


async def test_the_loop_polls_without_notification(bench: Bench) -> None:
    await conversation(bench.database, ANN, "c")
    async with bench.looping(bench.finish):
        await put(bench.database, ANN, page("c", 1), enqueue.embed(ANN))
        await bench.ended(2)
    assert Counter(bench.ends) == {("page", "done"): 1, ("embed", "done"): 1}


async def test_work_arriving_during_a_job_runs_after_it(bench: Bench, jobs: Rows) -> None:
    await conversation(bench.database, ANN, "c")
    go = asyncio.Event()

    async def slow(claimed: Claimed) -> None:
        await go.wait()
        await bench.finish(claimed)

    await put(bench.database, ANN, page("c", 1))
    async with bench.looping(slow, pace=NEVER):
        await bench.saw(1)
        await put(bench.database, ANN, page("c", 1))
        go.set()
        await bench.ended(2)
    assert [job.version for job in bench.seen] == [1, 2]
    assert await jobs() == []


async def test_kinds_without_a_handler_wait_for_a_worker_that_has_one(bench: Bench, jobs: Rows) -> None:
    await conversation(bench.database, ANN, "c")
    await put(bench.database, ANN, enqueue.summary("c", ANN), page("c", 1))
    async with bench.looping(bench.finish):
        await bench.ended(1)
    assert [row["kind"] for row in await jobs()] == ["summary"]


async def test_tenants_take_turns(bench: Bench) -> None:
    await conversation(bench.database, ANN, *(f"c{n}" for n in range(30)))
    await conversation(bench.database, BOB, "c", "d")
    await put(bench.database, ANN, *(page(f"c{n}", 1) for n in range(30)))
    await put(bench.database, BOB, page("c", 1), page("d", 1))
    begun: list[int] = []

    async def finish(claimed: Claimed) -> None:
        await bench.finish(claimed)
        if claimed.tenant == BOB:
            begun.append(len(bench.seen))

    async with bench.looping(finish, tenants=(ANN, BOB), slots=2):
        await bench.ended(32)
    first, second = [at for at, job in enumerate(bench.seen) if job.tenant == BOB]
    assert first < 4
    # The first job can last as long as many of Ann's, because it waits for a new connection.
    assert second <= begun[0] + 2


async def test_no_tenant_has_all_of_a_lane(bench: Bench) -> None:
    await conversation(bench.database, ANN, *(f"c{n}" for n in range(9)))
    await conversation(bench.database, BOB, "c")
    await put(bench.database, ANN, *(page(f"c{n}", 1) for n in range(9)))
    async with bench.looping(forever, tenants=(ANN, BOB), slots=4):
        await bench.saw(3)
        await put(bench.database, BOB, page("c", 1))
        await bench.saw(4)
    assert Counter(job.tenant for job in bench.seen) == {ANN: 3, BOB: 1}


async def test_a_tenant_has_no_more_of_a_lane_than_it_may(bench: Bench) -> None:
    for tenant in (ANN, BOB):
        await conversation(bench.database, tenant, *(f"c{n}" for n in range(9)))
        await put(bench.database, tenant, *(page(f"c{n}", 1) for n in range(9)))
    async with bench.looping(forever, tenants=(ANN, BOB), slots=8, share=2):
        await bench.saw(4)
        await put(bench.database, ANN, enqueue.embed(ANN))  # a sign that it looked once more
        await bench.saw(5)
    assert Counter((job.tenant, job.kind) for job in bench.seen) == {
        (ANN, "page"): 2, (BOB, "page"): 2, (ANN, "embed"): 1,
    }  # fmt: skip


async def test_work_without_a_slot_runs_once_one_is_free(bench: Bench, jobs: Rows) -> None:
    for tenant in (ANN, BOB):
        await conversation(bench.database, tenant, *(f"c{n}" for n in range(9)))
        await put(bench.database, tenant, *(page(f"c{n}", number) for n in range(9) for number in (1, 2)))
    async with bench.looping(bench.finish, pace=NEVER, tenants=(ANN, BOB), slots=4, share=2):
        await bench.ended(36)
    assert await jobs() == []


async def test_unannounced_work_is_found_on_a_busy_worker(bench: Bench) -> None:
    """The work is in another lane, and of a new tenant."""
    tenants = [ANN]
    for tenant in (ANN, BOB):
        await conversation(bench.database, tenant, "c")
    await put(bench.database, ANN, page("c", 1))

    async def endless(claimed: Claimed) -> None:
        if (claimed.tenant, claimed.kind) == (ANN, "page"):
            await put(bench.database, ANN, page("c", 1))
        await bench.finish(claimed)

    async with bench.looping(endless, tenants=tenants):
        await bench.ended(3)
        await put(bench.database, ANN, enqueue.embed(ANN))
        await put(bench.database, BOB, page("c", 1))
        tenants.append(BOB)
        await until(lambda: {(ANN, "embed"), (BOB, "page")} <= {(job.tenant, job.kind) for job in bench.seen})


async def test_a_lane_that_is_full_holds_up_no_other(bench: Bench) -> None:
    await conversation(bench.database, ANN, *(f"c{n}" for n in range(9)))

    async def mixed(claimed: Claimed) -> None:
        await (forever if claimed.lane == "llm" else bench.finish)(claimed)

    await put(bench.database, ANN, *(page(f"c{n}", 1) for n in range(9)))
    async with bench.looping(mixed):
        await bench.saw(4)
        await put(bench.database, ANN, enqueue.embed(ANN))
        await bench.ended(1)
    assert bench.ends[0] == ("embed", "done")


async def test_a_lane_rests_when_the_caller_is_refused_and_nothing_is_burned(bench: Bench, jobs: Rows) -> None:
    await conversation(bench.database, ANN, *(f"c{n}" for n in range(20)))
    await put(bench.database, ANN, *(page(f"c{n}", 1) for n in range(20)))
    is_mended = False

    async def refused(claimed: Claimed) -> None:
        if not is_mended:
            raise RefusedCaller("the provider answered 401")
        await bench.finish(claimed)

    async with bench.looping(refused):
        await bench.ended(7)  # four at once, then one at a time
        assert "401" in bench.stopped["llm"]
        assert {(row["attempts"], row["failed_at"]) for row in await jobs()} <= {(0, None), (1, None)}
        assert any("401" in (row["error"] or "") for row in await jobs())
        is_mended = True
        await until(lambda: Counter(bench.ends)["page", "done"] == 20)
        assert bench.stopped == {}
    assert {outcome for _, outcome in bench.ends} == {"stopped", "done"}
    assert {job.attempts for job in bench.seen} == {1}


async def test_a_resting_lane_tries_no_more_than_its_probes(bench: Bench, jobs: Rows) -> None:
    await conversation(bench.database, ANN, *(f"c{n}" for n in range(20)))
    await put(bench.database, ANN, *(page(f"c{n}", 1) for n in range(20)), enqueue.embed(ANN))

    async def refused(claimed: Claimed) -> None:
        if claimed.lane == "embedding":
            return await bench.finish(claimed)
        raise RefusedCaller("the provider answered 401")

    async with bench.looping(refused, pace=Pace(poll=0.02, probe=3600, grace=0.05)):
        await bench.ended(3)
        others = [enqueue.embed(UUID(int=number)) for number in range(3)]
        await put(bench.database, ANN, *others)  # other work goes on, and each of its ends looks for more
        await until(lambda: Counter(bench.ends)["embed", "done"] == 4)
    assert 1 <= Counter(bench.ends)["page", "stopped"] <= 4
    assert {row["attempts"] for row in await jobs()} == {0}


async def test_poison_does_not_run_hot_and_ends_as_a_dead_letter_without_content(bench: Bench, jobs: Rows) -> None:
    await conversation(bench.database, ANN, "c", "d")
    await put(bench.database, ANN, page("c", 1))

    async def poison(claimed: Claimed) -> None:
        if claimed.conversation_id == "c":
            raise ValueError("the secret of the user")
        await bench.finish(claimed)

    async with bench.looping(poison):
        for attempt in range(1, table.ATTEMPTS_MAX + 1):
            await bench.ended(attempt)
            await pass_time(bench.database)
        await until_async(lambda: is_dead(jobs))
        await put(bench.database, ANN, page("d", 1))
        await bench.ended(table.ATTEMPTS_MAX + 1)
    assert [job.attempts for job in bench.seen[:-1]] == list(range(1, table.ATTEMPTS_MAX + 1))
    [row] = await jobs()
    assert "ValueError in poison" in row["error"]
    assert "secret" not in row["error"]


async def is_dead(jobs: Rows) -> bool:
    return any(row["failed_at"] for row in await jobs())


async def until_async(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(30):
        while not await condition():  # noqa: ASYNC110 - the database tells nobody
            await asyncio.sleep(0.01)


async def test_an_outage_makes_no_dead_letters_and_the_job_is_done_after_it(bench: Bench, jobs: Rows) -> None:
    await conversation(bench.database, ANN, "c")
    await put(bench.database, ANN, page("c", 1))
    outage = table.ATTEMPTS_MAX * 3

    async def away(claimed: Claimed) -> None:
        if len(bench.seen) <= outage:
            raise TemporaryError("the provider answered 503", 30)
        await bench.finish(claimed)

    async with bench.looping(away):
        for attempt in range(1, outage + 1):
            await bench.ended(attempt)
            await pass_time(bench.database)
        await bench.ended(outage + 1)
    assert await jobs() == []
    assert Counter(bench.ends) == {("page", "retried"): outage, ("page", "done"): 1}


async def test_a_refused_input_dies_alone_and_at_once(bench: Bench, jobs: Rows) -> None:
    await conversation(bench.database, ANN, "c", "d")
    await put(bench.database, ANN, page("c", 1), page("d", 1))

    async def picky(claimed: Claimed) -> None:
        if claimed.conversation_id == "c":
            raise RefusedInput("the provider answered 400")
        await bench.finish(claimed)

    async with bench.looping(picky):
        await bench.ended(2)
    assert Counter(bench.ends) == {("page", "dead"): 1, ("page", "done"): 1}
    [row] = await jobs()
    assert (row["error"], row["attempts"]) == ("RefusedInput: the provider answered 400", 1)


async def test_shutdown_waits_briefly_then_releases_jobs(bench: Bench, jobs: Rows) -> None:
    await conversation(bench.database, ANN, "c", "d")
    await put(bench.database, ANN, page("c", 1), page("d", 1))

    async def quick_or_never(claimed: Claimed) -> None:
        if claimed.conversation_id == "c":
            await forever(claimed)
        await bench.stop.wait()
        await bench.finish(claimed)

    async with bench.looping(quick_or_never, pace=Pace(poll=0.02, grace=0.5)):
        await bench.saw(2)
    assert Counter(bench.ends) == {("page", "done"): 1, ("page", "released"): 1}
    [row] = await jobs()
    assert (row["conversation_id"], row["attempts"], row["token"]) == ("c", 0, None)


@pytest.mark.slow
async def test_a_heartbeat_keeps_the_lease(bench: Bench, jobs: Rows) -> None:
    await conversation(bench.database, ANN, "c")
    await put(bench.database, ANN, page("c", 1))
    go = asyncio.Event()

    async def slow(claimed: Claimed) -> None:
        await go.wait()
        await bench.finish(claimed)

    async with bench.looping(slow, pace=Pace(lease=1.5, poll=0.02, reap=0.02, grace=0.05)):
        await bench.saw(1)
        [row] = await jobs()
        first = row["due"]

        async def is_longer() -> bool:
            [row] = await jobs()
            return bool((row["due"] - first).total_seconds() > 1.5)

        await until_async(is_longer)
        go.set()
        await bench.ended(1)
    assert len(bench.seen) == 1
    assert await jobs() == []


async def test_a_job_that_lost_its_lease_is_cancelled(bench: Bench, jobs: Rows) -> None:
    await conversation(bench.database, ANN, "c")
    await put(bench.database, ANN, page("c", 1))
    async with bench.looping(forever, pace=Pace(lease=0.3, poll=3600, reap=3600, grace=5)):
        await bench.saw(1)
        async with bench.database.begin(ANN) as tx:
            await tx.execute("DELETE FROM conversations WHERE tenant_id = $1")
        await bench.ended(1)
    assert bench.ends == [("page", "lost")]


async def test_a_job_that_hangs_is_ended(bench: Bench, jobs: Rows) -> None:
    await conversation(bench.database, ANN, "c")
    await put(bench.database, ANN, page("c", 1))
    async with bench.looping(forever, pace=Pace(poll=0.02, job_max=0.05)):
        await bench.ended(1)
    assert bench.ends == [("page", "retried")]
    [row] = await jobs()
    assert "TimeoutError" in row["error"]


async def test_a_cancellation_from_within_counts_as_a_failure(bench: Bench, jobs: Rows) -> None:
    await conversation(bench.database, ANN, "c")
    await put(bench.database, ANN, page("c", 1))

    async def cancels(claimed: Claimed) -> None:
        raise asyncio.CancelledError

    async with bench.looping(cancels):
        await bench.ended(1)
    assert bench.ends == [("page", "retried")]


async def test_the_loop_survives_a_database_outage(bench: Bench, database: Database) -> None:
    """Connections that are cut at any moment cost the time of an attempt, but never a job."""
    await conversation(database, ANN, *(f"c{n}" for n in range(12)))
    await put(database, ANN, *(page(f"c{n}", 1) for n in range(12)))

    async def cut_short(claimed: Claimed) -> None:
        if len(bench.seen) % 3 == 1:
            async with database.begin(ANN) as tx:
                await tx.connection.execute("SELECT pg_terminate_backend(pg_backend_pid())")
        await bench.finish(claimed)

    async with bench.looping(cut_short):
        while Counter(bench.ends)["page", "done"] < 12:
            await pass_time(database, only=["page"], seconds=5)
            await bench.saw(len(bench.seen))
            await asyncio.sleep(0.01)
    assert {outcome for _, outcome in bench.ends} == {"done", "retried"}
