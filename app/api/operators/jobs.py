"""Background jobs: counts, dead letters, and retries."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query
from starlette.responses import Response

from app import errors
from app.api.http import cursors
from app.api.http.answers import json_text, json_value
from app.api.http.callers import Admin
from app.api.http.cursors import Cursor
from app.api.http.runtime import Wired
from app.api.http.writes import WriteByAdmin
from app.api.schemas import work as schemas
from app.core.canonical import dumps
from app.postgres.transactions import Tx
from app.queue import table
from app.services.idempotency import StoredResponse
from app.services.views import progress

router = APIRouter(tags=["jobs"])


@router.get("/jobs", response_model=schemas.JobsResponse)
async def list_jobs(
    runtime: Wired,
    caller: Admin,
    cursor: Cursor = None,
    limit: Annotated[int, Query(ge=1, le=200, description="maximum number of dead letters")] = 50,
) -> Response:
    """Get background work in numbers, by lane, with model usage, and list the dead letters.

    A dead letter runs again when you retry it or when its subject changes.
    """
    caller.require_all_users()
    after = cursors.decode_id(cursor)
    async with runtime.database.snapshot(caller.tenant) as tx:
        numbers = await progress.jobs_view(runtime, tx)
        rows = await table.dead_letters(tx, after, limit + 1)
    items = [progress.job_view(row) for row in rows[:limit]]
    next_cursor = cursors.encode(items[-1]["id"]) if len(rows) > limit else None
    return json_value({**numbers, "items": items, "next_cursor": next_cursor})


@router.post("/jobs/{job_id}/retry", response_model=schemas.Job)
async def retry_job(write: WriteByAdmin, job_id: UUID) -> Response:
    """Retry a dead letter at once, with a fresh count of attempts. A job that is not dead stays unchanged.

    Finished jobs are removed and answer 404. The request has no body.
    """
    write.caller.require_all_users()

    async def work(tx: Tx) -> StoredResponse:
        row = await table.retry(tx, job_id)
        if row is None:
            raise errors.NotFound("There is no such job. Finished jobs are removed.")
        return StoredResponse(dumps(progress.job_view(row)))

    return json_text(await write.once(work))
