"""Conversations, their settings, and what erasing returns."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field

from app.api.http.body import RequestModel
from app.api.schemas.windows import Budget
from app.core.messages import MODEL_MAX, TITLE_MAX
from app.core.model import RecallScope


class PolicyOverrides(RequestModel):
    """Paging settings of one conversation. Omitted ones follow the deployment."""

    full_recent_count: int | None = Field(None, ge=1, le=10_000)
    active_pages: int | None = Field(None, ge=0, le=10_000, description="(0: as many as fit)")
    condensed_tool_max: int | None = Field(None, ge=0, le=100_000)
    archive_threshold: int | None = Field(None, ge=200, le=10_000_000, description="characters")
    archive_threshold_tokens: int | None = Field(None, ge=0, le=10_000_000)
    unlist_after_turns: int | None = Field(None, ge=1, le=1_000_000)
    unlist_unchanged_turns: int | None = Field(None, ge=1, le=1_000_000)
    contents_max: int | None = Field(None, ge=0, le=100_000, description="tokens")
    summary_max: int | None = Field(None, ge=0, le=100_000, description="tokens")
    summary_enabled: bool | None = None
    chapter_lines: bool | None = None
    head_share: float | None = Field(None, ge=0, le=0.5, description="of the body's room")
    condensed_share: float | None = Field(None, ge=0, le=0.8, description="of the body's room")
    keep_share: float | None = Field(None, ge=0.05, le=0.8, description="of the body's room")
    recall_share: float | None = Field(None, ge=0.05, le=0.8, description="of the available tokens")
    recall_scope: RecallScope | None = Field(None, description="where queries and recall tools look")


class ConversationChange(RequestModel):
    """Changeable fields of a conversation. null resets a field."""

    title: str | None = Field(None, max_length=TITLE_MAX)
    system: str | None = Field(None, max_length=1_000_000, description="system prompt of every window")
    model: str | None = Field(None, min_length=1, max_length=MODEL_MAX)
    budget: int | None = Budget
    settings: PolicyOverrides | None = None
    metadata: dict[str, Any] | None = None


class ConversationCreate(ConversationChange):
    """A new conversation."""

    id: str | None = Field(None, description="1 to 128 characters; default: a UUIDv7")
    user_id: str | None = None


class ConversationResponse(BaseModel):
    """A conversation."""

    id: str
    user_id: str | None
    title: str | None
    system: str | None
    model: str | None
    budget: int | None
    token_percent: int = Field(description="the model's tokens per 100 of Quire's, as reported so far")
    settings: dict[str, Any]
    metadata: dict[str, Any]
    messages: int
    pages: int
    tokens: int
    epoch: int
    language: str | None
    created_at: datetime
    updated_at: datetime


class ConversationItem(BaseModel):
    """A conversation in a list."""

    id: str
    user_id: str | None
    title: str | None
    model: str | None
    budget: int | None
    metadata: dict[str, Any]
    messages: int
    pages: int
    tokens: int
    created_at: datetime
    updated_at: datetime


class ConversationList(BaseModel):
    items: list[ConversationItem]
    next_cursor: str | None


class ErasureResponse(BaseModel):
    """Deleted rows per table."""

    id: str
    erased: dict[str, int]


class MessageErased(ErasureResponse):
    """An erased message; ``id`` is the conversation's."""

    seq: int


class PageErased(ErasureResponse):
    """An erased page; ``id`` is the conversation's."""

    page: int


class Imported(BaseModel):
    """Items that were imported, and items that existed already, by kind."""

    imported: dict[str, int]
    matched: dict[str, int]
