"""OpenAI's Conversations: the items of Quire's conversations, for clients that keep their state in the API."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import anyio.to_thread
from fastapi import APIRouter, Header, Path, Query, Request
from starlette.responses import Response

from app.api.conversations import erased
from app.api.http.answers import json_text
from app.api.http.body import is_large, json_body, parse_model, read_json
from app.api.http.callers import Reader, Writer
from app.api.http.path_ids import ConversationId
from app.api.http.runtime import Wired
from app.api.http.writes import Write, WriteRequest
from app.api.schemas import proxy as schemas
from app.core.canonical import dumps
from app.core.conversation import Conversation
from app.core.dialects.items import messages_of
from app.core.dialects.question import Json
from app.core.edge.caller import Caller
from app.core.line import exact
from app.core.messages import Draft, Limits, read
from app.ids import uuid7
from app.postgres.transactions import Tx
from app.services.conversations.requests import PostedMessages
from app.services.idempotency import StoredResponse
from app.services.lifecycle import erasing, erasing_whole
from app.services.lifecycle.erasing import ErasingTx, Erasure
from app.services.proxy import conversing
from app.services.proxy.conversing import WantedItems, conversation_of
from app.store import conversations
from app.store.conversations import NewConversation

router = APIRouter(prefix="/v1/conversations", tags=["proxy"])

SAID = {"items": [{"type": "message", "role": "user", "content": "I like longjing."}]}
PATH = "/{conversation_id}"
ItemId = Annotated[str, Path(max_length=128, description="the item's `id`")]


_RetryHeader = Annotated[
    str, Header(alias="X-Stainless-Retry-Count", description="over 0: a retry; the official clients set it")
]


@router.post(
    "",
    response_model=schemas.ConversationObject,
    openapi_extra=json_body(schemas.ConversationBody, {**SAID, "metadata": {"topic": "tea"}}),
)
async def create_conversation_of_items(write: Write) -> Response:
    """Create a conversation for a client of OpenAI's Conversations.

    It is one of Quire's: its id works in every other call, and `conversation` of /v1/responses continues it.
    """
    body = await write.body(schemas.ConversationBody)
    drafts = await _drafts(body.items, write.runtime.defaults.limits) if body.items else []
    user_id = write.caller.user_id or write.runtime.access.default_user(write.caller)
    uid = uuid7()
    new = NewConversation(f"conv_{uid.hex}", uid, user_id=user_id, metadata=dumps(body.metadata or {}))

    async def work(tx: Tx) -> StoredResponse:
        await conversations.create(tx, new)
        made = await conversations.get(tx, new.id)
        return StoredResponse.about(dumps(_shown(made)), made)

    answer = await write.once(work)
    if drafts:
        made = await conversation_of(write.runtime, write.caller, json.loads(answer)["id"])
        posted = _posted(write.request, write.caller, drafts)
        await conversing.add(write.runtime, write.caller, made, posted, conversing.first_items_key(made), retried=False)
    return json_text(answer)


@router.get(PATH, response_model=schemas.ConversationObject)
async def get_conversation_of_items(caller: Reader, runtime: Wired, conversation_id: ConversationId) -> Response:
    """Return a conversation, whichever API it was begun by."""
    return json_text(dumps(_shown(await conversation_of(runtime, caller, conversation_id))))


@router.post(
    PATH,
    response_model=schemas.ConversationObject,
    openapi_extra=json_body(schemas.ConversationUpdateBody, {"metadata": {"topic": "tea"}}),
)
async def update_conversation_of_items(
    request: Request, caller: Writer, runtime: Wired, conversation_id: ConversationId
) -> Response:
    """Replace a conversation's metadata."""
    value = await read_json(request, max_bytes=runtime.defaults.limits.body_bytes)
    body = parse_model(schemas.ConversationUpdateBody, value)
    found = await conversation_of(runtime, caller, conversation_id)
    metadata = body.metadata or {}
    async with runtime.database.begin(caller.tenant) as tx:
        await conversations.set_metadata(tx, found.id, dumps(metadata))
    runtime.caches.forget_conversation(caller.tenant, found.id)
    return json_text(dumps({**_shown(found), "metadata": metadata}))


@router.delete(PATH, response_model=schemas.DeletedResponse)
async def delete_conversation_of_items(request: Request, caller: Writer, conversation_id: ConversationId) -> Response:
    """Erase a conversation and everything derived from it."""

    async def erase(tx: ErasingTx, conversation: Conversation) -> tuple[dict[str, Any], Erasure]:
        return {}, await erasing_whole.erase_tree(tx, conversation, branches_too=True)

    await erased(WriteRequest(request, caller, None), exact(conversation_id), erase)
    return json_text(dumps({"id": conversation_id, "object": "conversation.deleted", "deleted": True}))


# --- Items ----------------------------------------------------------------------------------------------


@router.post(f"{PATH}/items", response_model=schemas.ItemList, openapi_extra=json_body(schemas.ItemsBody, SAID))
async def create_conversation_items(
    write: Write, conversation_id: ConversationId, retry: _RetryHeader = "0"
) -> Response:
    """Append items to a conversation, all or none.

    Reasoning and calls belong to the message of the assistant that they stand beside. A request that the client marks
    as a retry stores nothing if its items are the conversation's newest.
    """
    body = await write.body(schemas.ItemsBody)
    drafts = await _drafts(body.items, write.runtime.defaults.limits)
    found = await conversation_of(write.runtime, write.caller, conversation_id)
    idempotency = await write.idempotency()
    posted = _posted(write.request, write.caller, drafts)
    items = await conversing.add(
        write.runtime, write.caller, found, posted, idempotency, retried=retry not in ("", "0")
    )
    return _listed(items)


@router.get(f"{PATH}/items", response_model=schemas.ItemList)
async def list_conversation_items(
    caller: Reader, runtime: Wired, conversation_id: ConversationId,
    after: Annotated[str | None, Query(max_length=128, description="the id of the item before the page")] = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    order: Annotated[Literal["asc", "desc"], Query(description="oldest or newest first")] = "desc",
    _include: Annotated[list[str] | None, Query(alias="include[]", description="has no effect")] = None,
) -> Response:  # fmt: skip
    """List a conversation's items. Deleted ones, and Quire's own recalls, are left out."""
    found = await conversation_of(runtime, caller, conversation_id)
    page = await conversing.page(runtime, caller, found, WantedItems(limit, newest_first=order == "desc", after=after))
    return _listed(page.items, has_more=page.has_more)


@router.get(f"{PATH}/items/{{item_id}}", response_model=schemas.OpenAIConversationItem)
async def get_conversation_item(
    caller: Reader, runtime: Wired, conversation_id: ConversationId, item_id: ItemId,
    _include: Annotated[list[str] | None, Query(alias="include[]", description="has no effect")] = None,
) -> Response:  # fmt: skip
    """Return one item."""
    found = await conversation_of(runtime, caller, conversation_id)
    return json_text(dumps(await conversing.item(runtime, caller, found, item_id)))


@router.delete(f"{PATH}/items/{{item_id}}", response_model=schemas.ConversationObject)
async def delete_conversation_item(
    request: Request, caller: Writer, runtime: Wired, conversation_id: ConversationId, item_id: ItemId
) -> Response:
    """Erase the message of an item, with its other items and everything derived from it."""
    found = await conversation_of(runtime, caller, conversation_id)

    async def erase(tx: ErasingTx, conversation: Conversation) -> tuple[dict[str, Any], Erasure]:
        row, _ = await conversing.named_row(tx, conversation, item_id)
        return {}, (await erasing.erase_message(tx, conversation, str(row["seq"])))[1]

    await erased(WriteRequest(request, caller, None), conversation_id, erase)
    return json_text(dumps(_shown(found)))


# --- Requests and answers -------------------------------------------------------------------------------


async def _drafts(items: Sequence[Any], limits: Limits) -> list[Draft]:
    def work() -> list[Draft]:
        return read(messages_of(items, "items", apart=True), limits, ("body", "items"))

    return await anyio.to_thread.run_sync(work)


def _posted(request: Request, caller: Caller, drafts: Sequence[Draft]) -> PostedMessages:
    return PostedMessages(drafts, bound_to=caller.user_id, is_large=is_large(request))


def _shown(conversation: Conversation) -> Json:
    return {
        "id": conversation.id, "object": "conversation", "created_at": int(conversation.created_at.timestamp()),
        "metadata": json.loads(conversation.metadata),
    }  # fmt: skip


def _listed(items: Sequence[Json], *, has_more: bool = False) -> Response:
    ends = {"first_id": items[0]["id"], "last_id": items[-1]["id"]} if items else {"first_id": None, "last_id": None}
    return json_text(dumps({"object": "list", "data": items, **ends, "has_more": has_more}))
