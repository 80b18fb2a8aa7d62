"""Number events after they are committed, and delete old ones."""

from __future__ import annotations

import asyncio
import logging
import socket
from contextlib import suppress
from uuid import UUID

from app.errors import StorageUnavailable
from app.queue import outbox
from app.runtime import Runtime

POLL_SECONDS = 1.0

_logger = logging.getLogger(__name__)


async def keep_numbering(runtime: Runtime, stop: asyncio.Event) -> None:
    """Number new events once a second until `stop` is set. Every worker tries, and a lock lets one at a time do it."""
    while not stop.is_set():
        try:
            for tenant in await outbox.unnumbered(runtime.database):
                while await number(runtime, tenant):
                    pass
        except StorageUnavailable:
            pass  # which has been logged
        except Exception:
            _logger.exception("cannot number events")
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), POLL_SECONDS)


async def number(runtime: Runtime, tenant: UUID) -> int:
    async with runtime.database.begin(tenant) as tx:
        return await outbox.number(tx)


async def literal_address(host: str) -> str | None:
    """Return the address that a host spells out in any form, such as `127.1`; None for a name."""
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host.strip("[]"), None, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return None
    return str(found[0][4][0])
