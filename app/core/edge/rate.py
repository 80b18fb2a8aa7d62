"""A token bucket: a burst up to its size, then a steady rate.

Each process takes several tokens of a shared bucket at once, so that few requests ask the database.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

ROUNDING = 1e-6
"""A fraction of a token: a caller who comes exactly when told must not be a rounding error too early."""
SHARE_SECONDS = 1.0
"""How long a process can use what it took of a shared bucket, and how many seconds' worth it takes at once."""


@dataclass(frozen=True, slots=True)
class Bucket:
    tokens: float
    at: float
    """When it held them, in seconds of any clock that does not go back."""


@dataclass(frozen=True, slots=True)
class TakenTokens:
    """The number of tokens taken and left. Times are seconds from now, rounded up."""

    granted: int
    bucket: Bucket
    limit: int
    remaining: int
    reset_seconds: int
    """Until the bucket is full again."""
    retry_seconds: int
    """Until there is a token again; 0 if there is one."""

    @property
    def allowed(self) -> bool:
        return self.granted > 0


def take(bucket: Bucket | None, now: float, per_minute: int, wanted: int = 1) -> TakenTokens:
    """Take up to ``wanted`` tokens from a bucket that holds a minute's worth and starts full."""
    flow = per_minute / 60
    held = min(per_minute, bucket.tokens + max(0.0, now - bucket.at) * flow) if bucket else float(per_minute)
    granted = min(wanted, math.floor(held + ROUNDING))
    left = max(0.0, held - granted)
    return TakenTokens(
        granted=granted, bucket=Bucket(left, now), limit=per_minute, remaining=math.floor(left),
        reset_seconds=math.ceil((per_minute - left) / flow),
        retry_seconds=0 if left >= 1 else max(1, math.ceil((1 - left) / flow)),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Share:
    """A process's share of a bucket: the tokens it took, or a refusal."""

    taken: TakenTokens
    left: int
    at: float
    """When it was taken, on the process's clock."""

    def spend(self, now: float, per_minute: int) -> tuple[Share, TakenTokens] | None:
        """Use one token of the share; None if the bucket must be asked: it is used up, or the limit changed."""
        age = now - self.at
        if self.taken.limit != per_minute:
            return None
        if self.left and age < SHARE_SECONDS:
            rest = replace(self, left=self.left - 1)
            return rest, replace(self.taken, granted=1, remaining=self.taken.remaining + rest.left)
        if not self.taken.granted and age < self.taken.retry_seconds:
            return self, replace(self.taken, retry_seconds=math.ceil(self.taken.retry_seconds - age))
        return None


def wanted(per_minute: int) -> int:
    """Return the number of tokens that a process takes at once."""
    return max(1, math.floor(per_minute / 60 * SHARE_SECONDS))
