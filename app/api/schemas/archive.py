"""Archived tool results."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from app.api.http.body import RequestModel
from app.api.http.times import Time
from app.api.schemas.conversations import Certificates
from app.api.schemas.windows import WarningItem


class ArchiveBody(RequestModel):
    """A tool result to archive."""

    user_id: str | None = None
    conversation_id: str | None = None
    tool_name: str = Field(min_length=1, max_length=256)
    tool_input: dict[str, Any] | list[Any] | str = Field(default="", description="the call's arguments")
    result: str
    sources: list[str] = Field(default=[], max_length=10, description="origins of the result; extracted if omitted")
    expires_at: Time | None = Field(None, description="time of erasure")


class Passage(BaseModel):
    offset: int
    length: int
    text: str
    relevance_score: float


class Archive(BaseModel):
    """An archived or passed-through tool result."""

    uuid: UUID | None
    archived: bool
    placeholder: str
    tool_name: str
    tool_input: Any
    query_summary: str | None
    result_summary: str | None
    key_terms: list[str]
    sources: list[str]
    result_length: int
    tokens: int
    conversation_id: str | None
    user_id: str | None
    created_at: datetime | None
    expires_at: datetime | None
    content: str | None = None
    passages: list[Passage] | None = None
    is_cut: bool = Field(default=False, description="whether max_tokens cut what was requested")
    mode: Literal["hybrid", "keyword"] | None = Field(None, description="how passages were found")
    warnings: list[WarningItem] = []


class ArchiveErased(BaseModel):
    uuid: UUID
    erased: dict[str, int]
    certificates: Certificates = []
