"""A token bucket: as many requests as it holds at once, and from then on as many as flow in."""

from __future__ import annotations

import math
from dataclasses import dataclass

ROUNDING = 1e-6
"""Of a token: who comes when told to must not be a rounding error too early."""


@dataclass(frozen=True, slots=True)
class Bucket:
    tokens: float
    at: float
    """When it held them, in seconds of any clock that does not go back."""


@dataclass(frozen=True, slots=True)
class Taken:
    """Whether there was a token, and what is left. Times are seconds from now, rounded up."""

    allowed: bool
    bucket: Bucket
    limit: int
    remaining: int
    reset_seconds: int
    """Until the bucket is full again."""
    retry_seconds: int
    """Until there is a token again; 0 if there is one."""


def take(bucket: Bucket | None, now: float, per_minute: int) -> Taken:
    """One token out of a bucket that holds a minute's worth and begins full."""
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
