"""Spaces and their members."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from app.api.http.body import RequestModel
from app.core.messages import ID_MAX, TITLE_MAX
from app.services.spaces import MEMBERS_MAX, PARTICIPANTS_MAX

Name = Annotated[str, Field(min_length=1, max_length=ID_MAX)]
Right = Literal["read", "write"]


class SpaceChange(RequestModel):
    """Changeable fields of a space. Omitted ones stay."""

    name: str | None = Field(None, max_length=TITLE_MAX)
    participants: dict[Name, Name] | None = Field(
        None, max_length=PARTICIPANTS_MAX, description="members by the `name` that messages give them"
    )
    metadata: dict[str, Any] | None = None


class SpaceCreate(SpaceChange):
    """A new space. A caller that sees one user only becomes its first member, and writes."""

    id: str | None = Field(None, description="1 to 128 characters; default: a UUIDv7")
    members: dict[Name, Right] = Field({}, max_length=MEMBERS_MAX, description="its first members, by user id")


class Space(BaseModel):
    """A team, a project, an agent or a group with what it shares."""

    id: str
    name: str | None
    participants: dict[str, str]
    metadata: dict[str, Any]
    created_at: datetime


class MemberBody(RequestModel):
    """The right of a member."""

    right: Right = "write"


class Member(BaseModel):
    """A member of a space."""

    user_id: str
    right: Right
    created_at: datetime


class MemberRemoved(BaseModel):
    user_id: str
    conversations: int = Field(description="conversations of the user that could read the space, and no longer do")
