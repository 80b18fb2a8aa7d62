"""Decide when to index an owner's memories for search, and how.

The CPU of an exact search grows with the memories, that of a search by index hardly. The index costs 7 kB and half a
millisecond for each memory, so only owners who gain by it have one.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil
from uuid import UUID

LARGE = 10_000
"""Memories from which on an owner has an index: a hybrid search of as many takes less than half of the CPU by it."""
LOOKED_AT = 256
"""An owner's memories are counted at every so many new ones: counting takes milliseconds."""
LISTS_MAX, LIST_MIN = 400, 10
"""Lists of vectors, and the vectors that each has at the beginning: a search reads 24 lists."""
SAMPLE = 8_000
"""Vectors that centroids are made from."""
ROUNDS = 4
"""Rounds of k-means."""
MEMBERS_MIN = 8
"""Vectors that a centroid is at least the mean of, so that it tells of no erased one."""


def is_counted(new: Iterable[UUID]) -> bool:
    """Return whether to count an owner's memories after new ones: now and then, by the ids' random last byte."""
    return any(id_.int % LOOKED_AT == 0 for id_ in new)


def lists(count: int) -> int:
    """Return the number of lists that an index of this many vectors begins with."""
    return max(1, min(LISTS_MAX, count // LIST_MIN))


def share(count: int) -> int:
    """Return how many of 256 vectors belong to the sample."""
    return min(256, ceil(256 * SAMPLE / max(1, count)))
