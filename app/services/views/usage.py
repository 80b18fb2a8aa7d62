"""Show what models were used for, and what that costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from asyncpg import Record

from app.core.dialects.usage import ModelUsage, Prices
from app.store.spending import COUNTERS


def usage_items(rows: Iterable[Record], name: str, prices: Prices, bytes_of: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return an item for each name of the rows, in their order; ``name`` is what a caller calls it.

    The cost is by the prices of today: of the models whose price is known, and None if no call's is.
    """
    items: dict[str, dict[str, Any]] = {}
    for row in rows:
        whose = row["model"] if name == "model" else row["name"]
        empty = {name: whose or None, **dict.fromkeys(COUNTERS, 0), "cost": None, "unpriced_calls": 0}
        item = items.setdefault(whose, {**empty, "storage_bytes": bytes_of.get(whose)})
        for counter in COUNTERS:
            item[counter] += row[counter]
        usage = ModelUsage(row["prompt_tokens"], row["cached_tokens"], row["completion_tokens"], row["written_tokens"])
        cost = prices.cost(row["model"], usage)
        if cost is None:
            item["unpriced_calls"] += row["calls"]
        else:
            item["cost"] = (item["cost"] or 0.0) + cost
    return list(items.values())
