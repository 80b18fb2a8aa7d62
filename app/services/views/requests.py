"""Show what became of a conversation's proxied requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from asyncpg import Record

from app.core.dialects.usage import ModelUsage, Prices
from app.core.times import time_text


def request_view(row: Record, prices: Prices) -> dict[str, Any]:
    """Return a row of ``proxied_requests`` for a caller. The cost is by the prices of today."""
    usage = None
    if row["prompt_tokens"] is not None:
        usage = ModelUsage(row["prompt_tokens"], row["cached_tokens"], row["completion_tokens"])
    same = ("dialect", "mode", "model", "first_seq", "last_seq", "window_tokens", "calls", "first_ms", "total_ms")
    return {
        "id": str(row["id"]),
        "created_at": time_text(row["created_at"]),
        **{name: row[name] for name in same},
        "window": row["window_number"],
        "prompt_tokens": row["prompt_tokens"],
        "cached_tokens": row["cached_tokens"],
        "completion_tokens": row["completion_tokens"],
        "cost": prices.cost(row["model"], usage),
        "error": row["error"],
    }


def request_sums(shown: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Sum requests up. The cost is None if no request's is known."""
    costs = [one["cost"] for one in shown if one["cost"] is not None]
    tokens = ("prompt_tokens", "cached_tokens", "completion_tokens")
    return {
        "requests": len(shown),
        "failed": sum(one["error"] is not None for one in shown),
        **{name: sum(one[name] or 0 for one in shown) for name in tokens},
        "cost": sum(costs) if costs else None,
    }
