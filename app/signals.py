"""Stop the process cleanly on a signal, wherever it is.

A signal interrupts nothing. An exception raised by its handler would strike at an arbitrary point, and the C code of
the database driver would swallow it or crash. So the handler only records the signal: code on an event loop is
cancelled there, and code that cannot be cancelled checks between its steps.
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
    """The first signal or fault that told the process to stop. Later ones do not count: nothing interrupts the end."""

    def __init__(self) -> None:
        self._is_told = False
        self.exit_code = 0
        self._tell: Callable[[], object] | None = None

    def tell(self, exit_code: int = 0) -> None:
        """Record that the process must stop."""
        if not self._is_told:
            self.exit_code = exit_code
            self._is_told = True
            if self._tell is not None:
                self._tell()

    def check(self) -> None:
        """Exit through every `finally`, with exit code 0, if a signal arrived."""
        if self._is_told:
            raise SystemExit(self.exit_code)

    @contextmanager
    def telling(self, tell: Callable[[], object]) -> Iterator[None]:
        """Call ``tell`` for a signal while the block runs, or at once if one has arrived. ``tell`` runs between any
        two steps of the main thread, so it must do no more than record it.
        """
        before, self._tell = self._tell, tell
        try:
            if self._is_told:
                tell()
            yield
        finally:
            self._tell = before

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run ``work`` on an event loop of its own; a signal cancels it, and then the process exits."""

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
    stopping = Stopping()

    def handle(_: int, __: FrameType | None) -> None:
        stopping.tell()

    before = {number: signal.signal(number, handle) for number in SIGNALS}
    try:
        yield stopping
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
