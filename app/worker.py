"""The work that goes on behind the API: jobs and housekeeping. Composition root of `quire worker`."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from random import SystemRandom

from app.flows import erasing, retention
from app.jobs import Handler
from app.jobs.embed import embed, reembed
from app.jobs.page import index_page
from app.jobs.passages import index_passages
from app.jobs.policy import judge
from app.jobs.summary import refresh_summary
from app.providers import ProviderError
from app.services import Services
from app.store import idempotency, remembered
from app.tenancy import tenants
from app.work.enqueue import Lane
from app.work.loop import Loop, Pace
from app.work.table import Claimed

Task = Callable[[Services], Awaitable[None]]

HOUSEKEEPING_SECONDS = 60.0


async def forget_old_answers(services: Services) -> None:
    """Answers kept for Idempotency-Keys, after a day."""
    for tenant in await tenants(services.database):
        async with services.database.begin(tenant) as connection:
            await idempotency.prune(connection, tenant)


async def erase_expired_archives(services: Services) -> None:
    """Archives past their time, a hundred at once."""
    for tenant in await tenants(services.database):
        while await erasing.erase_expired_archives(services, tenant):
            pass


async def erase_expired_memories(services: Services) -> None:
    """Memories past their time, some hundred at once."""
    for tenant in await tenants(services.database):
        gone = 1
        while gone:
            async with services.database.begin(tenant) as connection:
                gone = await remembered.delete_expired(connection, tenant)


async def retain(services: Services) -> None:
    """Conversations past their time, and messages beyond those that are kept."""
    for tenant in await tenants(services.database):
        await retention.retain(services, tenant)


HOUSEKEEPING: Sequence[Task] = (forget_old_answers, erase_expired_archives, erase_expired_memories, retain)

_logger = logging.getLogger(__name__)


HANDLERS: Mapping[str, Handler] = {
    "page": index_page,
    "summary": refresh_summary,
    "passages": index_passages,
    "embed": embed,
}
"""By kind of work. A kind without one is left for a worker that has it."""


def lanes(services: Services) -> dict[Lane, int]:
    """How many jobs of a lane may be under way at once. What needs no provider needs our own CPU."""
    settings = services.settings
    return {"llm": settings.quire_worker_llm_jobs, "embedding": settings.quire_worker_embedding_jobs, "local": 1}


async def run(
    services: Services,
    stop: asyncio.Event,
    *,
    handlers: Mapping[str, Handler] = HANDLERS,
    pace: Pace | None = None,
) -> None:
    """Work until `stop` is set; what is under way is finished first."""
    random = SystemRandom().random
    loop = Loop(
        services.database,
        partial(tenants, services.database),
        lanes(services),
        {kind: partial(_traced, services, handler) for kind, handler in handlers.items()},
        lambda error, claimed: judge(error, claimed, random()),
        came=services.work_came,
        random=random,
        stopped=services.lanes_stopped,
        told=lambda claimed, outcome, seconds: services.metrics.job(claimed.kind, outcome, seconds),
        share=services.settings.quire_worker_tenant_jobs,
        pace=pace or Pace(lease=services.settings.quire_worker_lease_seconds),
    )
    async with asyncio.TaskGroup() as group:
        group.create_task(loop.run(stop))
        group.create_task(until_done(reembed, services, stop))
        group.create_task(repeat(HOUSEKEEPING, services, stop, interval_seconds=HOUSEKEEPING_SECONDS))


async def _traced(services: Services, handler: Handler, claimed: Claimed) -> None:
    """The job as a part of the request that enqueued it first."""
    parent = claimed.args.get("traceparent")
    with services.tracing.span(f"job {claimed.kind}", parent=parent, job_id=str(claimed.id), attempt=claimed.attempts):
        await handler(services, claimed)


async def repeat(tasks: Sequence[Task], services: Services, stop: asyncio.Event, *, interval_seconds: float) -> None:
    """Run the tasks in turn, again and again. One that fails is logged and has its turn next time."""
    while not stop.is_set():
        for task in tasks:
            try:
                await task(services)
            except Exception:
                _logger.exception("housekeeping failed: %s", getattr(task, "__name__", task))
        await _wait(stop, interval_seconds)


async def until_done(task: Task, services: Services, stop: asyncio.Event) -> None:
    """Run a task once; again, a little later, as long as it fails."""
    while not stop.is_set():
        try:
            await task(services)
        except ProviderError as error:
            _logger.warning("%s waits for its provider: %s", getattr(task, "__name__", task), error)
            await _wait(stop, HOUSEKEEPING_SECONDS)
        except Exception:
            _logger.exception("%s failed", getattr(task, "__name__", task))
            await _wait(stop, HOUSEKEEPING_SECONDS)
        else:
            return


async def _wait(stop: asyncio.Event, seconds: float) -> None:
    try:
        await asyncio.wait_for(stop.wait(), timeout=seconds)
    except TimeoutError:
        return
