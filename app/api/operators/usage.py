"""Model usage by user, conversation, model or tenant."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from starlette.responses import Response

from app.api.http import cursors
from app.api.http.answers import json_value
from app.api.http.callers import Admin
from app.api.http.cursors import Cursor
from app.api.http.runtime import Wired
from app.api.http.times import Time
from app.api.schemas import usage as schemas
from app.core.times import time_text
from app.services.views.usage import usage_items
from app.store import spending
from app.store.operators import limits

router = APIRouter(tags=["usage"])

SINCE = timedelta(days=30)
NAMES = {"user": "user_id", "conversation": "conversation_id", "model": "model", "tenant": "tenant"}


@router.get("/usage", response_model=schemas.UsageList)
async def get_usage(
    runtime: Wired,
    caller: Admin,
    by: Annotated[Literal["user", "tenant", "conversation", "model"], Query()] = "tenant",
    since: Annotated[Time | None, Query(description="counts from this day (UTC) on; default: 30 days ago")] = None,
    cursor: Cursor = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> Response:
    """Get calls and tokens of models, what their caches saved, and what that costs.

    Counts whole days. Usage of erased conversations counts for the tenant and its models only.
    """
    caller.require_all_users()
    now = datetime.now(UTC)
    day = (since or now - SINCE).astimezone(UTC).date()
    first = cursors.decode_text(cursor) or ""
    stored: Mapping[str, int] = {}
    async with runtime.database.snapshot(caller.tenant) as tx:
        rows = await spending.since(tx, by, day, first, limit + 1)
        if by == "user":
            stored = await limits.bytes_by_user(tx, first, limit + 1)
        elif by == "tenant" and (total := await limits.tenant_bytes(tx)) is not None:
            stored = {"": total}
    items = usage_items(rows, NAMES[by], runtime.proxying.prices, stored)
    more = cursors.encode(items[limit][NAMES[by]] or "") if len(items) > limit else None
    for item in items:
        item.pop("tenant", None)
    return json_value(
        {"by": by, "since": day.isoformat(), "until": time_text(now), "items": items[:limit], "next_cursor": more}
    )
