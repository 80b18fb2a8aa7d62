"""The page of a person: what is kept in mind for them, since when, where it was said, and what waits for a decision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final
from uuid import UUID

from asyncpg import Record
from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import RedirectResponse, Response

from app import errors
from app.api.http import cursors
from app.api.http.path_ids import SLASH, check_id
from app.api.http.runtime import Wired
from app.core.kept import Status
from app.core.search.narrowing import EVERYTHING
from app.postgres.transactions import ReadTx
from app.services.memory import listing, revising
from app.services.memory.revising import Change
from app.store.memory import kept
from app.store.memory.remembered import Held
from app.ui.forms import read_form
from app.ui.html import HtmlRoute, addresses, page
from app.ui.session import Viewer, Viewing, check_own_user, require_write

router = APIRouter(prefix="/ui", include_in_schema=False, route_class=HtmlRoute)

MEMORIES_SHOWN: Final = 50
VERSIONS_SHOWN: Final = 10
"""Earlier values shown of a key."""
DECISIONS: Final[Mapping[str, Status]] = {"held": "held", "refused": "refused"}


async def _person(viewer: Viewing, user_id: str) -> str:
    """Return the user in the path. Raises Invalid, and NotFound for one that the key does not see."""
    person = check_id(user_id.replace(SLASH, "/"), ["path", "user_id"])
    check_own_user(viewer, person)
    return person


Person = Annotated[str, Depends(_person)]


@router.get("/people/{user_id}")
async def person_page(
    request: Request,
    runtime: Wired,
    viewer: Viewing,
    user_id: Person,
    cursor: Annotated[str | None, Query(max_length=500)] = None,
) -> Response:
    after = cursors.decode_id(cursor)
    async with runtime.database.snapshot(viewer.tenant) as tx:
        held, last = await _memories(tx, viewer, user_id, Held(pinned=True), after)
        proposed, last_proposed = await _memories(tx, viewer, user_id, Held("proposed"), None)
    return await page(
        request, "person.html", section="conversations", viewer=viewer, person=user_id, held=held, proposed=proposed,
        older=cursors.encode(last) if last else None, is_first=cursor is None, more_proposed=last_proposed is not None,
    )  # fmt: skip


async def _memories(
    tx: ReadTx, viewer: Viewer, person: str, held: Held, after: UUID | None
) -> tuple[list[dict[str, Any]], str | None]:
    """Return memories in the view of a person, newest first, and the id of the last one if there are more."""
    rows = await listing.browse(
        tx, person, None, EVERYTHING, sensitive=viewer.sensitive, after=after, limit=MEMORIES_SHOWN + 1, held=held
    )
    items = [await _shown(tx, viewer, row) for row in rows[:MEMORIES_SHOWN]]
    return items, items[-1]["memory_key"] if len(rows) > MEMORIES_SHOWN else None


async def _shown(tx: ReadTx, viewer: Viewer, row: Record) -> dict[str, Any]:
    """Return a memory with the page of its message, and what its key said before."""
    item = {**listing.view(row), "page": row["page"], "earlier": []}
    if row["named"] is None:
        return item
    versions = await kept.versions(tx, row["id"], (row["valid_from"], row["id"]), VERSIONS_SHOWN)
    told = [one for one in versions if one["status"] == "held" and (viewer.sensitive or not one["sensitive"])]
    ends = [row["valid_from"] if row["status"] == "held" else None, *(one["valid_from"] for one in told)]
    return {**item, "earlier": [listing.version(*one) for one in zip(told, ends, strict=False)]}


@router.post("/people/{user_id}/proposals")
async def decide(request: Request, runtime: Wired, viewer: Viewing, user_id: Person) -> Response:
    """Accept or refuse a proposal. Idempotent."""
    form = await read_form(request)
    require_write(viewer)
    status = DECISIONS.get(form.get("status", ""))
    if status is None:
        raise errors.Invalid(errors=[{"loc": ["body", "status"], "msg": "must be held or refused"}])
    try:
        memory = UUID(form.get("memory", ""))
    except ValueError as error:
        raise revising.unknown() from error
    async with runtime.database.begin(viewer.tenant) as tx:
        _, before = await revising.change(
            runtime, tx, memory, Change(status=status), bound_to=viewer.user_id, sensitive=viewer.sensitive
        )
    if before["conversation_id"] is not None:
        runtime.caches.forget_conversation(viewer.tenant, before["conversation_id"])
    return RedirectResponse(addresses(request)("people", user_id), 303)
