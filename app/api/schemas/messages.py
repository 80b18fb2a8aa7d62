"""Messages: appended, synced, and read back."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field, WithJsonSchema

from app.api.http.body import RequestModel
from app.api.http.document import DOCUMENT
from app.api.schemas.windows import ContextResponse, WarningItem
from app.core import calibration
from app.core.model import AUTHORS, Author
from app.core.window.budget import BUDGET_MAX

REPORTED = "what the model's API counted for the call that the newest messages answer; windows adapt to it"
_MESSAGE = DOCUMENT["message"]
_MESSAGE["properties"]["author"] |= {"enum": list(AUTHORS)}
SentMessage = Annotated[Any, WithJsonSchema(_MESSAGE)]
"""Validated by `core.messages`, whose errors are more exact; described here for generated clients."""


class UsageReport(RequestModel):
    """Prompt tokens that a model's API counted for a window."""

    window_tokens: int = Field(ge=1, le=BUDGET_MAX, description="the window's `usage.total`")
    prompt_tokens: int = Field(ge=1, le=BUDGET_MAX, description="all prompt tokens, cached ones included")

    def value(self) -> calibration.ReportedUsage:
        return calibration.ReportedUsage(self.window_tokens, self.prompt_tokens)


class AppendBody(RequestModel):
    """Messages to append, in OpenAI or Anthropic form."""

    messages: list[SentMessage] = Field(description="1 to 1000 messages; all or none are stored")
    user_id: str | None = Field(None, description="the conversation's user; creates a new conversation")
    space_id: str | None = Field(None, description="the conversation's space, instead of a user; creates a new one")
    system: str | None = Field(None, max_length=1_000_000)
    reported_usage: UsageReport | None = Field(None, description=REPORTED)


class SyncBody(RequestModel):
    """Your whole message list of a conversation, in OpenAI or Anthropic form."""

    messages: list[SentMessage] = Field(description="1 to 20,000 messages, up to 1000 of them new")
    user_id: str | None = Field(None, description="the conversation's user; creates a new conversation")
    system: str | None = Field(
        None, max_length=1_000_000, description="system prompt, placed before the list's system messages"
    )
    on_fork: Literal["branch", "append", "error"] = Field(
        "branch", description="what to do if the list contradicts what is stored"
    )
    reported_usage: UsageReport | None = Field(None, description=REPORTED)


class Stored(BaseModel):
    """An appended message; ``content`` is what the model will see."""

    id: UUID
    client_id: str | None
    seq: int
    page: int
    role: str
    tokens: int
    archive_id: UUID | None
    content: Any


class Message(Stored):
    """A message of the history, with every field it was sent with."""

    author: Author
    tool_calls: list[Any] | None
    tool_call_id: str | None
    name: str | None
    archived: bool
    created_at: datetime
    said_at: datetime | None
    refused: bool = Field(description="the model's API refused it; once something follows, no window shows it")


class Appended(BaseModel):
    messages: list[Stored]
    page: int
    epoch: int
    warnings: list[WarningItem] = []
    context: ContextResponse | None = None


class Synced(BaseModel):
    matched: int = Field(description="leading messages of the list that needed no storing")
    ahead: int = Field(description="stored messages after the end of the list")
    passed_over: list[int] = Field(description="indexes of messages that are not stored and precede stored ones")
    appended: list[Stored]
    branch: str | None = Field(None, description="the branch that the list is on, if it is another than is named")
    page: int
    epoch: int
    warnings: list[WarningItem] = []
    context: ContextResponse | None = None
