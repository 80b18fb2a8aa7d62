"""Memory: Python's objects, and the C library's heap, which keeps freed memory for itself (glibc's alone does)."""

import ctypes
import gc
from contextlib import suppress

M_ARENA_MAX = -8
NEW_OBJECTS = 10_000
"""Objects between two collections. Turns leave no cycles, and at the default of 700 every second one would pay."""


def share() -> None:
    """Let all threads share one heap: a separate heap keeps the memory of its largest text. It is faster, too."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)


def give_back() -> None:
    """Return freed memory to the system, in about a millisecond."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def freeze() -> None:
    """Exclude the objects that exist after start-up from garbage collection, and let it run seldom.

    For processes that serve one app until they end. A collection stops everything else.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS)
    give_back()
