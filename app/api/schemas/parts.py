"""Parts of a conversation: contents page, pages, summary, notes, topics."""

from __future__ import annotations

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, Field

from app.api.http.body import RequestModel
from app.api.schemas.messages import Message
from app.core.messages import NOTE_MAX


class EntryLine(BaseModel):
    seq: int
    role: str
    summary: str


class ContentsEntry(BaseModel):
    page: int
    title: str
    entries: list[EntryLine]
    recall_count: int
    last_recalled_page: int | None
    source: Literal["llm", "extractive"]


class ChapterItem(BaseModel):
    first_page: int
    last_page: int
    line: str


class ContentsResponse(BaseModel):
    text: str
    tokens: int
    entries: list[ContentsEntry]
    chapters: list[ChapterItem]


class PageItem(BaseModel):
    page: int
    title: str
    source: Literal["llm", "extractive"] = Field(description="author of the title")
    first_seq: int
    last_seq: int
    recall_count: int
    last_recalled_page: int | None
    created_at: datetime


class PageResponse(BaseModel):
    """A page in full."""

    page: int
    title: str
    messages: list[Message]
    entries: list[EntryLine]
    recall_count: int
    last_recalled_page: int | None
    source: Literal["llm", "extractive"]


class SummaryVersion(BaseModel):
    version: int
    text: str
    tokens: int
    through_seq: int
    source: Literal["llm", "extractive"]
    model: str | None
    created_at: datetime


class SummaryResponse(BaseModel):
    """The newest summary, one sentence per line."""

    text: str
    tokens: int
    through_seq: int = Field(description="last message that it covers")
    source: Literal["llm", "extractive"]
    model: str | None = Field(description="the model that wrote it")
    version: int | None = None
    created_at: datetime | None = None
    lag: int = Field(description="messages that it should cover but does not yet")
    versions: list[SummaryVersion] = Field(description="newest first")


class NoteBody(RequestModel):
    """Something to keep in mind."""

    text: str = Field(min_length=1, max_length=NOTE_MAX)


class NoteResponse(BaseModel):
    id: UUID
    text: str
    tokens: int
    source: Literal["person", "rule", "llm", "tool", "import"]
    scope: Literal["user", "conversation"] = Field(description="where it holds")
    seq: int | None = Field(description="message that it quotes")
    created_at: datetime


class TopicResponse(BaseModel):
    topic: str
    mention_count: int
    last_page: int
