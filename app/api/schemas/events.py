"""Events and webhooks."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, Field

from app.api.http.body import RequestModel
from app.core.edge.addresses import URL_MAX
from app.core.edge.webhooks import EVENT_TYPES, EventType


class WebhookBody(RequestModel):
    """A webhook to add."""

    url: str = Field(max_length=URL_MAX, description="where events are posted; redirects are not followed")
    types: list[EventType] = Field(default=[], max_length=len(EVENT_TYPES), description="event types; empty: all")


class Webhook(BaseModel):
    """A webhook, without its secret."""

    id: UUID
    url: str
    types: list[EventType]
    last_status: str | None = Field(description="`delivered`, or why the latest delivery failed")
    failing_since: datetime | None
    disabled_at: datetime | None = Field(description="set: it failed for three days or answered 410, and gets no more")
    created_at: datetime


class NewWebhook(Webhook):
    secret: str | None = Field(description="to verify signatures with; null in the response to a repeated request")
