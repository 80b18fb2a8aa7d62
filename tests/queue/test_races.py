"""Races between real connections."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from random import Random
from uuid import uuid4

import pytest

from app.postgres.database import Database
from app.postgres.embedded import EmbeddedPostgres
from app.queue import table
from app.queue.table import Claimed, LeaseLost
from tests.conftest import WAITING
from tests.queue.conftest import Rows
from tests.queue.kit import ANN, BOB, conversation, done, page, pass_time, put, take

pytestmark = pytest.mark.anyio


@pytest.fixture
async def many(postgres: EmbeddedPostgres, clean: None) -> AsyncIterator[Database]:
    opened = await Database.connect(postgres.app_dsn, pool_size=12)
    yield opened
    await opened.close()


@pytest.fixture
async def workers(postgres: EmbeddedPostgres, many: Database) -> AsyncIterator[list[Database]]:
    """Yield databases as of separate processes, each of which claims one job at a time."""
    opened = [await Database.connect(postgres.app_dsn, pool_size=2) for _ in range(6)]
    yield opened
    for one in opened:
        await one.close()


async def test_concurrent_workers_never_share_a_conversation(many: Database, workers: list[Database]) -> None:
    names = [f"c{n}" for n in range(8)]
    await conversation(many, ANN, *names)
    await put(many, ANN, *(page(name, number) for name in names for number in range(1, 6)))
    seen: Counter[tuple[str | None, int]] = Counter()
    busy: set[str | None] = set()

    async def worker(own: Database, rng: Random) -> None:
        while True:
            got = await take(own, limit=rng.randint(1, 3))
            if not got and sum(seen.values()) == 40:
                return
            for job in got:
                assert job.conversation_id not in busy
                busy.add(job.conversation_id)
            for job in got:
                busy.remove(job.conversation_id)  # before the lease ends, so that nobody sees it too late
                await done(own, job)
                seen[job.conversation_id, job.args["page"]] += 1

    await asyncio.gather(*(worker(own, Random(n)) for n, own in enumerate(workers)))
    assert set(seen.values()) == {1}


async def test_no_wake_up_is_lost_while_jobs_end(many: Database, workers: list[Database], jobs: Rows) -> None:
    """Work that is enqueued after a claim is claimed again, even if it coincides with the finish."""
    await conversation(many, ANN, "c")
    wanted = 0
    covered = 0
    enqueueing = True

    async def enqueuer() -> None:
        nonlocal wanted, enqueueing
        for _ in range(60):
            await put(many, ANN, page("c", 1))
            wanted += 1
        enqueueing = False

    async def worker(own: Database) -> None:
        nonlocal covered
        while True:
            for job in await take(own):
                promised = wanted  # all that was acknowledged before the job looks
                await done(own, job)
                covered = max(covered, promised)
            if not enqueueing and not await jobs():
                return

    await asyncio.wait_for(asyncio.gather(enqueuer(), *map(worker, workers[:2])), 60)
    assert await jobs() == []
    assert covered == wanted == 60


async def test_a_lease_ends_in_one_way_only(many: Database, jobs: Rows) -> None:
    """If a job is finished, failed, released and reaped at once, exactly one of these succeeds."""
    await conversation(many, ANN, "c")
    rng = Random(7)
    for number in range(1, 16):
        await put(many, ANN, page("c", number))
        [job] = await take(many)
        await pass_time(many)

        async def finish(job: Claimed = job) -> bool:
            try:
                await done(many, job)
            except LeaseLost:
                return False
            return True

        async def reap() -> bool:
            return bool(await table.reap(many, ANN, lambda: 0.5))

        ways = [finish(), reap(), table.fail(many, job, "e", 0), table.release(many, job)]
        rng.shuffle(ways)
        assert sum(await asyncio.gather(*ways)) == 1
        async with many.begin(ANN) as tx:
            await tx.execute("DELETE FROM work WHERE tenant_id = $1")
    assert await jobs() == []


async def test_a_claim_never_waits(many: Database) -> None:
    """A row that a finishing transaction or an append has locked is skipped."""
    await conversation(many, ANN, "c", "d")
    await put(many, ANN, page("c", 1), page("d", 1))
    async with many.begin(ANN) as tx:
        await tx.fetch("SELECT FROM work WHERE tenant_id = $1 AND conversation_id = 'c' FOR UPDATE")
        got = await asyncio.wait_for(take(many), 1)
    assert [job.conversation_id for job in got] == ["d"]


async def test_a_lost_race_for_a_conversation_is_looked_at_again(many: Database) -> None:
    """If two claims see the conversation free, the unique index admits one, and the other finds the rest."""
    await conversation(many, ANN, "c", "d")
    await put(many, ANN, page("c", 1), page("c", 2), page("d", 1))
    async with many.begin(ANN) as tx:
        await tx.execute(
            "UPDATE work SET token = $2, claimed = version, due = now() + interval '1 minute'"
            " WHERE tenant_id = $1 AND conversation_id = 'c' AND args = '{\"page\":1}'", uuid4(),
        )  # fmt: skip
        other = asyncio.create_task(take(many))
        while not await tx.connection.fetchval(WAITING):  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0)
    assert [job.conversation_id for job in await other] == ["d"]


async def test_tenants_do_not_interfere(many: Database, workers: list[Database]) -> None:
    for tenant in (ANN, BOB):
        await conversation(many, tenant, "c")
        await put(many, tenant, page("c", 1))
    [mine], [yours] = await asyncio.gather(take(workers[0], ANN), take(workers[1], BOB))
    assert (mine.tenant, yours.tenant) == (ANN, BOB)
    with pytest.raises(LeaseLost):
        async with many.begin(BOB) as tx:
            await table.finish(tx, mine)
