"""Background work: jobs and housekeeping. Composition root of `quire worker`."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from random import SystemRandom
from uuid import UUID

from app.errors import StorageUnavailable
from app.jobs import Handler
from app.jobs.chapter import name_chapter
from app.jobs.embed import embed, reembed
from app.jobs.page import index_page
from app.jobs.passages import index_passages
from app.jobs.policy import judge
from app.jobs.search_index import index_search
from app.jobs.summary import refresh_summary
from app.jobs.webhook import deliver
from app.postgres.tenants import tenants
from app.providers import ProviderError
from app.queue.enqueue import CHAPTER, EMBED, PAGE, PASSAGES, SEARCH_INDEX, SUMMARY, WEBHOOK, Lane
from app.queue.loop import Jobs, Loop, Pace, Slots
from app.queue.table import Claimed
from app.runtime import Runtime
from app.services import audit, events, limits
from app.services.lifecycle import erasing, retention
from app.store import idempotency, locks
from app.store.memory import remembered
from app.store.proxy import proxied_requests

Task = Callable[[Runtime], Awaitable[None]]

HOUSEKEEPING_SECONDS = 60.0
DELIVERIES = 4
"""Webhooks that a worker sends at once."""


async def forget_old_answers(runtime: Runtime) -> None:
    """Delete responses kept for Idempotency-Keys, after a day."""
    for tenant in await tenants(runtime.database):
        async with runtime.database.begin(tenant) as tx:
            await idempotency.prune(tx)


async def forget_old_requests(runtime: Runtime) -> None:
    """Delete what is recorded of proxied requests, after thirty days."""
    for tenant in await tenants(runtime.database):
        is_more = True
        while is_more:
            async with runtime.database.begin(tenant) as tx:
                is_more = await proxied_requests.prune(tx, datetime.now(UTC))


async def erase_expired_archives(runtime: Runtime) -> None:
    for tenant in await tenants(runtime.database):
        while await erasing.erase_expired_archives(runtime, tenant):
            pass


async def erase_expired_memories(runtime: Runtime) -> None:
    """Erase expired memories, a few hundred at a time."""
    for tenant in await tenants(runtime.database):
        while owners := await _owners_of_expired(runtime, tenant):
            for owner in owners:
                async with runtime.database.begin(tenant) as tx:
                    await locks.lock_owner(tx, owner)
                    await remembered.delete_expired(tx, owner)


async def _owners_of_expired(runtime: Runtime, tenant: UUID) -> list[UUID]:
    async with runtime.database.snapshot(tenant) as tx:
        return await remembered.owners_of_expired(tx)


async def retain(runtime: Runtime) -> None:
    """Erase expired conversations, and messages beyond the number to keep."""
    for tenant in await tenants(runtime.database):
        await retention.retain(runtime, tenant)


HOUSEKEEPING: Sequence[Task] = (
    forget_old_answers,
    forget_old_requests,
    erase_expired_archives,
    erase_expired_memories,
    retain,
    limits.count_storage,
    events.forget_old_events,
    audit.forget_old_entries,
)

_logger = logging.getLogger(__name__)


HANDLERS: Mapping[str, Handler] = {
    PAGE.name: index_page,
    CHAPTER.name: name_chapter,
    SUMMARY.name: refresh_summary,
    PASSAGES.name: index_passages,
    EMBED.name: embed,
    SEARCH_INDEX.name: index_search,
    WEBHOOK.name: deliver,
}
"""Handlers by kind of job. A kind without a handler is left for a worker that has one."""


def lanes(runtime: Runtime) -> dict[Lane, int]:
    """Return how many jobs of each lane run at once. A job that needs no provider needs our own CPU."""
    return {
        "llm": runtime.working.llm_jobs,
        "embedding": runtime.working.embedding_jobs,
        "local": 1,
        "delivery": DELIVERIES,
    }


async def run(
    runtime: Runtime,
    stop: asyncio.Event,
    *,
    handlers: Mapping[str, Handler] = HANDLERS,
    pace: Pace | None = None,
) -> None:
    """Work until `stop` is set; jobs in progress finish first."""
    random = SystemRandom().random
    loop = Loop(
        runtime.database,
        partial(tenants, runtime.database),
        Slots(lanes(runtime), share=runtime.working.tenant_jobs),
        Jobs(
            {kind: partial(_traced, runtime, handler) for kind, handler in handlers.items()},
            lambda error, claimed: judge(error, claimed, random()),
            lambda claimed, outcome, seconds: runtime.metrics.job(claimed.kind, outcome, seconds),
        ),
        came=runtime.database.work_came,
        random=random,
        stopped=runtime.lanes_stopped,
        pace=pace or Pace(lease=runtime.working.lease_seconds),
    )
    async with asyncio.TaskGroup() as group:
        group.create_task(loop.run(stop))
        group.create_task(events.keep_numbering(runtime, stop))
        group.create_task(until_done(reembed, runtime, stop))
        group.create_task(repeat(HOUSEKEEPING, runtime, stop, interval_seconds=HOUSEKEEPING_SECONDS))


async def _traced(runtime: Runtime, handler: Handler, claimed: Claimed) -> None:
    parent = claimed.args.get("traceparent")
    with runtime.tracing.span(f"job {claimed.kind}", parent=parent, job_id=str(claimed.id), attempt=claimed.attempts):
        await handler(runtime, claimed)


async def repeat(tasks: Sequence[Task], runtime: Runtime, stop: asyncio.Event, *, interval_seconds: float) -> None:
    """Run the tasks in turn, repeatedly. A task that fails is logged and runs again in its next turn."""
    while not stop.is_set():
        for task in tasks:
            await _succeeds(task, runtime)
        await _wait(stop, interval_seconds)


async def until_done(task: Task, runtime: Runtime, stop: asyncio.Event) -> None:
    """Run a task once; while it fails, retry a little later."""
    while not stop.is_set() and not await _succeeds(task, runtime):
        await _wait(stop, HOUSEKEEPING_SECONDS)


async def _succeeds(task: Task, runtime: Runtime) -> bool:
    """Run a task. Log its failure: a provider or database that is away takes a line, a defect its traceback."""
    name = getattr(task, "__name__", task)
    try:
        await task(runtime)
    except (ProviderError, StorageUnavailable) as error:
        _logger.warning("%s will run again: %s", name, error)
    except Exception:
        _logger.exception("%s failed", name)
    else:
        return True
    return False


async def _wait(stop: asyncio.Event, seconds: float) -> None:
    try:
        await asyncio.wait_for(stop.wait(), timeout=seconds)
    except TimeoutError:
        return
