"""Long work off the event loop: while one step of the loop lasts, nobody else is served.

tests/load holds every step under 50 ms of CPU time, whatever is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, TypeVarTuple, Unpack

import anyio.to_thread

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")

LONG_CHARACTERS = 30_000
"""Up to so many, going to a thread and back costs more than it spares the others."""


async def run_in_thread_if_large(characters: int, work: Callable[[Unpack[Arguments]], T], *arguments: *Arguments) -> T:
    """What the work gives: done in a thread where it is over long texts, here where it is not."""
    if characters <= LONG_CHARACTERS:
        return work(*arguments)
    return await anyio.to_thread.run_sync(work, *arguments)
