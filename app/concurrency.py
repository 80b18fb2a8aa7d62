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
LONG_READ = 4_000
"""The same for texts that are read closely, for their lines, terms and wishes: up to 4 µs a character in Chinese."""
LONG_COPIED = 200_000
"""The same for work that mostly copies its texts: 0.3 ms of it, 5 ms for Anthropic's form, which reads their JSON."""

MESSAGE_CHARACTERS = 15
"""Characters of text whose reading takes as long as laying out a message: 1,000 messages are off the loop."""


async def run_in_thread_if_large(
    characters: int, work: Callable[[Unpack[Arguments]], T], *arguments: *Arguments, most: int = LONG_CHARACTERS
) -> T:
    """Return the result of the work, run in a thread if its texts are longer than ``most``, else in place."""
    if characters <= most:
        return work(*arguments)
    return await anyio.to_thread.run_sync(work, *arguments)
