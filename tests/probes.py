"""Two probes of what every test serves: no step of the event loop is long, and no transaction computes for long.

A step is one call of the loop: a callback, or a task from one `await` to the next. Meanwhile nobody else is served.
What is measured is the CPU time that the loop's thread burns in a step, not how long it took: a busy machine makes a
step late, not long. A slow machine makes every step long, so a long step's time is divided by what a fixed piece of
work takes right after it, beside what it takes on the machine on which the limits were chosen. uvloop, which serves in
production, takes the same steps; but what is written to a socket it keeps where it is, while asyncio's loop copies it
(up to Python 3.11), so that is not counted.

What a transaction computes is what its tasks burn between BEGIN and COMMIT: meanwhile it keeps locks and a connection.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import re
import sys
import threading
import time
import traceback
from asyncio.events import Handle
from asyncio.selector_events import _SelectorSocketTransport  # type: ignore[attr-defined]
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from app.postgres.database import Database

WORDS = " ".join(f"word{n % 97} {n} of the text" for n in range(300))
USUAL_SECONDS = 0.0006
"""CPU time of `_work` on the machine on which the limits were chosen."""
LONG_SECONDS = 0.05
"""CPU time that no step may take on that machine."""
COLLECTING_SECONDS = 0.15
"""What a collection of garbage within a step may take besides. It looks at all that lives, of all requests at once, so
it is not the step's own; but not at what was there when the process had started: see app.main.settle.
"""
LOOK_SECONDS = 0.005
LOOKS_MAX = 4
"""Places that are told of a step."""
INNERMOST = 4
OWN = 8
"""Calls of Quire's own that are told of a place, besides the innermost ones."""


@dataclass
class LongStep:
    """A step that held the loop up."""

    what: str
    seconds: float
    """Its own CPU time, on a machine of the usual speed."""
    collecting: float = 0.0
    """CPU time that it spent on collecting garbage, likewise."""
    places: list[list[str]] = field(default_factory=list)
    """Where it was, the innermost call first, each time it was looked at once it was long."""

    @property
    def place(self) -> str:
        """Return the innermost call of Quire's own in it, or else its name without the ids."""
        calls = (call for place in self.places for call in place if call.startswith("app"))
        return next(calls, self.what.split(" ")[0])

    def __str__(self) -> str:
        own, collecting = (round(seconds * 1000) for seconds in (self.seconds, self.collecting))
        seen = "\n".join("    " + " < ".join(place) for place in self.places)
        return f"{own} ms, and {collecting} ms of collecting garbage, in {self.what}\n{seen}"


class WatchedLoop(asyncio.SelectorEventLoop):
    """Notes the steps that are too long in ``found``. To be made in the thread that runs it."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[LongStep] = []
        self.begun: float | None = None
        """CPU time of the thread when the step that is under way began; what follows is of that step."""
        self.places: list[list[str]] = []
        self.collecting = 0.0
        self.copying = 0.0
        self._thread = threading.get_ident()
        self._ready = _Steps(self)
        self._over = threading.Event()
        gc.callbacks.append(self._collects)
        threading.Thread(target=self._look, daemon=True).start()

    def close(self) -> None:
        self._over.set()
        gc.callbacks.remove(self._collects)
        super().close()

    def burnt(self) -> float:
        """Return the CPU time of the step that is under way."""
        begun = time.thread_time() if self.begun is None else self.begun
        return time.thread_time() - begun - self.collecting - self.copying

    def _make_socket_transport(self, *args: Any, **kwargs: Any) -> Any:
        return _Transport(self, *args, **kwargs)

    def _collects(self, phase: str, _: object) -> None:
        if threading.get_ident() == self._thread:
            self.collecting += time.thread_time() * (1 if phase == "stop" else -1)

    def _look(self) -> None:
        """Where the thread is when a step is nearly too long, seen from another thread."""
        clock = time.pthread_getcpuclockid(self._thread)
        while not self._over.wait(LOOK_SECONDS):
            begun = self.begun
            if begun is None or len(self.places) >= LOOKS_MAX:
                continue
            if time.clock_gettime(clock) - begun > LONG_SECONDS / 2 and begun == self.begun:
                self.places.append(_calls(sys._current_frames().get(self._thread)))


class _Transport(_SelectorSocketTransport):  # type: ignore[misc]
    """Knows how long it took to copy what is written."""

    def write(self, data: Any) -> None:
        begun = time.thread_time()
        super().write(data)
        self._loop.copying += time.thread_time() - begun


class _Steps(deque[Any]):
    """The loop's queue; what is taken from it measures itself."""

    def __init__(self, loop: WatchedLoop) -> None:
        super().__init__()
        self._loop = loop

    def popleft(self) -> Any:
        return _Step(super().popleft(), self._loop)


class _Step:
    def __init__(self, handle: Handle, loop: WatchedLoop) -> None:
        self._handle, self._loop = handle, loop
        self._cancelled = handle.cancelled()  # the loop asks

    def _run(self) -> None:
        loop = self._loop
        callback = self._handle._callback  # type: ignore[attr-defined]  # gone once it was called
        loop.places, loop.collecting, loop.copying = [], 0.0, 0.0
        loop.begun = time.thread_time()
        try:
            self._handle._run()
        finally:
            seconds = loop.burnt()
            loop.begun = None
            if (transaction := self._handle._context.get(_open)) is not None:  # type: ignore[attr-defined]
                transaction.seconds += seconds
            if seconds > LONG_SECONDS or loop.collecting > COLLECTING_SECONDS:
                slower = slowness()
                step = LongStep(_name(callback), seconds / slower, loop.collecting / slower, loop.places)
                if step.seconds > LONG_SECONDS or step.collecting > COLLECTING_SECONDS:
                    loop.found.append(step)


def slowness() -> float:
    """Return how many times longer this machine computes now than the usual one; 1 if it is faster."""
    return max(1.0, min(_work() for _ in range(3)) / USUAL_SECONDS)


def _work() -> float:
    """Do what requests mostly do (match, count, write and read JSON) and return its CPU time."""
    begun = time.thread_time()
    lengths: dict[str, list[int]] = {}
    for word in re.findall(r"\w+", WORDS):
        lengths.setdefault(word.casefold(), []).append(len(word))
    json.loads(json.dumps(lengths))
    return time.thread_time() - begun


def _name(callback: Any) -> str:
    """The coroutine of a task, or the function that was called."""
    task = getattr(callback, "__self__", None)
    if isinstance(task, asyncio.Task):
        return f"{getattr(task.get_coro(), '__qualname__', task)} ({task.get_name()})"
    return str(getattr(callback, "__qualname__", callback))


def _calls(frame: FrameType | None) -> list[str]:
    stack = traceback.extract_stack(frame) if frame is not None else traceback.StackSummary()
    calls = [f"{os.path.relpath(f.filename)}:{f.lineno} {f.name}" for f in reversed(stack)]
    own = [call for call in calls[INNERMOST:] if call.startswith("app")]
    return calls[:INNERMOST] + own[:OWN]


class Named:
    """Calls the task of a request by what is asked."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        task = asyncio.current_task()
        if scope["type"] == "http" and task is not None:
            task.set_name(f"{scope['method']} {scope['path']}")
        await self._app(scope, receive, send)


# --- Transactions -----------------------------------------------------------------------------------

TRANSACTION_SECONDS = 0.1
"""CPU time that no transaction may take."""


@dataclass
class _Open:
    seconds: float


_open: ContextVar[_Open | None] = ContextVar("open", default=None)


def watch_transactions() -> None:
    """Note in the loop what every transaction on a watched loop burns, if that is too much."""
    lend = Database._transaction

    @asynccontextmanager
    async def watched(self: Database, *args: Any) -> AsyncIterator[Any]:
        loop = asyncio.get_running_loop()
        async with lend(self, *args) as tx:
            if not isinstance(loop, WatchedLoop):
                yield tx
                return
            burnt = _Open(-loop.burnt())
            before = _open.get()
            _open.set(burnt)
            try:
                yield tx
            finally:
                _open.set(before)
                burnt.seconds += loop.burnt()
                if burnt.seconds > TRANSACTION_SECONDS:
                    burnt.seconds /= slowness()
                if burnt.seconds > TRANSACTION_SECONDS:
                    place = _calls(sys._getframe())
                    loop.found.append(LongStep(f"a transaction {place[-1:]}", burnt.seconds, 0.0, [place]))

    Database._transaction = watched  # type: ignore[method-assign, assignment]
