"""Waits for a connection: while the database answers others, a request takes its turn.

A fixed wait cannot distinguish a burst of requests, whose queue moves, from a hanging database: a wait of five seconds
refused a third of the writes of 128 concurrent agents.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

TURN_SECONDS = 30.0
"""A longer queue is refused, so that it does not grow for ever; a request's own deadline can end it earlier."""
RENEWED_SECONDS = 0.5
"""Between two renewals of the waits: each answer would renew them all."""


class Patience:
    """The waits for a connection. Each ends when nobody got one for some time."""

    def __init__(self) -> None:
        self._waits: dict[asyncio.Timeout, tuple[float, float]] = {}
        self._renewed_at = 0.0

    @asynccontextmanager
    async def waiting(self, seconds: float) -> AsyncIterator[None]:
        """Raise TimeoutError in the block once nobody was answered for a number of seconds."""
        now = asyncio.get_running_loop().time()
        async with asyncio.timeout_at(now + seconds) as wait:
            self._waits[wait] = seconds, now + TURN_SECONDS
            try:
                yield
            finally:
                del self._waits[wait]

    def renew(self) -> None:
        """Somebody was answered."""
        if not self._waits or (now := asyncio.get_running_loop().time()) < self._renewed_at + RENEWED_SECONDS:
            return
        self._renewed_at = now
        for wait, (seconds, latest) in self._waits.items():
            if not wait.expired():
                wait.reschedule(min(now + seconds, latest))
