"""Usage of models."""

from __future__ import annotations

from datetime import date, datetime
from typing import Literal

from pydantic import BaseModel, Field


class Usage(BaseModel):
    """Model usage of a user, a conversation, a model or the tenant."""

    user_id: str | None = Field(None, description="by=user; null: conversations without a user")
    conversation_id: str | None = None
    model: str | None = None
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = Field(description="tokens of the prompts that the provider read from its cache")
    written_tokens: int = Field(description="tokens of the prompts that the provider wrote to its cache")
    saved_tokens: int = Field(description="tokens of histories that windows left out, of calls through the proxy")
    cost: float | None = Field(description="US dollars, by QUIRE_PROXY_PRICES; null if no price is known")
    saved: float | None = Field(description="US dollars that the provider's cache saved, less what writing it cost")
    unpriced_calls: int = Field(description="calls of models without a price, not in `cost`")
    storage_bytes: int | None = Field(None, description="stored now; null unless storage is limited")


class UsageList(BaseModel):
    by: Literal["user", "tenant", "conversation", "model"]
    since: date = Field(description="the first day counted, in UTC")
    until: datetime
    items: list[Usage]
    next_cursor: str | None
