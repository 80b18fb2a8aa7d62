"""The worker's loop: claim jobs, keep their leases alive, and settle their outcomes.

One loop looks for work: for all tenants on notification and once a second, and for one tenant when a job of it has
ended, which can have blocked others. Each lane has its own slots, so that a slow or failing provider delays no other
work. Tenants take turns at free slots. If several have work, none can fill a lane or exceed the share in the settings.

A lane whose provider rejects our credentials pauses: its jobs are released without counting the attempt, and once a
minute one of them probes. The lane resumes as soon as one of its jobs succeeds.

Failures of the loop are logged and retried. No job can end it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, assert_never
from uuid import UUID

from app.errors import StorageUnavailable
from app.postgres.database import Database
from app.queue import table
from app.queue.enqueue import Lane
from app.queue.table import Claimed, LeaseLost
from app.queue.verdict import DeadLetter, StopLane, TryAgain, Verdict
from app.telemetry import logs

POLL_SECONDS = 1.0
REAP_SECONDS = 5.0
PROBE_SECONDS = 60.0
GRACE_SECONDS = 5.0
JOB_SECONDS_MAX = 600.0
"""A job that takes longer is hanging, heartbeat or not."""
TROUBLE_SECONDS_MAX = 10.0

Do: TypeAlias = Callable[[Claimed], Awaitable[None]]
Judge: TypeAlias = Callable[[Exception, Claimed], Verdict]
Outcome: TypeAlias = Callable[[Claimed, str, float], None]
"""Told of each job's end: done, retried, dead, stopped, lost or released; and its seconds."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Pace:
    """The loop's intervals; tests use shorter ones."""

    lease: float = table.LEASE_SECONDS
    poll: float = POLL_SECONDS
    reap: float = REAP_SECONDS
    probe: float = PROBE_SECONDS
    grace: float = GRACE_SECONDS
    job_max: float = JOB_SECONDS_MAX


@dataclass(frozen=True, slots=True)
class Slots:
    """The number of jobs of each lane that run at once."""

    lanes: Mapping[Lane, int]
    share: int = 0
    """A tenant's, at most, in a lane; 0 for no limit."""


@dataclass(frozen=True, slots=True)
class Jobs:
    """The handlers of jobs by kind, the judge of their failures, and a callback for their ends."""

    handlers: Mapping[str, Do]
    judge: Judge
    on_outcome: Outcome | None = None


@dataclass
class _LaneState:
    name: Lane
    slots: int
    running: dict[asyncio.Task[None], Claimed] = field(default_factory=dict)
    rests_until: float | None = None
    """On the monotonic clock; until a job has ended well, one probes at a time."""
    turn: int = 0
    due: set[UUID] = field(default_factory=set)
    """Tenants that may have something to claim in it, among those that are known."""

    def free(self, now: float) -> int:
        if self.rests_until is None:
            return self.slots - len(self.running)
        return 1 - len(self.running) if now >= self.rests_until else 0

    def running_of(self, tenant: UUID) -> int:
        return sum(claimed.tenant == tenant for claimed in self.running.values())


class Loop:
    """Works until it is told to stop."""

    def __init__(
        self,
        database: Database,
        tenants: Callable[[], Awaitable[Sequence[UUID]]],
        slots: Slots,
        jobs: Jobs,
        *,
        came: asyncio.Event,
        random: Callable[[], float],
        stopped: dict[str, str] | None = None,
        pace: Pace | None = None,
    ) -> None:
        """Configure the loop. ``tenants`` returns those that can have work, ``came`` is set when work arrives, and
        ``stopped`` receives paused lanes with reasons.
        """
        self._database = database
        self._list_tenants = tenants
        self._tenants: Sequence[UUID] = ()
        self._look_at = 0.0
        self._ended = asyncio.Event()
        self._lanes = [_LaneState(name, count) for name, count in slots.lanes.items()]
        self._jobs = jobs
        self._came = came
        self._random = random
        self._stopped = stopped if stopped is not None else {}
        self._pace = pace or Pace()
        self._share = slots.share
        self._reap_at = 0.0
        self._troubles = 0
        self._lost: set[asyncio.Task[None]] = set()
        self._is_ending = False

    async def run(self, stop: asyncio.Event) -> None:
        """Run until ``stop`` is set. Then give running jobs a moment to end, and release the others."""
        heart = asyncio.create_task(self._keep_leases())
        try:
            while not stop.is_set():
                await self._look(stop)
                await self._rest(stop)
        finally:
            heart.cancel()
            await self._end()

    # --- Looking for work ---------------------------------------------------------------------------

    async def _look(self, stop: asyncio.Event) -> None:
        try:
            self._ended.clear()
            if self._came.is_set() or time.monotonic() >= self._look_at:
                self._came.clear()  # before looking: what comes from now on is looked for again
                await self._ask()
            for lane in self._lanes:
                await self._fill(lane, stop)
            self._troubles = 0
        except StorageUnavailable:
            self._fall_back()  # which has been logged
        except Exception:
            self._fall_back()
            _logger.exception("cannot look for work")

    def _fall_back(self) -> None:
        self._troubles += 1
        self._look_at = 0.0

    async def _ask(self) -> None:
        now = time.monotonic()
        self._tenants = await self._list_tenants()
        await self._reap()
        for lane in self._lanes:
            lane.due.clear()  # before asking: a job that ends from now on adds its tenant
        found = await table.due(self._database, self._tenants)
        for lane in self._lanes:
            lane.due |= found.get(lane.name, set())
        self._look_at = now + self._pace.poll

    async def _reap(self) -> None:
        if time.monotonic() < self._reap_at:
            return
        for tenant in await table.astray(self._database, self._tenants, self._pace.lease):
            if ahead := await table.bring_back(self._database, tenant, self._pace.lease):
                _logger.warning("%d jobs were due later than any wait; was the clock set back? They are due now", ahead)
            while reaped := await table.reap(self._database, tenant, self._random):
                _logger.warning("%d jobs were left by a worker that died", reaped)
        self._reap_at = time.monotonic() + self._pace.reap

    async def _fill(self, lane: _LaneState, stop: asyncio.Event) -> None:
        kinds = list(self._jobs.handlers)
        share = lane.slots if len(self._tenants) == 1 else max(1, lane.slots - 1)
        share = min(share, self._share) if self._share else share
        while lane.due and kinds and lane.free(time.monotonic()) > 0 and not stop.is_set():
            tenant = self._tenants[lane.turn % len(self._tenants)]
            lane.turn += 1
            if tenant not in lane.due:
                continue
            lane.due.remove(tenant)
            got: list[Claimed] = []
            if lane.running_of(tenant) < share:
                got = await table.claim(self._database, tenant, lane.name, kinds, 1, lease_seconds=self._pace.lease)
            for claimed in got:
                lane.running[asyncio.create_task(self._work(lane, claimed))] = claimed
            if got:
                lane.due.add(tenant)

    async def _rest(self, stop: asyncio.Event) -> None:
        signals = [stop.wait()]
        seconds = self._look_at - time.monotonic()
        if self._troubles:
            seconds = min(TROUBLE_SECONDS_MAX, self._pace.poll * 2.0 ** min(self._troubles, 10))
        else:
            signals += [self._came.wait(), self._ended.wait()]
        waiting = [asyncio.create_task(signal) for signal in signals]
        try:
            await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()

    # --- Running jobs -----------------------------------------------------------------------------------

    async def _work(self, lane: _LaneState, claimed: Claimed) -> None:
        """Run one job from claim to end. Never raises."""
        task = asyncio.current_task()
        assert task is not None
        logs.bind(job_id=str(claimed.id), tenant=str(claimed.tenant))
        started = time.monotonic()
        outcome = "lost"
        try:
            async with asyncio.timeout(self._pace.job_max):
                await self._jobs.handlers[claimed.kind](claimed)
            outcome = "done"
            self._resume(lane)
        except LeaseLost:
            _logger.info("job %s (%s) is no longer ours", claimed.id, claimed.kind)
        except asyncio.CancelledError:
            if self._is_ending:
                outcome = "released"
                await self._settle(table.release(self._database, claimed), claimed)
            elif task not in self._lost:  # by something in the handler: a failure like others
                outcome = await self._fail(lane, claimed, RuntimeError("cancelled from within"))
        except Exception as error:  # noqa: BLE001 - the judge knows what to do
            outcome = await self._fail(lane, claimed, error)
        finally:
            lane.running.pop(task, None)
            self._lost.discard(task)
            if self._jobs.on_outcome is not None:
                self._jobs.on_outcome(claimed, outcome, time.monotonic() - started)
            if claimed.tenant in self._tenants:
                lane.due.add(claimed.tenant)
            self._ended.set()

    async def _fail(self, lane: _LaneState, claimed: Claimed, error: Exception) -> str:
        verdict = self._jobs.judge(error, claimed)
        log = (claimed.id, claimed.kind, claimed.attempts, verdict.error)
        match verdict:
            case TryAgain(words, seconds, is_transient):
                _logger.info("job %s (%s) failed, attempt %d: %s; again in %.0f s", *log, seconds)
                retried = table.fail(self._database, claimed, words, seconds, is_transient=is_transient)
                return await self._settle(retried, claimed) or "retried"
            case DeadLetter(words):
                _logger.warning("job %s (%s) is a dead letter after attempt %d: %s", *log)
                return await self._settle(table.fail(self._database, claimed, words, None), claimed) or "dead"
            case StopLane(words):
                self._stop(lane, words)
                released = table.release(self._database, claimed, error=words)
                return await self._settle(released, claimed) or "stopped"
            case never:
                assert_never(never)

    async def _settle(self, ending: Awaitable[bool], claimed: Claimed) -> str | None:
        """Settle a job; ``lost`` if the database is unreachable, and then the lease expires and the job is reaped."""
        try:
            return None if await ending else "lost"
        except Exception as error:  # noqa: BLE001 - the reaper is there for this
            _logger.warning("job %s (%s) could not be settled: %s", claimed.id, claimed.kind, type(error).__name__)
            return "lost"

    def _stop(self, lane: _LaneState, words: str) -> None:
        if lane.rests_until is None:
            _logger.error("the lane %s rests, the provider does not take us: %s", lane.name, words)
        lane.rests_until = time.monotonic() + self._pace.probe
        self._stopped[lane.name] = words

    def _resume(self, lane: _LaneState) -> None:
        if lane.rests_until is not None:
            _logger.warning("the lane %s works again", lane.name)
            lane.rests_until = None
            self._stopped.pop(lane.name, None)

    async def _keep_leases(self) -> None:
        """Extend the lease of each running job three times per lease. Cancel jobs whose lease was lost."""
        while True:
            await asyncio.sleep(self._pace.lease / 3)
            for lane in self._lanes:
                for task, claimed in list(lane.running.items()):
                    try:
                        if not await table.beat(self._database, claimed, lease_seconds=self._pace.lease):
                            self._give_up(lane, task)
                    except Exception as error:  # noqa: BLE001 - the next beat may come through in time
                        _logger.warning("no heartbeat for job %s: %s", claimed.id, type(error).__name__)

    def _give_up(self, lane: _LaneState, task: asyncio.Task[None]) -> None:
        if task in lane.running:  # it may have ended while we asked
            self._lost.add(task)
            task.cancel()

    async def _end(self) -> None:
        under_way = [task for lane in self._lanes for task in lane.running]
        if not under_way:
            return
        _, late = await asyncio.wait(under_way, timeout=self._pace.grace)
        self._is_ending = True
        for task in late:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
