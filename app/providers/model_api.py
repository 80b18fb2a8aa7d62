"""The address of a model's API, its key and its limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

BASE_URL = "https://api.openai.com/v1"
"""Used if no base URL is configured."""


@dataclass(frozen=True, slots=True)
class ModelApi:
    base_url: str | None = None
    key: str | None = None
    timeout_seconds: float = 60.0
    concurrency: int = 4
    """Calls at once."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """More members of a request."""

    @property
    def url(self) -> str:
        return BASE_URL if self.base_url is None else self.base_url

    def or_else(self, other: ModelApi) -> ModelApi:
        """Return the API with another's address and key if it has none."""
        return replace(self, base_url=self.base_url or other.base_url, key=self.key or other.key)


OPENAI = ModelApi(BASE_URL)
