"""Spaces: memory that several users share."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query
from starlette.responses import Response, StreamingResponse

from app.api.http import cursors
from app.api.http.answers import json_text, json_value, list_of, page_of
from app.api.http.body import json_body, require_storable
from app.api.http.callers import Reader
from app.api.http.cursors import Cursor, Limit
from app.api.http.path_ids import SLASH, check_id
from app.api.http.runtime import Wired
from app.api.http.writes import Write
from app.api.schemas import conversations as schemas_of_conversations
from app.api.schemas import spaces as schemas
from app.api.schemas.conversations import metadata_text
from app.api.users import LINES, streamed
from app.core.canonical import dumps
from app.core.scope import Scope
from app.ids import uuid7
from app.postgres.transactions import Tx
from app.services import spaces as service
from app.services.idempotency import StoredResponse
from app.services.lifecycle import erasing_whole, exporting
from app.services.lifecycle.exporting import Export
from app.store import spaces
from app.store.spaces import NewSpace

router = APIRouter(tags=["spaces"])


async def _space_id(space_id: Annotated[str, Path(description="1 to 128 characters", examples=["team"])]) -> str:
    return check_id(space_id.replace(SLASH, "/"), ["path", "space_id"])


async def _user(user: Annotated[str, Path(description="a user id", examples=["sam"])]) -> str:
    return check_id(user.replace(SLASH, "/"), ["path", "user"])


SpaceId = Annotated[str, Depends(_space_id)]
User = Annotated[str, Depends(_user)]


def _response_of(space_id: str, value: dict[str, Any]) -> StoredResponse:
    return StoredResponse(dumps(value), Scope("space", space_id).owner)


@router.post(
    "/spaces",
    status_code=201,
    response_model=schemas.Space,
    openapi_extra=json_body(schemas.SpaceCreate, {"id": "team", "name": "The team", "members": {"me": "write"}}),
)
async def create_space(write: Write) -> Response:
    """Create a space. The id can be your own; 409 if it is taken."""
    body = await write.body(schemas.SpaceCreate)
    space_id = check_id(body.id, ["body", "id"]) if body.id is not None else str(uuid7())
    for user_id in body.members:
        check_id(user_id, ["body", "members", user_id])
    members = dict(body.members)
    if write.caller.space_id is not None:
        write.caller.require_all_users()
    if write.caller.user_id is not None:
        members[write.caller.user_id] = "write"
    new = NewSpace(space_id, **_changes(body))

    async def work(tx: Tx) -> StoredResponse:
        return _response_of(space_id, service.view(await service.create(tx, new, members)))

    return json_text(await write.once(work), status=201)


def _changes(body: schemas.SpaceChange) -> dict[str, Any]:
    require_storable("body", name=body.name, participants=[*(body.participants or {})])
    given = body.model_fields_set
    changes: dict[str, Any] = {"name": body.name} if "name" in given else {}
    if "participants" in given:
        changes["participants"] = service.participants_text(body.participants or {})
    if "metadata" in given:
        changes["metadata"] = metadata_text(body.metadata)
    return changes


@router.get("/spaces", response_model=list_of("SpaceList", schemas.Space))
async def list_spaces(
    runtime: Wired,
    caller: Reader,
    user_id: Annotated[
        str | None, Query(max_length=128, description="only spaces that the user is a member of")
    ] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response:
    """List spaces by id. A caller that sees one user only gets that user's."""
    require_storable("query", user_id=user_id)
    user, after = caller.user(user_id, ("query", "user_id")), cursors.decode_text(cursor)
    async with runtime.database.snapshot(caller.tenant) as tx:
        rows = await spaces.browse(tx, user, after, limit + 1)
    return page_of([service.view(row) for row in rows], limit, "id")


@router.get("/spaces/{space_id}", response_model=schemas.Space)
async def get_space(runtime: Wired, caller: Reader, space_id: SpaceId) -> Response:
    """Get a space."""
    async with runtime.database.snapshot(caller.tenant) as tx:
        return json_value(service.view(await spaces.get(tx, space_id, caller.user_id)))


@router.patch(
    "/spaces/{space_id}",
    response_model=schemas.Space,
    openapi_extra=json_body(schemas.SpaceChange, {"participants": {"Lin": "me"}}),
)
async def change_space(write: Write, space_id: SpaceId) -> Response:
    """Change a space's name, participants or metadata. Omitted fields stay unchanged."""
    changes = _changes(await write.body(schemas.SpaceChange))

    async def work(tx: Tx) -> StoredResponse:
        return _response_of(space_id, service.view(await service.change(tx, space_id, changes, write.caller.user_id)))

    return json_text(await write.once(work))


@router.delete("/spaces/{space_id}", response_model=schemas_of_conversations.ErasureResponse)
async def delete_space(write: Write, space_id: SpaceId) -> Response:
    """Erase a space with its conversations, archives, memories and memberships. Returns the number of rows per table.

    Each conversation is erased in its own transaction. If the request is cut off, repeat it: it continues where it
    stopped.
    """

    async def work() -> str:
        async with write.runtime.database.snapshot(write.caller.tenant) as tx:
            await spaces.get(tx, space_id, write.caller.user_id, right="write")
        done = await erasing_whole.erase_space(write.runtime, write.caller.tenant, space_id)
        return dumps({"id": space_id, **done.view})

    return json_text(await write.by_steps(work))


@router.get("/spaces/{space_id}/export", response_class=StreamingResponse, responses=LINES)
async def export_space(runtime: Wired, caller: Reader, space_id: SpaceId) -> Response:
    """Export a space with its members, conversations, archives and memories as lines for `POST /import`."""
    async with runtime.database.snapshot(caller.tenant) as tx:
        await spaces.get(tx, space_id, caller.user_id)
    return await streamed(exporting.space(Export(runtime, caller.tenant, caller.sensitive), space_id))


@router.get("/spaces/{space_id}/members", response_model=list_of("MemberList", schemas.Member))
async def list_members(
    runtime: Wired, caller: Reader, space_id: SpaceId, cursor: Cursor = None, limit: Limit = 50
) -> Response:
    """List the members of a space by user id."""
    after = cursors.decode_text(cursor)
    async with runtime.database.snapshot(caller.tenant) as tx:
        await spaces.get(tx, space_id, caller.user_id)
        rows = await spaces.members(tx, space_id, after, limit + 1)
    return page_of([service.member_view(row) for row in rows], limit, "user_id")


@router.put(
    "/spaces/{space_id}/members/{user}",
    response_model=schemas.Member,
    openapi_extra=json_body(schemas.MemberBody, {"right": "read"}),
)
async def put_member(write: Write, space_id: SpaceId, user: User) -> Response:
    """Make a user a member of a space, or change what they may do. 409 if nobody who writes would be left."""
    right = (await write.body(schemas.MemberBody)).right

    async def work(tx: Tx) -> StoredResponse:
        row = await service.put_member(tx, space_id, user, right, write.caller.user_id)
        return _response_of(space_id, service.member_view(row))

    return json_text(await write.once(work))


@router.delete("/spaces/{space_id}/members/{user}", response_model=schemas.MemberRemoved)
async def remove_member(write: Write, space_id: SpaceId, user: User) -> Response:
    """Remove a member: from the next request on they see nothing of the space. 409 for the last one who writes."""

    async def work(tx: Tx) -> StoredResponse:
        left = await service.remove_member(tx, space_id, user, write.caller.user_id)
        return _response_of(space_id, {"user_id": user, "conversations": left})

    return json_text(await write.once(work))
