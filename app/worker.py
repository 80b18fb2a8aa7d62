"""The work that goes on behind the API. Composition root of `quire worker`."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from app.flows import archiving
from app.services import Services
from app.store import idempotency, remembered
from app.tenancy import tenants

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
        while await archiving.erase_expired(services.database, tenant, embeds=services.embedder is not None):
            pass


async def erase_expired_memories(services: Services) -> None:
    """Memories past their time, some hundred at once."""
    for tenant in await tenants(services.database):
        gone = 1
        while gone:
            async with services.database.begin(tenant) as connection:
                gone = await remembered.delete_expired(connection, tenant)


HOUSEKEEPING: Sequence[Task] = (forget_old_answers, erase_expired_archives, erase_expired_memories)

_logger = logging.getLogger(__name__)


async def run(services: Services, stop: asyncio.Event) -> None:
    """Work until `stop` is set; what is under way is finished first."""
    await repeat(HOUSEKEEPING, services, stop, interval_seconds=HOUSEKEEPING_SECONDS)


async def repeat(tasks: Sequence[Task], services: Services, stop: asyncio.Event, *, interval_seconds: float) -> None:
    """Run the tasks in turn, again and again. One that fails is logged and has its turn next time."""
    while not stop.is_set():
        for task in tasks:
            try:
                await task(services)
            except Exception:
                _logger.exception("housekeeping failed: %s", getattr(task, "__name__", task))
        await _wait(stop, interval_seconds)


async def _wait(stop: asyncio.Event, seconds: float) -> None:
    try:
        await asyncio.wait_for(stop.wait(), timeout=seconds)
    except TimeoutError:
        return
