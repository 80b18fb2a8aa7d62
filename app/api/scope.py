"""Whose data a request is about."""

from typing import Annotated
from uuid import UUID

from fastapi import Depends, Header

DEFAULT_TENANT = UUID("00000000-0000-7000-8000-000000000001")
"""The one tenant of a deployment without keys."""


def _tenant() -> UUID:
    return DEFAULT_TENANT


Tenant = Annotated[UUID, Depends(_tenant)]

IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        description="Sent again with the same request, the write is done once and answered alike for 24 hours.",
    ),
]
