"""Answers in progress in this process, or finished recently, and their readers.

An answer is not tied to a connection: it continues when its reader disconnects, and a client that repeats the request
meanwhile reads the same answer from its beginning.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Hashable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakValueDictionary

from cachetools import LRUCache, TTLCache

from app import errors
from app.core.calibration import ReportedUsage

KEPT_BYTES = 64 * 1024 * 1024
"""Total size of the finished answers kept."""
KEPT_SECONDS = 600.0
CLOSING_SECONDS = 20.0
REPORTS_KEPT = 10_000
AT_ONCE_SECONDS = 1.0
"""A request that arrives this soon after an answer ended was sent at the same time as the one it answers."""


class AnswerStream:
    """One answer: its parts as sent, and whether and how it has ended."""

    def __init__(self, through: int = 0) -> None:
        self.through = through
        """The seq of the last message of the request."""
        self.parts: list[bytes] = []
        self.size = 1
        self.is_over = False
        self.failure: Exception | None = None
        self.over_at = 0.0
        """On the event loop's clock, as is `delivered_at`."""
        self.receipt = ""
        """The root of the receipt of its newest window."""
        self.delivered_at: float | None = None
        """When a reader had received the whole answer."""
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
        """Return whether this answers a request that arrived at a given time.

        It does not if the sender could already have seen the whole answer, or its failure, and wants a new one.
        """
        if not self.is_over:
            return True
        if self.failure is not None:
            return arrived < self.over_at and not retried
        return retried or self.delivered_at is None or arrived < self.delivered_at + AT_ONCE_SECONDS

    def is_awaited(self, arrived: float) -> bool:
        """Return whether no reader had the answer when a request arrived. An equal request then repeats this one."""
        if not self.is_over:
            return True
        return self.failure is None and (self.delivered_at is None or arrived < self.delivered_at)

    async def begun(self, seconds: float | None = None) -> None:
        """Wait for the first part for some seconds at most. Raises the answer's failure if no part came."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not self.parts and not self.is_over:
                    await self._more.wait()
        if self.failure is not None and not self.parts:
            raise self.failure

    async def read(self, ping: bytes = b"", seconds: float | None = None) -> AsyncIterator[bytes]:
        """Yield all parts from the first, present ones joined. Raises the answer's failure.

        Yield ``ping`` whenever nothing came for ``seconds``.
        """
        at = 0
        while True:
            if at < (there := len(self.parts)):
                yield b"".join(self.parts[at:there])
                at = there
                continue
            if self.failure is not None:
                raise self.failure
            if self.is_over:
                return
            try:
                async with asyncio.timeout(seconds):
                    await self._more.wait()
            except TimeoutError:
                yield ping

    def _wake(self) -> None:
        woken, self._more = self._more, asyncio.Event()
        woken.set()


@dataclass
class Turns:
    """Answers by request, its owner and conversation, and where the request ends there."""

    running: dict[Hashable, AnswerStream] = field(default_factory=dict)
    given: TTLCache[Hashable, AnswerStream] = field(
        default_factory=lambda: TTLCache(KEPT_BYTES, KEPT_SECONDS, getsizeof=lambda turn: turn.size)
    )
    newest: WeakValueDictionary[Hashable, AnswerStream] = field(default_factory=WeakValueDictionary)
    """The newest of those, by the request alone."""
    reported: LRUCache[Hashable, ReportedUsage] = field(default_factory=lambda: LRUCache(REPORTS_KEPT))
    """Token usage that the model's API reported for the newest answer, by tenant and conversation. It is stored with
    the next question, not with the answer: that question can begin a generation, which no earlier answer belongs to.
    """
    tasks: set[asyncio.Task[Any]] = field(default_factory=set)
    ending: dict[Hashable, set[asyncio.Task[Any]]] = field(default_factory=dict)
    """Tasks that store an answer which a client has already, by who asked and where."""

    def find(self, request: Hashable, through: int) -> AnswerStream | None:
        key = (request, through)
        return self.running.get(key) or self.given.get(key)

    def awaited(self, request: Hashable, arrived: float) -> int | None:
        """Return where the equal request ends, if no reader had its answer when this one arrived.

        The new messages of a list are selected some time after its arrival, and by then the answer may be stored.
        """
        turn = self.newest.get(request)
        return turn.through if turn is not None and turn.is_awaited(arrived) else None

    def start(
        self, request: Hashable, through: int, work: Callable[[AnswerStream], Coroutine[Any, Any, None]]
    ) -> AnswerStream:
        """Start work on an answer, independent of the request's connection; ``work`` ends the turn in every case."""
        key = (request, through)
        turn = self.running[key] = self.newest[request] = AnswerStream(through)
        self.hold(asyncio.create_task(self._run(key, turn, work)))
        return turn

    def hold(self, task: asyncio.Task[Any]) -> None:
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def hold_ending(self, asker: Hashable, task: asyncio.Task[Any]) -> None:
        self.hold(task)
        self.ending.setdefault(asker, set()).add(task)
        task.add_done_callback(lambda done: self._ended(asker, done))

    def _ended(self, asker: Hashable, task: asyncio.Task[Any]) -> None:
        left = self.ending[asker]
        left.discard(task)
        if not left:
            del self.ending[asker]

    async def settled(self, asker: Hashable) -> None:
        """Wait until earlier answers are stored, because the next list contains them."""
        if before := self.ending.get(asker):
            await asyncio.wait(before.copy())

    async def _run(
        self, key: Hashable, turn: AnswerStream, work: Callable[[AnswerStream], Coroutine[Any, Any, None]]
    ) -> None:
        try:
            await work(turn)
        except Exception as error:  # noqa: BLE001 - it is raised where the turn is read
            turn.end(error)
        finally:
            if not turn.is_over:
                turn.end(errors.Overdue("The service is shutting down. Send the request again."))
            if self.running.get(key) is turn:  # otherwise the same request came again before this one ended
                del self.running[key]
                if turn.size <= KEPT_BYTES:
                    self.given[key] = turn

    async def close(self) -> None:
        """Finish answers that nobody waits for, unless that takes long."""
        if self.tasks:
            _, late = await asyncio.wait(self.tasks, timeout=CLOSING_SECONDS)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
