"""When requests are retried, and after what pause."""

from __future__ import annotations

import random
from dataclasses import dataclass

import httpx

STATUSES = frozenset({429, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class Retries:
    """Retry so often and so patiently. A `Retry-After` longer than `pause_max` is not waited for."""

    times: int = 3
    pause: float = 0.25
    """Seconds before the first retry; twice as long before each further one, less up to half of it by chance."""
    pause_max: float = 30.0

    def before_next(self, failures: int, answer: httpx.Response | None) -> float | None:
        """Seconds to wait after the n-th failure; None to give up. No answer: the connection failed."""
        if failures > self.times or (answer is not None and answer.status_code not in STATUSES):
            return None
        wanted = (answer.headers.get("retry-after", "") if answer is not None else "").strip()
        if wanted.isascii() and wanted.isdecimal():
            return float(wanted[:9]) if float(wanted[:9]) <= self.pause_max else None
        return min(self.pause * 2.0 ** (failures - 1), self.pause_max) * random.uniform(0.5, 1)  # noqa: S311 - jitter  # nosec B311
