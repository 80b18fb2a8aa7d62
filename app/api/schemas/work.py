"""Background work."""

from __future__ import annotations

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, Field


class ArchivedResult(BaseModel):
    archive_id: UUID
    seq: int | None
    tool_name: str
    length: int


class SpendingResponse(BaseModel):
    """Model usage."""

    calls: int
    prompt_tokens: int
    completion_tokens: int


class WorkNumbers(BaseModel):
    """Background work in numbers."""

    pending: int = Field(description="waiting jobs, new or after a failure")
    running: int
    dead: int = Field(description="jobs that failed permanently; see GET /jobs")
    unindexed: int = Field(description="closed pages, long texts and memories that are not indexed yet")
    oldest_pending_seconds: float | None = Field(description="age of the oldest pending job")
    spent: dict[str, SpendingResponse] = Field(description="model usage by kind of work")


class LaneNumbers(BaseModel):
    """The jobs that need one provider."""

    pending: int
    running: int
    dead: int
    oldest_pending_seconds: float | None
    unclaimed: int = Field(description="jobs that have waited over a minute: there are no or too few workers")
    error: str | None = Field(description="last error of the oldest pending job that failed")
    stopped: str | None = Field(description="why this process tries the lane only once a minute")


class Job(BaseModel):
    """A job. Errors name only their kind, never content."""

    id: UUID
    kind: str
    lane: str
    state: Literal["pending", "running", "dead"]
    conversation_id: str | None
    attempts: int
    error: str | None
    created_at: datetime
    failed_at: datetime | None


class JobsResponse(WorkNumbers):
    """All background work and its dead letters."""

    unindexed_at_least: bool = Field(description="true if `unindexed` is a lower bound")
    lanes: dict[str, LaneNumbers]
    items: list[Job] = Field(description="dead letters")
    next_cursor: str | None


class Status(WorkNumbers):
    """Progress of a conversation's background work."""

    messages: int
    pages: int
    epoch: int
    archived: list[ArchivedResult] = Field(description="the newest 100")
