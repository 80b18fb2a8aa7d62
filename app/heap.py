"""The C library's heap, which keeps freed memory for itself. Other C libraries than glibc need none of this."""

import ctypes
from contextlib import suppress

M_ARENA_MAX = -8


def share() -> None:
    """Let all threads share one heap, early: each of their own keeps what its largest text took. It is faster, too."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)


def give_back() -> None:
    """Return freed memory to the system, in about a millisecond."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
