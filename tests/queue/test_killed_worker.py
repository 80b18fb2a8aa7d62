"""A worker that is killed during a job: another one does the job, and the attempt counts."""

import asyncio
import sys
from pathlib import Path

import pytest

from app.postgres.database import Database
from app.postgres.embedded import EmbeddedPostgres
from app.postgres.tenants import DEFAULT_TENANT
from app.queue import table
from app.queue.loop import Pace
from app.queue.table import Claimed
from app.runtime import Runtime
from app.settings import Settings
from app.text.tokens import TokenCounter
from app.worker import run
from tests.guards.tenants import runtime
from tests.queue.kit import conversation, page, put, rows

pytestmark = [pytest.mark.slow, pytest.mark.anyio]


def test_the_times_add_up_to_less_than_a_minute() -> None:
    pace = Pace()
    assert pace.lease + pace.reap + table.backoff(1, 1.0) + pace.poll < 60


async def test_a_killed_workers_job_runs_again(
    postgres: EmbeddedPostgres, database: Database, settings: Settings, counter: TokenCounter, data_dir: Path
) -> None:
    await conversation(database, DEFAULT_TENANT, "c", "d")
    await put(database, DEFAULT_TENANT, page("c", 1), page("d", 1))
    program = [sys.executable, "-m", "tests.queue.hanging_worker", postgres.app_dsn, str(data_dir)]
    worker = await asyncio.create_subprocess_exec(*program, stdout=asyncio.subprocess.PIPE)
    assert worker.stdout is not None
    for _ in range(2):
        assert await worker.stdout.readline() == b"claimed\n"
    worker.kill()
    await worker.wait()
    assert all(row["token"] for row in await rows(database, DEFAULT_TENANT))

    made, stop = runtime(settings, database, counter), asyncio.Event()
    seen: list[Claimed] = []

    async def finish(runtime: Runtime, claimed: Claimed) -> None:
        seen.append(claimed)
        async with runtime.database.begin(claimed.tenant) as tx:
            await table.finish(tx, claimed)
        if len(seen) == 2:
            stop.set()

    await asyncio.wait_for(run(made, stop, handlers={"page": finish}, pace=Pace(poll=0.05, reap=0.05)), 30)
    assert [job.attempts for job in seen] == [2, 2]
    assert await rows(database, DEFAULT_TENANT) == []
