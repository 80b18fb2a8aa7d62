"""Any order of events against a simple model: nothing is lost, doubled or stuck.

For each subject, the model knows what was enqueued and what was finished. After every step the table must say the
same, and in the end everything that was enqueued can be finished.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from app.postgres.database import Database
from app.postgres.embedded import EmbeddedPostgres
from app.queue import enqueue, table
from app.queue.enqueue import NewWork
from app.queue.table import Claimed, LeaseLost
from tests.by_turns import examples
from tests.queue.kit import ANN, conversation, page, pass_time, put, rows

T = TypeVar("T")

SUBJECTS: tuple[NewWork, ...] = (page("c", 1), page("c", 2), page("d", 1), enqueue.summary("c", ANN))
"""Three subjects in one conversation and one in another, all in one lane."""


@dataclass
class Job:
    """The model's state of a subject."""

    version: int = 1
    state: str = "waiting"
    claimed: int = 0
    attempts: int = 0
    excused: int = 0
    is_due: bool = True
    held: list[Claimed] = field(default_factory=list)
    """Leases that some worker still holds; only the last one is valid, while the job runs."""

    def wait(self, *, due: bool) -> None:
        self.state, self.is_due = "waiting", due

    def renew(self) -> None:
        self.attempts = self.excused = 0
        self.wait(due=True)


class Runtime:
    """Runs coroutines for synchronous rules, on one loop with one pool."""

    def __init__(self, dsn: str) -> None:
        self._runner = asyncio.Runner()
        self.database = self.run(Database.connect(dsn, pool_size=2))

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(coroutine)

    def close(self) -> None:
        self.run(self.database.close())
        self._runner.close()


@pytest.fixture
def runtime(postgres: EmbeddedPostgres, clean: None) -> Iterator[Runtime]:
    made = Runtime(postgres.app_dsn)
    yield made
    made.close()


class Machine(RuleBasedStateMachine):
    runtime: Runtime

    def __init__(self) -> None:
        super().__init__()
        self.jobs: dict[str, Job] = {}
        self.run, self.database = self.runtime.run, self.runtime.database

    @initialize()
    def begin(self) -> None:
        async def empty() -> None:
            async with self.database.begin(ANN) as tx:
                for name in ("work", "conversations"):
                    await tx.execute(f"DELETE FROM {name} WHERE tenant_id = $1")
            await conversation(self.database, ANN, "c", "d")

        self.run(empty())

    def running(self) -> list[str]:
        return [key for key, job in self.jobs.items() if job.state == "running"]

    @rule(new=st.sampled_from(SUBJECTS))
    def enqueue(self, new: NewWork) -> None:
        self.run(put(self.database, ANN, new))
        job = self.jobs.get(new.subject)
        if job is None:
            self.jobs[new.subject] = Job()
            return
        job.version += 1
        if job.state == "dead":
            job.renew()

    @rule(limit=st.integers(1, 5))
    def claim(self, limit: int) -> None:
        busy = {self.jobs[key].held[-1].conversation_id for key in self.running()}
        free = {
            new.conversation_id
            for new in SUBJECTS
            if (job := self.jobs.get(new.subject)) and job.state == "waiting" and job.is_due
        } - busy
        got = self.run(table.claim(self.database, ANN, "llm", ("page", "summary"), limit))
        assert len(got) <= limit
        assert bool(got) == bool(free)
        assert len({job.conversation_id for job in got}) == len(got)
        for claimed in got:
            job = self.jobs[claimed.subject]
            assert job.state == "waiting"
            assert job.is_due
            assert claimed.conversation_id in free
            job.attempts += 1
            job.claimed, job.state = job.version, "running"
            job.held.append(claimed)
            assert (claimed.version, claimed.attempts, claimed.transient_attempts) == (
                job.version, job.attempts, job.excused,
            )  # fmt: skip

    def _some_lease(self, data: st.DataObject) -> tuple[Job, Claimed, bool]:
        """Draw a lease that a worker got, and whether it is still valid."""
        good = [(job, job.held[-1]) for job in self.jobs.values() if job.state == "running"]
        every = [(job, lease) for job in self.jobs.values() for lease in job.held]
        often_good = st.sampled_from([*good * 3, *every])
        job, lease = data.draw(often_good)
        return job, lease, job.state == "running" and lease is job.held[-1]

    def _has_lease(self) -> bool:
        return any(job.held for job in self.jobs.values())

    @precondition(_has_lease)
    @rule(data=st.data())
    def beat(self, data: st.DataObject) -> None:
        _, lease, good = self._some_lease(data)
        assert self.run(table.beat(self.database, lease)) == good

    @precondition(_has_lease)
    @rule(data=st.data())
    def finish(self, data: st.DataObject) -> None:
        job, lease, good = self._some_lease(data)

        async def apply() -> None:
            async with self.database.begin(ANN) as tx:
                await table.finish(tx, lease)

        if not good:
            with pytest.raises(LeaseLost):
                self.run(apply())
            return
        self.run(apply())
        if job.version == job.claimed:
            del self.jobs[lease.subject]
        else:
            job.renew()

    @precondition(_has_lease)
    @rule(data=st.data(), forever=st.booleans(), excused=st.booleans())
    def fail(self, data: st.DataObject, *, forever: bool, excused: bool) -> None:
        job, lease, good = self._some_lease(data)
        assert self.run(table.fail(self.database, lease, "e", None if forever else 60, is_transient=excused)) == good
        if not good:
            return
        if not forever:
            job.excused += excused
            job.wait(due=False)
        elif job.version == job.claimed:
            job.state = "dead"
        else:
            job.renew()

    @precondition(_has_lease)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        job, lease, good = self._some_lease(data)
        assert self.run(table.release(self.database, lease)) == good
        if good:
            job.attempts -= 1
            job.wait(due=True)

    @rule()
    def everyone_dies(self) -> None:
        """End and reap all leases."""
        self.run(pass_time(self.database, ANN))
        assert self.run(table.reap(self.database, ANN, lambda: 0.5)) == len(self.running())
        for key in list(self.jobs):
            job = self.jobs[key]
            if job.state == "waiting":
                job.is_due = True
            elif job.state == "running":
                if job.attempts - job.excused < table.ATTEMPTS_MAX:
                    job.wait(due=False)
                elif job.version == job.claimed:
                    job.state = "dead"
                else:
                    job.renew()

    @rule()
    def wait(self) -> None:
        """Let the time of every back-off pass, with all workers alive."""

        async def later() -> None:
            async with self.database.begin(ANN) as tx:
                await tx.execute("UPDATE work SET due = least(due, now()) WHERE tenant_id = $1 AND token IS NULL")

        self.run(later())
        for job in self.jobs.values():
            job.is_due = True

    @rule(new=st.sampled_from(SUBJECTS))
    def retry(self, new: NewWork) -> None:
        async def again() -> None:
            async with self.database.begin(ANN) as tx:
                for row in await tx.fetch("SELECT id, subject FROM work WHERE tenant_id = $1"):
                    if row["subject"] == new.subject:
                        await table.retry(tx, row["id"])

        self.run(again())
        if (job := self.jobs.get(new.subject)) and job.state == "dead":
            job.renew()

    @invariant()
    def the_table_is_as_the_model(self) -> None:
        found = {row["subject"]: row for row in self.run(rows(self.database))}
        assert found.keys() == self.jobs.keys()
        for key, row in found.items():
            job = self.jobs[key]
            state = "dead" if row["failed_at"] else "running" if row["token"] else "waiting"
            assert (state, row["version"], row["attempts"], row["excused"]) == (
                job.state, job.version, job.attempts, job.excused,
            )  # fmt: skip
            assert row["claimed"] == (job.claimed if state == "running" else None)
        busy = [self.jobs[key].held[-1].conversation_id for key in self.running()]
        assert len(busy) == len(set(busy))

    def teardown(self) -> None:
        """Check that everything that was enqueued can still be done, whatever happened."""
        if not self.jobs:
            return
        self.run(pass_time(self.database, ANN))
        self.run(table.reap(self.database, ANN, lambda: 0.5))

        async def drain() -> None:
            async with self.database.begin(ANN) as tx:
                await table.retry_some(tx, 100)
            await pass_time(self.database, ANN)
            while got := await table.claim(self.database, ANN, "llm", ("page", "summary"), 10):
                for claimed in got:
                    async with self.database.begin(ANN) as tx:
                        await table.finish(tx, claimed)
            assert await rows(self.database) == []

        self.run(drain())


def test_no_order_of_events_loses_or_duplicates_work(runtime: Runtime) -> None:
    run_state_machine_as_test(
        type("Bound", (Machine,), {"runtime": runtime}),
        settings=settings(max_examples=examples(40), stateful_step_count=40, suppress_health_check=list(HealthCheck)),
    )
