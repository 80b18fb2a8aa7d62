"""Background work: jobs and housekeeping. Composition root of `quire worker`."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from random import SystemRandom
from typing import Any, TypeAlias
from uuid import UUID

from app.core.times import first_id
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
from app.postgres.database import TENANTS_AT_ONCE
from app.postgres.tenants import tenants
from app.postgres.transactions import Tx
from app.providers import ProviderError
from app.queue import outbox, table
from app.queue.enqueue import CHAPTER, EMBED, PAGE, PASSAGES, SEARCH_INDEX, SUMMARY, WEBHOOK, Lane
from app.queue.loop import Jobs, Loop, Pace, Slots
from app.queue.table import Claimed
from app.runtime import Runtime
from app.services import events
from app.services.lifecycle import erasing, retention
from app.services.limits import count_tenant
from app.store import idempotency
from app.store.operators import audit, chores, limits
from app.store.proxy import proxied_requests

Task: TypeAlias = Callable[[Runtime], Awaitable[None]]
Chore: TypeAlias = Callable[[Runtime, UUID, Any], Awaitable[None]]
"""Does for a tenant what is due, given what ``since`` says of it."""

HOUSEKEEPING_SECONDS = 60.0
DELIVERIES = 24
"""Webhooks that a worker sends to at once: more than a tenant has, so that none waits for others that hang."""


def _delete(prune: Callable[[Tx, Any], Awaitable[bool]]) -> Chore:
    async def delete(runtime: Runtime, tenant: UUID, before: Any) -> None:
        is_more = True
        while is_more:
            async with runtime.database.begin(tenant) as tx:
                is_more = await prune(tx, before)

    return delete


def _erase(expired: Callable[[Runtime, UUID], Awaitable[int]]) -> Chore:
    async def erase(runtime: Runtime, tenant: UUID, _: Any) -> None:
        while await expired(runtime, tenant):
            pass

    return erase


async def _retain(runtime: Runtime, tenant: UUID, _: Any) -> None:
    await retention.retain(runtime, tenant)


async def _count_storage(runtime: Runtime, tenant: UUID, _: Any) -> None:
    await count_tenant(runtime.database, tenant)


CHORES: Mapping[str, Chore] = {
    "answers": _delete(idempotency.prune),
    "requests": _delete(proxied_requests.prune),
    "archives": _erase(erasing.erase_expired_archives),
    "memories": _erase(erasing.erase_expired_memories),
    "conversations": _retain,
    "rates": _delete(limits.forget_rates),
    "storage": _count_storage,
    "events": _delete(outbox.prune),
    "audit": _delete(audit.prune),
}
"""What is done for a tenant once it is due, by the names that `app/store/operators/chores.sql` finds it under."""


def since(runtime: Runtime, now: datetime) -> dict[str, Any]:
    """Return the parameters of what is due: ages or times, and the limits for tenants without their own."""
    audited = runtime.auditing.days if runtime.auditing.is_on else 0
    idle = runtime.retention.conversation_days
    return {
        "answers": idempotency.KEPT,
        "requests": first_id(now - proxied_requests.KEPT),
        "conversations": now - timedelta(days=idle) if idle else None,
        "messages": runtime.retention.messages_max,
        "rates": limits.FULL_AFTER,
        "storage": runtime.quota.storage_bytes,
        "user_storage": runtime.quota.user_storage_bytes,
        "events": first_id(now - outbox.KEPT),
        "audit": first_id(now - timedelta(days=audited)) if audited else None,
    }


async def keep_house(runtime: Runtime) -> None:
    """Do each chore for the tenants for which it is due. A failure is logged, and the chore stays due.

    Where there are more than TENANTS_AT_ONCE they take turns, a minute each, so that a worker at rest costs the same.
    """
    now = datetime.now(UTC)
    given = since(runtime, now)
    known = await tenants(runtime.database)
    turns = -(-len(known) // TENANTS_AT_ONCE)
    some = known[int(now.timestamp() // HOUSEKEEPING_SECONDS) % turns :: turns]
    due = await chores.due(runtime.database, some, given)
    for name in due:
        for tenant in sorted(due[name]):
            await _succeeds(name, CHORES[name](runtime, tenant, given.get(name)))


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
    """Return how many jobs of each lane run at once. Jobs without a provider use our own CPU."""
    return {
        "llm": runtime.working.llm_jobs,
        "embedding": runtime.working.embedding_jobs,
        "local": 1,
        "delivery": DELIVERIES,
    }


async def run(
    runtime: Runtime, stop: asyncio.Event, *, handlers: Mapping[str, Handler] = HANDLERS, pace: Pace | None = None
) -> None:
    """Work until `stop` is set; jobs in progress finish first."""
    random = SystemRandom().random
    loop = Loop(
        runtime.database,
        partial(table.busy, runtime.database),
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
        group.create_task(repeat(keep_house, runtime, stop, interval_seconds=HOUSEKEEPING_SECONDS))


async def _traced(runtime: Runtime, handler: Handler, claimed: Claimed) -> None:
    parent = claimed.args.get("traceparent")
    with runtime.tracing.span(f"job {claimed.kind}", parent=parent, job_id=str(claimed.id), attempt=claimed.attempts):
        await handler(runtime, claimed)


async def repeat(task: Task, runtime: Runtime, stop: asyncio.Event, *, interval_seconds: float) -> None:
    """Run a task repeatedly. One that fails is logged and runs again in its next turn."""
    while not stop.is_set():
        await _succeeds(task.__name__, task(runtime))
        await _wait(stop, interval_seconds)


async def until_done(task: Task, runtime: Runtime, stop: asyncio.Event) -> None:
    """Run a task once; while it fails, retry a little later."""
    while not stop.is_set() and not await _succeeds(task.__name__, task(runtime)):
        await _wait(stop, HOUSEKEEPING_SECONDS)


async def _succeeds(name: str, work: Awaitable[None]) -> bool:
    """Await work and log its failure: a line for an unavailable provider or database, a traceback for a defect."""
    try:
        await work
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
