"""Leaving when a signal says so, wherever the process is.

A signal interrupts nothing. An exception raised by its handler would strike wherever Python happens to be, and within
the C code of the database driver it is swallowed, or brings the process down. So a signal is noted; whatever runs on
an event loop is cancelled there; and between two steps that cannot be cancelled, whoever makes them asks.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

import uvloop

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
T = TypeVar("T")


class Stopping:
    """Whether the process was told to stop. The first signal counts: the way out must not be interrupted."""

    def __init__(self) -> None:
        self._is_told = False
        self._tell: Callable[[], object] | None = None

    def tell(self) -> None:
        """That it is."""
        if not self._is_told:
            self._is_told = True
            if self._tell is not None:
                self._tell()

    def check(self) -> None:
        """Leaves through every `finally`, with exit code 0, if a signal came."""
        if self._is_told:
            raise SystemExit(0)

    @contextmanager
    def telling(self, tell: Callable[[], object]) -> Iterator[None]:
        """Meanwhile a signal is told so, at once or from now on. ``tell`` is called between any two steps of the main
        thread: it may do no more than leave a note.
        """
        before, self._tell = self._tell, tell
        try:
            if self._is_told:
                tell()
            yield
        finally:
            self._tell = before

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """``work`` on an event loop of its own; cancelled by a signal, and then the process leaves."""

        async def cancellable() -> T:
            loop, task = asyncio.get_running_loop(), asyncio.current_task()
            assert task is not None
            with self.telling(lambda: loop.call_soon_threadsafe(task.cancel)):
                return await work

        if self._is_told:
            work.close()
        self.check()
        try:
            return uvloop.run(cancellable())
        except asyncio.CancelledError:
            self.check()
            raise


@contextmanager
def stop_on_signals() -> Iterator[Stopping]:
    found = Stopping()

    def handle(_: int, __: FrameType | None) -> None:
        found.tell()

    before = {number: signal.signal(number, handle) for number in SIGNALS}
    try:
        yield found
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
