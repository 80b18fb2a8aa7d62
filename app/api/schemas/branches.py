"""Forks and branches."""

from __future__ import annotations

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, Field

from app.api.http.body import RequestModel
from app.core.messages import TITLE_MAX


class ForkBody(RequestModel):
    """The place where a branch begins."""

    at: int | str | None = Field(None, description="a message's `seq` or id; default: the newest message")
    position: Literal["before", "after"] = Field("after", description="whether the branch has the message `at`")
    id: str | None = Field(None, description="of the branch: 1 to 128 characters; default: a UUIDv7")
    title: str | None = Field(None, max_length=TITLE_MAX, description="default: the conversation's own")
    shares: Literal["none", "read", "write"] | None = Field(
        None,
        description="a sub-agent speaks in the branch; besides the messages up to `at` it shares with its parent:"
        " nothing; what the parent reads; or the parent's other conversations find what is said in it too",
    )


class ReportBody(RequestModel):
    """The result of a sub-agent or a branch."""

    text: str | None = Field(None, min_length=1, description="the result, in words of its own")
    at: int | str | None = Field(
        None, description="or the answer that is the result, by `seq` or id; default: the newest message"
    )


class Reported(BaseModel):
    """The message in the parent."""

    conversation_id: str = Field(description="the parent")
    message_id: UUID
    seq: int
    page: int


class Branch(BaseModel):
    """A branch in a list."""

    id: str
    parent_id: str = Field(description="the conversation that holds the last message that they share")
    forked_after: int = Field(description="the `seq` of that message")
    title: str | None
    messages: int
    pages: int
    created_at: datetime
    updated_at: datetime


class BranchList(BaseModel):
    """The branches of a tree."""

    trunk: str
    shown: str
    items: list[Branch]
    next_cursor: str | None
