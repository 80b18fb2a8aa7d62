"""Conversations, their settings, and what erasing returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, get_type_hints

from pydantic import BaseModel, Field, create_model

from app import errors
from app.api.http.body import RequestModel
from app.api.schemas.windows import Budget
from app.core.canonical import dumps
from app.core.messages import METADATA_MAX, MODEL_MAX, TITLE_MAX
from app.core.model import Policy
from app.core.setting import settings_of
from app.core.window.profile import Defaults, policy_of, unfit_shares
from app.services.conversations.placing import SPACES_READ_MAX


def _overrides(model: type[RequestModel]) -> type[RequestModel]:
    """Return the model with the settings of the policy, each optional and within the bounds of an override."""
    kinds = get_type_hints(Policy)
    members: dict[str, Any] = {
        name: (kinds[name] | None, Field(None, ge=own.ge, le=own.le, description=own.description))
        for name, (variable, _) in settings_of(Policy).items()
        if (own := variable.own) is not None
    }
    return create_model(model.__name__, __base__=model, __module__=model.__module__, __doc__=model.__doc__, **members)


@_overrides
class PolicyOverrides(RequestModel):
    """Paging settings of one conversation. Omitted ones follow the deployment."""


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
    space_id: str | None = Field(None, description="the space that it belongs to, instead of a user")
    spaces: list[str] = Field(
        [], max_length=SPACES_READ_MAX, description="spaces that the user's conversation reads; the user is a member"
    )
    parent: str | None = Field(None, description="the conversation whose sub-agent speaks here; its user is the user")
    shares: Literal["none", "read", "write"] = Field(
        "read",
        description="what a sub-agent's shares with its parent: nothing; it reads what the parent reads; or the parent"
        " and its other conversations find what is said here too",
    )


class ConversationItem(BaseModel):
    """A conversation in a list."""

    id: str
    user_id: str | None
    space_id: str | None
    title: str | None
    model: str | None
    budget: int | None
    metadata: dict[str, Any]
    messages: int
    pages: int
    tokens: int
    created_at: datetime
    updated_at: datetime


class ConversationResponse(ConversationItem):
    """A conversation."""

    parent: str | None
    system: str | None
    token_percent: int = Field(description="what the model's API reported, in percent of what was expected")
    settings: dict[str, Any]
    epoch: int
    language: str | None
    parent_id: str | None = Field(description="of a branch: the conversation that holds the last message they share")
    forked_after: int | None = Field(description="the `seq` of that message")


Certificates = Annotated[
    list[dict[str, Any]],
    Field(description="signed lines of an export; importing one into a restored backup erases the same again"),
]


class ErasureResponse(BaseModel):
    """Deleted rows per table."""

    id: str
    erased: dict[str, int]
    certificates: Certificates = []


class ConversationErased(ErasureResponse):
    """An erased conversation."""

    carried: int = Field(description="memories that it had given to its user: erased, unless `keep_memories`")


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


# --- As they are stored ---------------------------------------------------------------------------------------

ZONES = ("head_share", "condensed_share", "keep_share")


def policy_text(defaults: Defaults, overrides: PolicyOverrides | None, loc: Sequence[str | int]) -> str:
    """Return the overrides as JSON text. Raises Invalid where the shares leave the window no room to grow."""
    given = overrides.model_dump(exclude_none=True) if overrides else {}
    wrong = [name for name in ZONES if name in given]
    if wrong and (problem := unfit_shares(policy_of(defaults, given))):
        raise errors.Invalid(
            "The shares of the window are too large.", errors=[{"loc": [*loc, name], "msg": problem} for name in wrong]
        )
    return dumps(given)


def metadata_text(metadata: Mapping[str, Any] | None) -> str:
    """Return a caller's own metadata as JSON text. Raises Invalid where it is too long."""
    text = dumps(metadata or {})
    if len(text) > METADATA_MAX:
        raise errors.Invalid.at(["body", "metadata"], f"must have at most {METADATA_MAX} characters as JSON")
    return text
