"""API keys."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, Field

from app.api.http.body import RequestModel
from app.api.http.times import Time
from app.core.edge.caller import KeyScope
from app.core.edge.limits import LIMIT_MAX


class KeyLimitBody(RequestModel):
    """A key's own limit."""

    requests_per_minute: int | None = Field(
        None, ge=0, le=LIMIT_MAX, description="its own limit, over all processes; null: the deployment's, 0: unlimited"
    )


class KeyBody(KeyLimitBody):
    """A key to create."""

    name: str = Field(min_length=1, max_length=200, description="a name to recognise it by")
    scopes: list[KeyScope] = Field(default=["read", "write"], min_length=1, max_length=10)
    user_id: str | None = Field(None, description="the only user that it can see; default: all users")
    space_id: str | None = Field(None, description="or the only space, of which it is a member that writes")
    expires_at: Time | None = Field(None, description="time from which it is invalid")
    confirm_require_keys: bool = Field(
        False, description="true for the deployment's first key: from then on every request needs a key"
    )


class Key(BaseModel):
    """A key, without its secret."""

    id: UUID
    prefix: str = Field(description="beginning of the key")
    name: str
    scopes: list[KeyScope]
    user_id: str | None
    space_id: str | None = Field(description="the space that it is bound to")
    requests_per_minute: int | None
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None = Field(description="rounded to a minute")


class NewKeyRequest(Key):
    key: str | None = Field(description="the full key; null in the response to a repeated request")
    note: str | None = Field(None, description="what the first key cannot do")
