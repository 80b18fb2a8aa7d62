"""The log of reads and erasures."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query
from starlette.responses import Response

from app.api.http import cursors
from app.api.http.answers import list_of, page_of
from app.api.http.callers import Admin
from app.api.http.cursors import Cursor
from app.api.http.runtime import Wired
from app.api.http.times import Time
from app.api.schemas import audit as schemas
from app.core.edge.audit import Action
from app.core.messages import ID_MAX
from app.services.audit import view
from app.store.operators import audit

router = APIRouter(tags=["audit"])

LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


@router.get("/audit", response_model=list_of("AuditList", schemas.AuditEntryView))
async def get_audit(
    runtime: Wired,
    caller: Admin,
    since: Annotated[Time | None, Query()] = None,
    action: Annotated[Action | None, Query()] = None,
    user_id: Annotated[str | None, Query(max_length=ID_MAX, description="whom callers were bound to")] = None,
    cursor: Cursor = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> Response:
    """List who read or erased what, the oldest first. Empty unless QUIRE_AUDIT is set."""
    caller.require_all_users()
    after = cursors.decode_id(cursor) or UUID(int=0)
    async with runtime.database.snapshot(caller.tenant) as tx:
        rows = await audit.browse(tx, after, since or LONG_AGO, action, user_id, limit + 1)
    return page_of([view(*row) for row in rows], limit, "id")
