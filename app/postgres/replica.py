"""Reads from a replica that look exactly like reads from the primary.

The rule: a read sees every write acknowledged before it began, through any process. So Quire asks the primary for its
log position at a moment after the read began, and uses a connection to the replica only once it has replayed that far.
Callers pass nothing along, and balancers need not be sticky.

The question costs the primary one statement that touches no table, and all reads of a process waiting at that moment
share it. The position is compared on the very connection that reads, so one name can stand for several replicas.

If the replica fails in any way, the primary answers. A probe each second decides whether the replica is usable: it
answers, follows a primary, is not far behind, and our role there cannot read other tenants' rows.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

import asyncpg

from app import errors
from app.postgres.database import Database
from app.postgres.transactions import Connection

T = TypeVar("T")

LOOK_SECONDS = 1.0
"""Time between two probes of the replica, which is also how far behind a usable replica can be."""
ANSWER_SECONDS = 1.0
"""Time limit for the replica to report its position."""
POLL_SECONDS = 0.005

# A commit is acknowledged once it is flushed, or, with `synchronous_commit` off, once it is in the log at all.
POSITION = """
SELECT (CASE current_setting('synchronous_commit') WHEN 'off' THEN pg_current_wal_insert_lsn()
        ELSE pg_current_wal_flush_lsn() END)::text AS position
"""
# A promoted server has a last position too, and so has one that follows no primary since a failover.
HAS_REPLAYED = """
SELECT pg_is_in_recovery() AND pg_last_wal_replay_lsn() >= $1::text::pg_lsn
       AND EXISTS (SELECT FROM pg_stat_wal_receiver)
"""

_logger = logging.getLogger(__name__)


class BehindError(Exception):
    """The replica has not yet replayed what a read must see."""


class Replica:
    """A streaming replica beside its primary, unused until the first probe finds it usable."""

    def __init__(self, primary: Database, replica: Database, on_read: Callable[[str], None]) -> None:
        self._primary = primary
        self._replica = replica
        self._on_read = on_read
        """Receives the server that answered a read: `replica` or `primary`."""
        self._looking = asyncio.Lock()
        self._next: asyncio.Task[str] | None = None
        self._said: str | None = None
        """Why the replica is not usable, as last logged."""
        self.usable = False

    async def read(self, work: Callable[[Database], Awaitable[T]], *, wait_seconds: float = 0.0) -> T:
        """Run a read on the replica, or on the primary, or on both, so it must have no side effects.

        The replica has `wait_seconds` to catch up.
        """
        if self.usable:
            position = await self._position()
            try:
                result = await work(self._at(position, wait_seconds))
            except BehindError:
                pass
            except errors.StorageUnavailable as error:
                self._give_up(error)
            else:
                self._on_read("replica")
                return result
        self._on_read("primary")
        return await work(self._primary)

    async def watch(self) -> None:
        position: str | None = None
        while True:
            try:
                if position is not None:
                    await self._at(position).ping()
                    await self._take_up()
                position = await self._position()
            except (BehindError, errors.StorageUnavailable, errors.UnsafeDatabase) as error:
                self._give_up(error)
            await asyncio.sleep(LOOK_SECONDS)

    async def close(self) -> None:
        await self._replica.close()

    async def _take_up(self) -> None:
        if not self.usable:
            await self._replica.assert_role_is_safe()
            _logger.info("reads go to the replica")
        self.usable, self._said = True, None

    def _give_up(self, error: Exception) -> None:
        why = f"{type(error).__name__} {error}".strip()
        if why != self._said:
            _logger.warning("reads go to the primary: %s", why)
        self.usable, self._said = False, why

    def _at(self, position: str, wait_seconds: float = 0.0) -> Database:
        """Return the replica, on connections that have replayed a position; they raise BehindError."""

        async def catch_up(connection: Connection) -> None:
            until = time.monotonic() + wait_seconds
            while not await connection.fetchval(HAS_REPLAYED, position, timeout=ANSWER_SECONDS):
                if time.monotonic() >= until:
                    raise BehindError("it has not replayed enough")
                await asyncio.sleep(POLL_SECONDS)

        return self._replica.after(catch_up)

    async def _position(self) -> str:
        """Return the primary's log position at a moment after this call. Concurrent callers share one query."""
        if self._next is None:
            self._next = asyncio.create_task(self._look())
        return await asyncio.shield(self._next)

    async def _look(self) -> str:
        async with self._looking:
            self._next = None  # callers from now on must not share this one
            try:
                row = await self._primary.fetch_row(POSITION)
            except asyncpg.ObjectNotInPrerequisiteStateError:  # it is a standby itself
                raise errors.StorageUnavailable("The database is switching over. Try again.") from None
            assert row is not None
            return str(row["position"])
