"""Show the usage and cost of models, and the outcome of proxied requests."""

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
    """Return an item for each name in the rows, in order. ``name`` is the item's member for it.

    Costs use today's prices and count models with a known price; None if no call has one.
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
    """Return a proxied request, with its cost at today's prices."""
    shown = asdict(done)
    used = shown.pop("usage") or dict.fromkeys(TOKENS)
    return {
        "id": str(name), "created_at": time_text(time_of(name)), "window": shown.pop("window_number"), **shown, **used,
        "cost": prices.cost(done.model, done.usage),
    }  # fmt: skip


def request_sums(shown: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the sums over requests. The cost is None if no request's cost is known."""
    costs = [one["cost"] for one in shown if one["cost"] is not None]
    return {
        "requests": len(shown), "failed": sum(one["error"] is not None for one in shown),
        **{name: sum(one[name] or 0 for one in shown) for name in TOKENS}, "cost": sum(costs) if costs else None,
    }  # fmt: skip
