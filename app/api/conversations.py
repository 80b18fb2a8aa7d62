"""Conversations and their parts."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Path, Query
from starlette.responses import Response

from app import errors
from app.api.http import cursors, links
from app.api.http.answers import json_text, json_value, list_of, long_json_value, page_of
from app.api.http.body import json_body, require_storable
from app.api.http.callers import Reader
from app.api.http.cursors import Cursor, Limit
from app.api.http.path_ids import ConversationId, check_id, check_ids
from app.api.http.runtime import Wired
from app.api.http.writes import Write, WriteRequest
from app.api.schemas import conversations as schemas
from app.api.schemas.conversations import metadata_text, policy_text
from app.api.schemas.narrowing import listed
from app.api.schemas.parts import ContentsResponse, PageItem, PageResponse, SummaryResponse
from app.api.schemas.proxy import ProxiedRequestList
from app.api.schemas.work import Status
from app.core.canonical import dumps
from app.core.conversation import Conversation
from app.core.edge.caller import Caller
from app.core.line import exact
from app.core.messages import FRAME_TOKENS
from app.core.model import INTEGER_MAX
from app.core.search.narrowing import Narrowing
from app.core.times import time_text
from app.core.window.budget import BUDGET_MAX
from app.ids import uuid7
from app.postgres.transactions import Tx
from app.runtime import Runtime
from app.services.conversations import placing, serving
from app.services.conversations.placing import Place
from app.services.idempotency import StoredResponse
from app.services.lifecycle import erasing, erasing_whole
from app.services.lifecycle.erasing import ErasingTx, Erasure
from app.services.views import inspect, progress
from app.services.views.usage import request_view
from app.store import archives, conversation_list, conversations, messages, spaces
from app.store.conversation_list import ListedConversation
from app.store.conversations import NewConversation
from app.store.memory import kept
from app.store.proxy import proxied_requests

router = APIRouter(tags=["conversations"])


@router.post(
    "/conversations",
    status_code=201,
    response_model=schemas.ConversationResponse,
    responses=links.CONVERSATION_MADE,
    openapi_extra=json_body(
        schemas.ConversationCreate, {"user_id": "me", "title": "Plans", "model": "gpt-4o", "budget": 8000}
    ),
)
async def create_conversation(write: Write) -> Response:
    """Create a conversation. The id can be your own; 409 if it is taken."""
    body = await write.body(schemas.ConversationCreate)
    check_ids("body", user_id=body.user_id)
    body = body.model_copy(update={"user_id": _user(write.caller, body)})
    uid = uuid7()
    wanted = Place(body.space_id, tuple(body.spaces), body.parent, body.shares)
    plain = await _new(write.runtime, check_id(body.id, ["body", "id"]) if body.id is not None else str(uid), uid, body)

    async def work(tx: Tx) -> StoredResponse:
        new = await placing.placed(tx, plain, wanted, write.caller.user_id)
        if not await conversations.create(tx, new):
            raise errors.Conflict.at(["body", "id"], "is taken", "The conversation id is taken.")
        made = await conversations.get(tx, new.id)
        return StoredResponse.about(dumps(inspect.conversation_view(made)), made)

    return json_text(await write.once(work), status=201)


def _user(caller: Caller, body: schemas.ConversationCreate) -> str | None:
    if body.space_id is None:
        return caller.user(body.user_id)
    if body.user_id is not None:
        raise errors.Invalid.at(["body", "user_id"], "must be left out: it belongs to a space")
    check_id(body.space_id, ["body", "space_id"])
    return None


async def _new(runtime: Runtime, conversation_id: str, uid: UUID, body: schemas.ConversationCreate) -> NewConversation:
    require_storable("body", title=body.title, system=body.system, model=body.model)
    return NewConversation(
        id=conversation_id, uid=uid, user_id=body.user_id, title=body.title, system=body.system,
        system_tokens=await runtime.count(body.system) + FRAME_TOKENS if body.system else 0, model=body.model,
        budget=body.budget, policy=policy_text(runtime.defaults, body.settings, ("body", "settings")),
        metadata=metadata_text(body.metadata),
    )  # fmt: skip


@router.get("/conversations", response_model=list_of("ConversationList", schemas.ConversationItem))
async def list_conversations(
    runtime: Wired,
    caller: Reader,
    among: Annotated[Narrowing, Depends(listed)],
    user_id: Annotated[str | None, Query(max_length=128)] = None,
    space_id: Annotated[str | None, Query(max_length=128, description="the conversations of a space")] = None,
    q: Annotated[str | None, Query(max_length=200, description="search titles, page titles and ids")] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response:
    """List conversations, latest activity first. `topics` are those of their pages."""
    after = cursors.decode_time_and_id(cursor)
    require_storable("query", user_id=user_id, space_id=space_id, q=q)
    space_id = caller.space_id if space_id is None and user_id is None else space_id
    user = caller.user(user_id, ("query", "user_id")) if space_id is None or user_id is not None else None
    async with runtime.database.snapshot(caller.tenant) as tx:
        if space_id is not None:
            await spaces.get(tx, space_id, caller.user_id)
        wanted = conversation_list.ConversationFilter(user, q, among, space_id)
        rows = await conversation_list.browse(tx, wanted, after, limit + 1)
    more = rows[limit - 1] if len(rows) > limit else None
    items = [_item(row) for row in rows[:limit]]
    next_cursor = cursors.encode(more.updated_at.isoformat(), more.uid) if more else None
    return json_value({"items": items, "next_cursor": next_cursor})


def _item(row: ListedConversation) -> dict[str, Any]:
    return {
        "id": row.id, "user_id": row.user_id, "space_id": row.space_id, "title": row.title,
        "model": row.model, "budget": row.budget, "metadata": json.loads(row.metadata),
        "messages": row.last_seq, "pages": row.last_page, "tokens": row.history_total,
        "created_at": time_text(row.created_at), "updated_at": time_text(row.updated_at),
    }  # fmt: skip


@router.get("/conversations/{conversation_id}", response_model=schemas.ConversationResponse)
async def get_conversation(runtime: Wired, caller: Reader, conversation_id: ConversationId) -> Response:
    """Get a conversation."""
    async with conversations.snapshot(runtime.database, caller, conversation_id) as (_, conversation):
        return json_value(inspect.conversation_view(conversation))


@router.patch(
    "/conversations/{conversation_id}",
    response_model=schemas.ConversationResponse,
    openapi_extra=json_body(schemas.ConversationChange, {"title": "Plans for the launch", "budget": 16000}),
)
async def change_conversation(write: Write, conversation_id: ConversationId) -> Response:
    """Rename a conversation, or change its system prompt, model, budget, settings or metadata.

    Omitted fields stay unchanged; null resets a field. A changed system prompt, model, budget or setting begins a new
    epoch.
    """
    body = await write.body(schemas.ConversationChange)
    require_storable("body", title=body.title, system=body.system, model=body.model)
    system_tokens = await write.runtime.count(body.system) + FRAME_TOKENS if body.system else 0

    async def work(tx: Tx) -> StoredResponse:
        locked = await conversations.lock(tx, conversation_id, bound_to=write.caller.user_id)
        conversation = errors.existing(locked, "conversation")
        await conversations.change(tx, conversation, _changed(write.runtime, conversation, body, system_tokens))
        updated = await conversations.get(tx, conversation.id)
        return StoredResponse.about(dumps(inspect.conversation_view(updated)), updated)

    return json_text(await write.once(work))


def _changed(
    runtime: Runtime, conversation: Conversation, body: schemas.ConversationChange, system_tokens: int
) -> NewConversation:
    given = body.model_fields_set
    as_sent = {name: getattr(body, name) for name in ("title", "system", "model", "budget") if name in given}
    new = replace(conversations.unchanged(conversation), **as_sent)
    if "system" in given:
        new = replace(new, system_tokens=system_tokens)
    if "settings" in given:
        new = replace(new, policy=policy_text(runtime.defaults, body.settings, ("body", "settings")))
    if "metadata" in given:
        new = replace(new, metadata=metadata_text(body.metadata))
    return new


@router.delete(
    "/conversations/{conversation_id}", response_model=schemas.ConversationErased, responses=links.CONVERSATION_ERASED
)
async def delete_conversation(
    write: Write,
    conversation_id: ConversationId,
    keep_memories: Annotated[bool, Query(description="keep what it gave to its user to be kept in mind")] = False,
    branches: Annotated[Literal["erase"] | None, Query(description="erase what branches off from it too")] = None,
) -> Response:
    """Erase a conversation and everything derived from it. Returns the number of deleted rows per table.

    Text that recall tools brought into the user's other conversations goes too. Of a branch, the messages that it
    shares stay. If others branch off from it, the response is a 409 with their number as `branches`.
    """
    conversation_id = exact(conversation_id)

    async def erase(tx: ErasingTx, conversation: Conversation) -> tuple[dict[str, Any], Erasure]:
        carried = len(await kept.carried_by(tx, conversation.id))
        if keep_memories:
            await kept.leave(tx, conversation.id)
        done = await erasing_whole.erase_tree(tx, conversation, branches_too=branches == "erase")
        return {"id": conversation.id, "carried": carried}, done

    return await erased(write, conversation_id, erase)


@router.delete("/conversations/{conversation_id}/messages/{message}", response_model=schemas.MessageErased)
async def delete_message(
    write: Write,
    conversation_id: ConversationId,
    message: Annotated[str, Path(max_length=64, description="the message's `seq` or `id`")],
) -> Response:
    """Erase a message and everything derived from it. A mark keeps its place, so calls and results stay paired.

    The summary, topics, memories and notes of its page are rebuilt from what remains.
    """

    async def erase(tx: ErasingTx, conversation: Conversation) -> tuple[dict[str, Any], Erasure]:
        seq, done = await erasing.erase_message(tx, conversation, message)
        return {"id": conversation_id, "seq": seq}, done

    return await erased(write, conversation_id, erase)


@router.delete("/conversations/{conversation_id}/pages/{page}", response_model=schemas.PageErased)
async def delete_page(write: Write, conversation_id: ConversationId, page: int) -> Response:
    """Erase every message of a page, and everything derived from them."""
    if not 1 <= page <= INTEGER_MAX:
        raise errors.NotFound("Pages are numbered from 1.")

    async def erase(tx: ErasingTx, conversation: Conversation) -> tuple[dict[str, Any], Erasure]:
        return {"id": conversation_id, "page": page}, await erasing.erase_page(tx, conversation, page)

    return await erased(write, conversation_id, erase)


async def erased(
    write: WriteRequest,
    conversation_id: str,
    erase: Callable[[ErasingTx, Conversation], Awaitable[tuple[dict[str, Any], Erasure]]],
) -> Response:
    """Erase something of a conversation in one transaction; the answer counts rows by table."""
    await serving.write(write.runtime)  # what was served before stands before it in the chain

    async def work(tx: Tx) -> StoredResponse:
        conversation = await erasing.lock(tx, conversation_id, bound_to=write.caller.user_id)
        what, done = await erase(ErasingTx(write.runtime, tx), conversation)
        return StoredResponse.about(dumps({**what, **done.view}), conversation)

    return json_text(await write.once(work))


@router.get("/conversations/{conversation_id}/contents", response_model=ContentsResponse)
async def get_contents(
    runtime: Wired,
    caller: Reader,
    conversation_id: ConversationId,
    budget: Annotated[int | None, Query(ge=1, le=BUDGET_MAX, description="of the window; by default its own")] = None,
) -> Response:
    """Get the contents page, which lists every page out of view under one line.

    `entries` are pages with lines of their own, `chapters` the lines of the others: chapters, volumes of them, or runs
    of pages.
    """
    async with conversations.snapshot(runtime.database, caller, conversation_id) as (tx, conversation):
        return json_value(await inspect.contents_view(runtime, tx, conversation, budget))


@router.get("/conversations/{conversation_id}/pages", response_model=list_of("PageList", PageItem))
async def list_pages(
    runtime: Wired, caller: Reader, conversation_id: ConversationId, cursor: Cursor = None, limit: Limit = 50
) -> Response:
    """List the conversation's pages in order."""
    after = cursors.decode_int(cursor) or 0
    async with conversations.snapshot(runtime.database, caller, conversation_id) as (tx, conversation):
        rows = await messages.pages(tx, conversation.id, after=after, limit=limit + 1)
        return page_of(await inspect.page_items(tx, conversation.id, rows), limit, "page")


@router.get("/conversations/{conversation_id}/pages/{page}", response_model=PageResponse)
async def get_page(runtime: Wired, caller: Reader, conversation_id: ConversationId, page: int) -> Response:
    """Get a page with its messages in full. This does not count as a recall."""
    if not 1 <= page <= INTEGER_MAX:
        raise errors.NotFound("Pages are numbered from 1.")
    async with conversations.snapshot(runtime.database, caller, conversation_id) as (tx, conversation):
        view = await inspect.page_view(tx, conversation, page)
    return await long_json_value(view)


@router.get("/conversations/{conversation_id}/summary", response_model=SummaryResponse)
async def get_summary(runtime: Wired, caller: Reader, conversation_id: ConversationId) -> Response:
    """Get the rolling summary and how far it reaches."""
    async with conversations.snapshot(runtime.database, caller, conversation_id) as (tx, conversation):
        return json_value(await inspect.summary_view(runtime, tx, conversation))


@router.get("/conversations/{conversation_id}/status", response_model=Status)
async def get_status(runtime: Wired, caller: Reader, conversation_id: ConversationId) -> Response:
    """Get the progress of a conversation's background work, and its archived tool results."""
    async with conversations.snapshot(runtime.database, caller, conversation_id) as (tx, conversation):
        rows = await archives.browse(tx, archives.ArchiveFilter(conversation.id), limit=100)
        work = await progress.status_view(tx, conversation)
    archived = [
        {"archive_id": str(row.id), "seq": row.seq, "tool_name": row.tool_name, "length": row.length} for row in rows
    ]
    totals = conversation.totals
    counts = {"messages": totals.last_seq, "pages": totals.last_page, "epoch": conversation.epoch}
    return json_value({**work, **counts, "archived": archived})


@router.get("/conversations/{conversation_id}/requests", response_model=ProxiedRequestList)
async def list_proxied_requests(
    runtime: Wired, caller: Reader, conversation_id: ConversationId, cursor: Cursor = None, limit: Limit = 50
) -> Response:
    """List the conversation's requests through the proxy, newest first: what was stored, times, tokens, cost, errors.

    They are kept for thirty days. The model's API reports the tokens; QUIRE_PROXY_PRICES says what they cost.
    """
    before = cursors.decode_id(cursor)
    async with conversations.snapshot(runtime.database, caller, conversation_id) as (tx, conversation):
        rows = await proxied_requests.browse(tx, conversation.id, before, limit + 1)
    return page_of([request_view(*row, runtime.proxying.prices) for row in rows], limit, "id")
