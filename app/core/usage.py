"""What a proxied request used, as its model's API reported it, and what that costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

PER = 1_000_000
"""Prices are for a million tokens."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of an answer, over all calls of the model that it took."""

    prompt_tokens: int
    cached_tokens: int
    """Those of the prompt that the API found in its cache."""
    completion_tokens: int

    @staticmethod
    def read(reported: Mapping[str, Any] | None) -> Usage | None:
        """Read what an API reported in the words of Chat Completions; None without the number of prompt tokens."""
        if reported is None or type(reported.get("prompt_tokens")) is not int:
            return None
        details = reported.get("prompt_tokens_details")
        cached = _tokens(details.get("cached_tokens")) if isinstance(details, Mapping) else 0
        prompt = _tokens(reported["prompt_tokens"])
        return Usage(prompt, min(cached, prompt), _tokens(reported.get("completion_tokens")))


def _tokens(value: object) -> int:
    return min(max(value, 0), 2**31 - 1) if type(value) is int else 0


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens."""

    input: float
    output: float
    cached_input: float | None = None
    """None: that of other input."""

    def cost(self, usage: Usage) -> float:
        """Return the US dollars that an answer costs."""
        cached = self.input if self.cached_input is None else self.cached_input
        fresh = usage.prompt_tokens - usage.cached_tokens
        return (fresh * self.input + usage.cached_tokens * cached + usage.completion_tokens * self.output) / PER


@dataclass(frozen=True, slots=True)
class Prices:
    """A price for each model that has one."""

    by_model: Mapping[str, Price]

    def cost(self, model: str, usage: Usage | None) -> float | None:
        """Return the US dollars that an answer costs; None where the tokens or the price are not known.

        A model without a price of its own has that of the longest name that its name begins with, as `gpt-5` for
        `gpt-5-2026-01-01`, else that of `*`.
        """
        if usage is None:
            return None
        names = [name for name in self.by_model if name != "*" and model.startswith(name)]
        price = self.by_model.get(max(names, key=len, default="*"))
        return price.cost(usage) if price is not None else None
