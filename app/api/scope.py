"""Whose data a request is about."""

from typing import Annotated
from uuid import UUID

from fastapi import Depends, Header

from app.tenancy import DEFAULT_TENANT


async def _tenant() -> UUID:
    return DEFAULT_TENANT


Tenant = Annotated[UUID, Depends(_tenant)]

IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        description="Sent again with the same request, the write is done once and answered alike for 24 hours.",
    ),
]
