"""The audit log."""

from __future__ import annotations

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, Field


class AuditEntryView(BaseModel):
    """A read or an erasure."""

    id: UUID
    at: datetime
    action: Literal["read", "erase"]
    route: str = Field(description="method and path template", examples=["GET /conversations/{conversation_id}"])
    ids: dict[str, str] = Field(description="ids that the request named")
    key_id: UUID | None = Field(description="of the API key; null: a token, or no key was needed")
    user_id: str | None = Field(description="the user that the caller was bound to or named")
    address: str
    status: int
    request_id: str
