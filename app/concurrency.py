"""Run long work off the event loop: one step of the loop blocks every other request.

tests/load holds every step under 50 ms of CPU time, for any request.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, TypeVarTuple, Unpack

import anyio.to_thread

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")

LONG_CHARACTERS = 15_000
"""Up to this length, a thread switch costs more than it saves other requests."""


async def run_in_thread_if_large(characters: int, work: Callable[[Unpack[Arguments]], T], *arguments: *Arguments) -> T:
    """Return the result of the work, run in a thread if its texts are long, else in place."""
    if characters <= LONG_CHARACTERS:
        return work(*arguments)
    return await anyio.to_thread.run_sync(work, *arguments)
