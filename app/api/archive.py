"""Archives: large tool results, kept whole."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from app import errors
from app.api.http import cursors, links
from app.api.http.answers import json_text, list_of, long_json_value, page_of
from app.api.http.body import json_body, require_storable
from app.api.http.callers import Reader
from app.api.http.cursors import Cursor, Limit
from app.api.http.path_ids import check_ids
from app.api.http.runtime import Wired
from app.api.http.times import Time
from app.api.http.writes import Write
from app.api.schemas import archive as schemas
from app.concurrency import run_in_thread_if_large
from app.core.canonical import dumps
from app.core.edge.caller import Caller
from app.core.line import named
from app.core.messages import Limits
from app.core.model import INTEGER_MAX
from app.postgres.transactions import Tx
from app.services import limits as storage
from app.services.idempotency import StoredResponse
from app.services.lifecycle import erasing
from app.services.lifecycle.erasing import ErasingTx
from app.services.memory import archiving, querying, views
from app.services.memory.archiving import ArchivePart, ArchiveRequest
from app.store import archives, conversations
from app.store.archives import ArchiveFilter

router = APIRouter(tags=["archive"])

EXAMPLE = {"user_id": "me", "tool_name": "web_search", "tool_input": {"q": "tea in Hangzhou"}, "result": "…"}


@router.post(
    "/archive",
    status_code=201,
    response_model=schemas.Archive,
    responses=links.ARCHIVED,
    openapi_extra=json_body(schemas.ArchiveBody, EXAMPLE),
)
async def archive_result(write: Write) -> Response:
    """Archive one tool result outside any message list, for agents that keep their own history.

    Show the model `placeholder` instead of the result. A result up to the archive threshold is passed through:
    `archived` is false and `placeholder` is the result itself.
    """
    body = await write.body(schemas.ArchiveBody)
    request_ = _request_of(write.caller, body, write.runtime.defaults.limits)

    await storage.require_room(write.runtime, write.caller.tenant, request_.user_id)
    prepared = await archiving.prepare(write.runtime, write.caller.tenant, request_)

    async def work(tx: Tx) -> StoredResponse:
        answer, conversation = await archiving.archive(write.runtime, tx, request_, prepared)
        text = await run_in_thread_if_large(len(request_.result), dumps, answer)
        return StoredResponse.about(text, conversation, request_.user_id)

    return json_text(await write.once(work), status=201)


def _request_of(caller: Caller, body: schemas.ArchiveBody, limits: Limits) -> ArchiveRequest:
    user_id = caller.user(body.user_id)
    if user_id is None and body.conversation_id is None:
        raise errors.Invalid.at(["body", "user_id"], "or `conversation_id` is required")
    check_ids("body", user_id=body.user_id, conversation_id=body.conversation_id)
    require_storable("body", tool_name=body.tool_name, sources=body.sources)
    tool_input = archiving.input_text(body.tool_input)
    for name, text, longest in (
        ("tool_input", tool_input, limits.message_chars), ("result", body.result, limits.result_chars),
    ):  # fmt: skip
        if len(text) > longest:
            raise errors.PayloadTooLarge.at(["body", name], f"must have at most {longest} characters, not {len(text)}")
    if body.expires_at is not None and body.expires_at <= datetime.now(UTC):
        raise errors.Invalid.at(["body", "expires_at"], "must be in the future")
    return ArchiveRequest(
        tool_name=body.tool_name,
        tool_input=tool_input,
        result=body.result,
        user_id=user_id,
        conversation_id=body.conversation_id,
        sources=tuple(body.sources),
        expires_at=body.expires_at,
        bound_to=caller.user_id,
    )


def _filter(
    conversation_id: Annotated[str | None, Query(max_length=128)] = None,
    user_id: Annotated[str | None, Query(max_length=128)] = None,
    tool_name: Annotated[str | None, Query(max_length=256)] = None,
    since: Time | None = None,
    until: Time | None = None,
) -> ArchiveFilter:
    require_storable("query", conversation_id=conversation_id, user_id=user_id, tool_name=tool_name)
    return ArchiveFilter(conversation_id, user_id, tool_name, since, until)


@router.get("/archive", response_model=list_of("ArchiveList", schemas.Archive))
async def list_archives(
    runtime: Wired,
    caller: Reader,
    where: Annotated[ArchiveFilter, Depends(_filter)],
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response:
    """List archives, newest first, without their content."""
    where = replace(where, user_id=caller.user(where.user_id, ("query", "user_id")))
    async with runtime.database.snapshot(caller.tenant) as tx:
        if where.conversation_id is not None:
            known = await conversations.find(tx, named(where.conversation_id), bound_to=caller.user_id)
            where = replace(where, conversation_id=known.id if known is not None else where.conversation_id)
        rows = await archives.browse(tx, where, after=cursors.decode_id(cursor), limit=limit + 1)
    return page_of([archiving.view(row) for row in rows], limit, "uuid")


@router.get("/archive/{uuid}", response_model=schemas.Archive)
async def get_archive(
    runtime: Wired,
    caller: Reader,
    uuid: UUID,
    query: Annotated[
        str | None, Query(max_length=10_000, description="return the passages relevant to this text")
    ] = None,
    max_tokens: Annotated[
        int | None, Query(ge=1, le=1_000_000, description="maximum for the content or the passages")
    ] = None,
    offset: Annotated[int, Query(ge=0, le=INTEGER_MAX - 1, description="first character to return")] = 0,
    length: Annotated[int | None, Query(ge=1, le=INTEGER_MAX, description="characters to return")] = None,
) -> Response:
    """Read an archive: whole, a range of characters, or the passages relevant to a query in reading order."""
    ready = await querying.prepare(runtime, caller.tenant, query) if query and query.strip() else None
    part = ArchivePart(ready, max_tokens, offset, length)
    async with runtime.database.snapshot(caller.tenant) as tx:
        loaded = await archiving.load(tx, await views.of_caller(tx, caller.user_id), uuid, part)
    loaded = errors.existing(loaded, "archive")
    return await long_json_value(await archiving.shown(runtime, loaded))


@router.delete("/archive/{uuid}", response_model=schemas.ArchiveErased)
async def delete_archive(write: Write, uuid: UUID) -> Response:
    """Erase an archive. From now on its placeholder says so in every window. Other archives of the same content
    stay.
    """

    async def work(tx: Tx) -> StoredResponse:
        owner, done = await erasing.erase_archive(ErasingTx(write.runtime, tx), uuid, write.caller.scope)
        return StoredResponse(dumps({"uuid": str(uuid), **done.view}), owner)

    return json_text(await write.once(work))
