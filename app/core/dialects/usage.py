"""Read the usage that a model's API reports for a proxied request, and compute its cost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from app.core.canonical import loads
from app.core.model import INTEGER_MAX
from app.core.models import GENERAL, ModelTable

PER = 1_000_000
"""Prices are for a million tokens."""
PRICE_MAX = 1_000_000.0
ANY = "*"
COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")
READ = ("cached_tokens", "prompt_cache_hit_tokens", "cache_read_input_tokens")
WRITTEN = ("cache_write_tokens", "cache_creation_tokens", "cache_creation_input_tokens")
"""What APIs call the prompt's tokens that their caches gave, and took."""


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """The tokens of an answer, over all its model calls."""

    prompt_tokens: int
    cached_tokens: int
    """Those of the prompt that the API found in its cache."""
    completion_tokens: int
    written_tokens: int = 0
    """Those of the prompt that the API wrote to its cache."""

    @staticmethod
    def read(reported: Mapping[str, Any] | None) -> ModelUsage | None:
        """Read usage in the form of Chat Completions; None without the number of prompt tokens."""
        if reported is None or type(reported.get("prompt_tokens")) is not int:
            return None
        details = reported.get("prompt_tokens_details")
        named = {**reported, **(details if isinstance(details, Mapping) else {})}
        thought = reported.get("completion_tokens_details")
        thinking = _tokens(thought.get("reasoning_tokens")) if isinstance(thought, Mapping) else 0
        prompt, said, total = (_tokens(reported.get(name)) for name in COUNTS)
        cached, written = (max(_tokens(named.get(name)) for name in names) for names in (READ, WRITTEN))
        if thinking and total == prompt + said + thinking:  # xAI and Gemini count it on top
            said += thinking
        elif cached + written and total == prompt + said + cached + written:  # some gateways do so with caches
            prompt += cached + written
        cached = min(cached, prompt)
        return ModelUsage(prompt, cached, said, min(written, prompt - cached))


def _tokens(value: object) -> int:
    return min(max(value, 0), INTEGER_MAX) if type(value) is int else 0


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens."""

    input: float
    output: float
    cached_input: float | None = None
    """None: that of other input."""
    cache_write: float | None = None
    """None: that of other input."""

    def cost(self, usage: ModelUsage) -> float:
        cached = self.input if self.cached_input is None else self.cached_input
        write = self.input if self.cache_write is None else self.cache_write
        fresh = usage.prompt_tokens - usage.cached_tokens - usage.written_tokens
        prompt = fresh * self.input + usage.cached_tokens * cached + usage.written_tokens * write
        return (prompt + usage.completion_tokens * self.output) / PER


@dataclass(frozen=True, slots=True)
class Prices:
    by_model: Mapping[str, Price] = field(default_factory=dict)
    models: ModelTable | None = None
    """Its rows have the prices of models that have none here."""

    @staticmethod
    def read(text: str) -> Prices:
        """Read JSON such as `{"gpt-5": {"input": 1.25, "cached_input": 0.125, "output": 10}}`. Raises ValueError."""
        found = loads(text or "{}")
        if not isinstance(found, dict):
            raise ValueError("it must be a JSON object of prices by model; `*` stands for all others")  # noqa: TRY004
        return Prices({model: _price(model, given) for model, given in found.items()})

    def cost(self, model: str, usage: ModelUsage | None) -> float | None:
        """Return the cost of an answer in US dollars; None if its tokens or price are unknown.

        A model without a price of its own has that of the longest name that its name begins with, as `gpt-5` for
        `gpt-5-2026-01-01`, else that of its row in the table of models, else that of `*`.
        """
        if usage is None:
            return None
        names = [name for name in self.by_model if name != ANY and model.startswith(name)]
        own = self.by_model[max(names, key=len)] if names else self._of_row(model)
        price = own or self.by_model.get(ANY)
        return price.cost(usage) if price is not None else None

    def _of_row(self, model: str) -> Price | None:
        row = self.models.row(model) if self.models is not None else GENERAL
        if row.input_price is None or row.output_price is None:
            return None
        read, write = (row.input_price * part for part in (row.cache.read, row.cache.write))
        return Price(row.input_price, row.output_price, read, write)


def _price(model: str, given: object) -> Price:
    names = {member.name for member in fields(Price)}
    if not isinstance(given, dict) or not {"input", "output"} <= set(given) <= names:
        raise ValueError(
            f"the price of {model!r} must have `input` and `output`, and may have `cached_input` and `cache_write`"
        )
    for name, value in given.items():
        if type(value) not in (int, float) or not math.isfinite(value) or not 0 <= value <= PRICE_MAX:
            raise ValueError(f"`{name}` of {model!r} must be a number of dollars from 0 to {PRICE_MAX:,.0f}")
    return Price(**{name: float(value) for name, value in given.items()})
