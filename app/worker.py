"""The work that goes on behind the API. Composition root of `quire worker`."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from app.db import Database
from app.flows import archiving
from app.store import idempotency
from app.tenancy import TENANTS

Task = Callable[[Database], Awaitable[None]]

HOUSEKEEPING_SECONDS = 60.0


async def forget_old_answers(database: Database) -> None:
    """Answers kept for Idempotency-Keys, after a day."""
    for tenant in TENANTS:
        async with database.begin(tenant) as connection:
            await idempotency.prune(connection, tenant)


async def erase_expired_archives(database: Database) -> None:
    """Archives past their time, a hundred at once."""
    for tenant in TENANTS:
        while await archiving.erase_expired(database, tenant):
            pass


HOUSEKEEPING: Sequence[Task] = (forget_old_answers, erase_expired_archives)

_logger = logging.getLogger(__name__)


async def run(database: Database, stop: asyncio.Event) -> None:
    """Work until `stop` is set; what is under way is finished first."""
    await repeat(HOUSEKEEPING, database, stop, interval_seconds=HOUSEKEEPING_SECONDS)


async def repeat(tasks: Sequence[Task], database: Database, stop: asyncio.Event, *, interval_seconds: float) -> None:
    """Run the tasks in turn, again and again. One that fails is logged and has its turn next time."""
    while not stop.is_set():
        for task in tasks:
            try:
                await task(database)
            except Exception:
                _logger.exception("housekeeping failed: %s", getattr(task, "__name__", task))
        await _wait(stop, interval_seconds)


async def _wait(stop: asyncio.Event, seconds: float) -> None:
    try:
        await asyncio.wait_for(stop.wait(), timeout=seconds)
    except TimeoutError:
        return
