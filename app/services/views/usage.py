"""Show what models were used for, what became of a conversation's proxied requests, and what that costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields, replace
from typing import Any
from uuid import UUID

from app.core.dialects.usage import ModelUsage, Prices
from app.core.times import time_of, time_text
from app.store.proxy.proxied_requests import ProxiedRequest
from app.store.spending import COUNTERS, Spent

TOKENS = tuple(member.name for member in fields(ModelUsage))


def usage_items(
    rows: Iterable[tuple[str, str, Spent]], name: str, prices: Prices, bytes_of: Mapping[str, int]
) -> list[dict[str, Any]]:
    """Return an item for each name of the rows, in their order; ``name`` is what a caller calls it.

    The cost is by the prices of today: of the models whose price is known, and None if no call's is.
    """
    items: dict[str, dict[str, Any]] = {}
    for named, model, spent in rows:
        whose = model if name == "model" else named
        empty = {name: whose or None, **dict.fromkeys(COUNTERS, 0), "cost": None, "saved": None, "unpriced_calls": 0}
        item = items.setdefault(whose, {**empty, "storage_bytes": bytes_of.get(whose)})
        for counter in COUNTERS:
            item[counter] += getattr(spent, counter)
        usage = ModelUsage(*(getattr(spent, member) for member in TOKENS))
        cost = prices.cost(model, usage)
        if cost is None:
            item["unpriced_calls"] += spent.calls
        else:
            uncached = prices.cost(model, replace(usage, cached_tokens=0, written_tokens=0)) or 0.0
            item["cost"] = (item["cost"] or 0.0) + cost
            item["saved"] = (item["saved"] or 0.0) + uncached - cost
    return list(items.values())


def request_view(name: UUID, done: ProxiedRequest, prices: Prices) -> dict[str, Any]:
    """Return a proxied request for a caller. The cost is by the prices of today."""
    shown = asdict(done)
    used = shown.pop("usage") or dict.fromkeys(TOKENS)
    return {
        "id": str(name), "created_at": time_text(time_of(name)), "window": shown.pop("window_number"), **shown, **used,
        "cost": prices.cost(done.model, done.usage),
    }  # fmt: skip


def request_sums(shown: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Sum requests up. The cost is None if no request's is known."""
    costs = [one["cost"] for one in shown if one["cost"] is not None]
    return {
        "requests": len(shown), "failed": sum(one["error"] is not None for one in shown),
        **{name: sum(one[name] or 0 for one in shown) for name in TOKENS}, "cost": sum(costs) if costs else None,
    }  # fmt: skip
