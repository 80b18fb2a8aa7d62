"""Answers that are under way in this process, or were given a while ago, and whoever reads along.

An answer belongs to nobody's connection: it goes on when its reader leaves, and who asks the same again meanwhile
reads the same answer from its beginning.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Hashable
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakValueDictionary

from cachetools import LRUCache, TTLCache

from app import errors
from app.core.calibration import ReportedUsage

KEPT_BYTES = 64 * 1024 * 1024
"""Of all answers together that were given."""
KEPT_SECONDS = 600.0
CLOSING_SECONDS = 20.0
REPORTS_KEPT = 10_000
AT_ONCE_SECONDS = 1.0
"""A request that comes so soon after the end of an answer was sent with the one that it answers."""


class Turn:
    """One answer: its parts as they are sent, whether it is over, and how it ended."""

    def __init__(self, through: int = 0) -> None:
        self.through = through
        """The seq of the last message that was asked."""
        self.parts: list[bytes] = []
        self.size = 1
        self.is_over = False
        self.failure: Exception | None = None
        self.over_at = 0.0
        """On the event loop's clock, as the next."""
        self.delivered_at: float | None = None
        """When somebody had the whole of it."""
        self._more = asyncio.Event()

    def put(self, part: bytes) -> None:
        self.parts.append(part)
        self.size += len(part)
        self._wake()

    def end(self, failure: Exception | None = None) -> None:
        self.is_over, self.failure = True, failure
        self.over_at = asyncio.get_running_loop().time()
        self._wake()

    def delivered(self) -> None:
        if self.delivered_at is None:
            self.delivered_at = asyncio.get_running_loop().time()

    def is_for(self, arrived: float, *, retried: bool) -> bool:
        """Whether a request that came then is to be answered with this: not if it could know a whole answer already,
        or the failure; then it wants another.
        """
        if not self.is_over:
            return True
        if self.failure is not None:
            return arrived < self.over_at and not retried
        return retried or self.delivered_at is None or arrived < self.delivered_at + AT_ONCE_SECONDS

    def is_awaited(self, arrived: float) -> bool:
        """Whether nobody had it when a request came: then an equal one asks for nothing else."""
        if not self.is_over:
            return True
        return self.failure is None and (self.delivered_at is None or arrived < self.delivered_at)

    async def begun(self) -> None:
        """Waits for its first part. Raises its failure if it has none."""
        while not self.parts:
            if self.failure is not None:
                raise self.failure
            if self.is_over:
                return
            await self._more.wait()

    async def read(self) -> AsyncIterator[bytes]:
        """All of its parts, from the first. Raises its failure."""
        at = 0
        while True:
            while at < len(self.parts):
                yield self.parts[at]
                at += 1
            if self.failure is not None:
                raise self.failure
            if self.is_over:
                return
            await self._more.wait()

    def _wake(self) -> None:
        woken, self._more = self._more, asyncio.Event()
        woken.set()


@dataclass
class Turns:
    """By what was asked: the request, of whom and of which conversation, and where it ends there."""

    running: dict[Hashable, Turn] = field(default_factory=dict)
    given: TTLCache[Hashable, Turn] = field(
        default_factory=lambda: TTLCache(KEPT_BYTES, KEPT_SECONDS, getsizeof=lambda turn: turn.size)
    )
    newest: WeakValueDictionary[Hashable, Turn] = field(default_factory=WeakValueDictionary)
    """Of those, by the request alone."""
    reported: LRUCache[Hashable, ReportedUsage] = field(default_factory=lambda: LRUCache(REPORTS_KEPT))
    """What the model's API counted for the newest answer, by tenant and conversation. It is stored with the next
    question, not with the answer: it may begin a generation, of which no earlier answer is.
    """
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def find(self, request: Hashable, through: int) -> Turn | None:
        key = (request, through)
        return self.running.get(key) or self.given.get(key)

    def awaited(self, request: Hashable, arrived: float) -> int | None:
        """Where the equal request ends whose answer nobody had when this one came. What is new of a list is decided
        some time after it came, and by then the answer may be stored.
        """
        turn = self.newest.get(request)
        return turn.through if turn is not None and turn.is_awaited(arrived) else None

    def start(self, request: Hashable, through: int, work: Callable[[Turn], Coroutine[Any, Any, None]]) -> Turn:
        """Work on an answer beside the request that asked for it; ``work`` ends the turn, however it goes."""
        key = (request, through)
        turn = self.running[key] = self.newest[request] = Turn(through)
        task = asyncio.create_task(self._run(key, turn, work))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return turn

    async def _run(self, key: Hashable, turn: Turn, work: Callable[[Turn], Coroutine[Any, Any, None]]) -> None:
        try:
            await work(turn)
        except Exception as error:  # noqa: BLE001 - it is raised where the turn is read
            turn.end(error)
        finally:
            if not turn.is_over:
                turn.end(errors.Overdue("The service is shutting down. Send the request again."))
            if self.running.get(key) is turn:  # else the same was asked anew before this was over
                del self.running[key]
                if turn.size <= KEPT_BYTES:
                    self.given[key] = turn

    async def close(self) -> None:
        """Answers that nobody waits for any more are finished, if that does not take long."""
        if self.tasks:
            _, late = await asyncio.wait(self.tasks, timeout=CLOSING_SECONDS)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
