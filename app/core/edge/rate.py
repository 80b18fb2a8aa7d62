"""A token bucket: it allows a burst up to its size, and then a steady rate."""

from __future__ import annotations

import math
from dataclasses import dataclass

ROUNDING = 1e-6
"""A fraction of a token: a caller who comes exactly when told must not be a rounding error too early."""


@dataclass(frozen=True, slots=True)
class Bucket:
    tokens: float
    at: float
    """When it held them, in seconds of any clock that does not go back."""


@dataclass(frozen=True, slots=True)
class Taken:
    """Return whether the bucket had a token, and what is left. Times are seconds from now, rounded up."""

    allowed: bool
    bucket: Bucket
    limit: int
    remaining: int
    reset_seconds: int
    """Until the bucket is full again."""
    retry_seconds: int
    """Until there is a token again; 0 if there is one."""


def take(bucket: Bucket | None, now: float, per_minute: int) -> Taken:
    """Take one token from a bucket that holds a minute's worth and starts full."""
    flow = per_minute / 60
    held = min(per_minute, bucket.tokens + max(0.0, now - bucket.at) * flow) if bucket else float(per_minute)
    allowed = held > 1 - ROUNDING
    left = max(0.0, held - 1) if allowed else held
    return Taken(
        allowed=allowed,
        bucket=Bucket(left, now),
        limit=per_minute,
        remaining=math.floor(left),
        reset_seconds=math.ceil((per_minute - left) / flow),
        retry_seconds=0 if left >= 1 else max(1, math.ceil((1 - left) / flow)),
    )
