"""The page of a person or a space: what is kept in mind, since when, where it was said, and what awaits a decision."""

from __future__ import annotations

from typing import Annotated, Any, Final
from uuid import UUID

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from app.api.http import cursors
from app.api.http.runtime import Wired
from app.api.spaces import SpaceId
from app.api.users import UserId
from app.core.scope import SPACE
from app.core.search.narrowing import EVERYTHING
from app.core.window.kept import StoredMemory
from app.postgres.transactions import ReadTx
from app.services import spaces
from app.services.memory import listing
from app.services.memory.listing import Holder
from app.store import conversation_list
from app.store import spaces as stored_spaces
from app.store.memory import kept
from app.store.memory.remembered import Held
from app.ui.html import HtmlRoute, page
from app.ui.session import Viewer, Viewing, check_own_user

router = APIRouter(prefix="/ui", include_in_schema=False, route_class=HtmlRoute)

MEMORIES_SHOWN: Final = 50
MEMBERS_SHOWN: Final = 100
VERSIONS_SHOWN: Final = 10
"""Earlier values shown of a key."""


Cursor = Annotated[str | None, Query(max_length=500)]


@router.get("/people")
async def people_page(request: Request, runtime: Wired, viewer: Viewing) -> Response:
    async with runtime.database.snapshot(viewer.tenant) as tx:
        users = [viewer.user_id] if viewer.user_id is not None else await conversation_list.recent_users(tx)
        found = await stored_spaces.browse(tx, viewer.user_id, None, MEMBERS_SHOWN)
    return await page(
        request, "people.html", section="people", viewer=viewer, users=users, spaces=found, spaces_max=MEMBERS_SHOWN
    )


@router.get("/people/{user_id}")
async def person_page(
    request: Request, runtime: Wired, viewer: Viewing, user_id: UserId, cursor: Cursor = None
) -> Response:
    check_own_user(viewer, user_id)
    async with runtime.database.snapshot(viewer.tenant) as tx:
        found = await _both(tx, viewer, user_id, None, cursor)
    return await page(request, "person.html", section="people", viewer=viewer, kind="people", person=user_id, **found)


@router.get("/spaces/{space_id}")
async def space_page(
    request: Request, runtime: Wired, viewer: Viewing, space_id: SpaceId, cursor: Cursor = None
) -> Response:
    async with runtime.database.snapshot(viewer.tenant) as tx:
        space = spaces.view(await stored_spaces.get(tx, space_id, viewer.user_id))
        members = await stored_spaces.members(tx, space_id, None, MEMBERS_SHOWN + 1)
        found = await _both(tx, viewer, viewer.user_id, f"{SPACE}{space_id}", cursor)
    named: dict[str, list[str]] = {}
    for name, user_id in space["participants"].items():
        named.setdefault(user_id, []).append(name)
    return await page(
        request, "person.html", section="people", viewer=viewer, kind="spaces", person=space_id, space=space,
        members=members[:MEMBERS_SHOWN], more_members=len(members) > MEMBERS_SHOWN, named=named, **found,
    )  # fmt: skip


async def _both(
    tx: ReadTx, viewer: Viewer, user_id: str | None, scope: str | None, cursor: str | None
) -> dict[str, Any]:
    """Return what is kept in mind of a person, or of a scope that a viewer may see, and what is proposed."""
    held, last = await _memories(tx, viewer, user_id, scope, Held(pinned=True), cursors.decode_id(cursor))
    proposed, last_proposed = await _memories(tx, viewer, user_id, scope, Held("proposed"), None)
    older = cursors.encode(last) if last else None
    more_proposed = last_proposed is not None
    return {
        "held": held, "proposed": proposed, "older": older, "is_first": cursor is None, "more_proposed": more_proposed,
    }  # fmt: skip


async def _memories(
    tx: ReadTx, viewer: Viewer, user_id: str | None, scope: str | None, held: Held, after: UUID | None
) -> tuple[list[dict[str, Any]], str | None]:
    rows = await listing.browse(
        tx, Holder(user_id, scope=scope), EVERYTHING, held,
        sensitive=viewer.sensitive, after=after, limit=MEMORIES_SHOWN + 1,
    )  # fmt: skip
    items = [await _memory_item(tx, viewer, *one) for one in rows[:MEMORIES_SHOWN]]
    return items, items[-1]["memory_key"] if len(rows) > MEMORIES_SHOWN else None


async def _memory_item(tx: ReadTx, viewer: Viewer, row: StoredMemory, shown: str) -> dict[str, Any]:
    """Return a memory with the page of its message, and what its key said before."""
    item = {**listing.view(row, shown), "page": row.page, "earlier": []}
    if row.key is None:
        return item
    versions = await kept.versions(tx, row.id, (row.valid_from, row.id), VERSIONS_SHOWN)
    told = [one for one in versions if one.status == "held" and (viewer.sensitive or not one.sensitive)]
    return {**item, "earlier": [listing.version(one) for one in told]}
