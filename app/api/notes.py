"""Standing notes, and what a conversation is about."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any
from uuid import UUID

from asyncpg import Record
from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from app import errors
from app.api import links
from app.api.answers import json_text, json_value
from app.api.body import json_body, parse_model, read_json, require_storable
from app.api.paths import ConversationId
from app.api.runtime import Wired
from app.api.schemas import parts as schemas
from app.api.schemas.conversations import Erased
from app.api.scope import IdempotencyKeyHeader, Reader, Writer
from app.core.caller import Caller
from app.core.canonical import dumps
from app.core.conversation import Conversation
from app.core.neutral import flat
from app.core.times import time_text
from app.core.topics import most_mentioned
from app.ids import uuid7
from app.postgres.database import Connection
from app.runtime import Runtime
from app.services.idempotency import IdempotencyKey, StoredResponse, run_idempotently
from app.services.lifecycle import erasing
from app.services.lifecycle.erasing import Transaction
from app.services.views.inspect import ALL
from app.store import conversations, notes, page_index

router = APIRouter(tags=["notes"])

TOPIC_MENTIONS = 1000
"""Only the newest mentions are read."""
TOPICS_MAX = 30


@router.get("/conversations/{conversation_id}/notes", response_model=schemas.NoteList)
async def list_notes(
    runtime: Wired,
    caller: Reader,
    conversation_id: ConversationId,
    every: Annotated[bool, Query(alias="all", description="include notes that another note replaced")] = False,
) -> Response:
    """List standing notes: instructions and preferences at the head of every window."""
    async with runtime.database.snapshot(caller.tenant) as connection:
        await conversations.get(connection, caller.tenant, conversation_id, bound_to=caller.user_id)
        rows = await notes.browse(connection, caller.tenant, conversation_id, replaced=every)
    return json_value({"items": [_view(row) for row in rows], "next_cursor": None})


@router.post(
    "/conversations/{conversation_id}/notes",
    status_code=201,
    response_model=schemas.Note,
    responses=links.NOTE_MADE,
    openapi_extra=json_body(schemas.NoteBody, {"text": "Answer in French."}),
)
async def add_note(
    request: Request, runtime: Wired, caller: Writer, conversation_id: ConversationId, key: IdempotencyKeyHeader = None
) -> Response:
    """Add a standing note. The next window shows it and begins a new epoch."""

    async def work(connection: Connection, text: str, tokens: int) -> str:
        return dumps(_view(await notes.insert(connection, caller.tenant, conversation_id, uuid7(), text, tokens)))

    return json_text(await _write(request, runtime, caller, conversation_id, key, work), status=201)


@router.put(
    "/conversations/{conversation_id}/notes/{note}",
    response_model=schemas.Note,
    openapi_extra=json_body(schemas.NoteBody, {"text": "Answer in French or English."}),
)
async def change_note(
    request: Request,
    runtime: Wired,
    caller: Writer,
    conversation_id: ConversationId,
    note: UUID,
    key: IdempotencyKeyHeader = None,
) -> Response:
    """Edit a standing note."""

    async def work(connection: Connection, text: str, tokens: int) -> str:
        row = await notes.change(connection, caller.tenant, conversation_id, note, text, tokens)
        if row is None:
            raise errors.NotFound("There is no such note.")
        return dumps(_view(row))

    return json_text(await _write(request, runtime, caller, conversation_id, key, work))


@router.delete("/conversations/{conversation_id}/notes/{note}", response_model=Erased)
async def delete_note(
    request: Request,
    runtime: Wired,
    caller: Writer,
    conversation_id: ConversationId,
    note: UUID,
    key: IdempotencyKeyHeader = None,
) -> Response:
    """Erase a standing note. The next window no longer has it."""

    async def work(connection: Connection) -> StoredResponse:
        conversation = await erasing.lock(connection, caller.tenant, conversation_id, bound_to=caller.user_id)
        done = await erasing.erase_note(Transaction(runtime, connection, caller.tenant), conversation, note)
        return StoredResponse.about(dumps({"id": str(note), "erased": dict(sorted(done.counts.items()))}), conversation)

    idempotency = IdempotencyKey.of(caller, key, "DELETE", request.url.path, None)
    response = await run_idempotently(runtime.database, caller.tenant, idempotency, work)
    runtime.caches.forget_conversation(caller.tenant, conversation_id)
    return json_text(response)


async def _write(
    request: Request,
    runtime: Runtime,
    caller: Caller,
    conversation_id: str,
    key: str | None,
    write: Callable[[Connection, str, int], Awaitable[str]],
) -> str:
    """Read the note that was sent and write it; windows show it from then on."""
    value = await read_json(request, max_bytes=runtime.defaults.limits.body_bytes)
    body = parse_model(schemas.NoteBody, value)
    text = flat(" ".join(body.text.split()))
    require_storable("body", text=body.text)
    if not text:
        raise errors.Invalid(errors=[{"loc": ["body", "text"], "msg": "must not be blank"}])
    tokens = await runtime.count(text)

    async def work(connection: Connection) -> StoredResponse:
        conversation = await _locked(connection, caller, conversation_id)
        response = await write(connection, text, tokens)
        await conversations.begin_generation(connection, caller.tenant, conversation_id)
        return StoredResponse.about(response, conversation)

    idempotency = IdempotencyKey.of(caller, key, request.method, request.url.path, value)
    response = await run_idempotently(runtime.database, caller.tenant, idempotency, work)
    runtime.caches.forget_conversation(caller.tenant, conversation_id)
    return response


async def _locked(connection: Connection, caller: Caller, conversation_id: str) -> Conversation:
    conversation = await conversations.lock(connection, caller.tenant, conversation_id, bound_to=caller.user_id)
    if conversation is None:
        raise conversations.unknown()
    return conversation


def _view(row: Record) -> dict[str, Any]:
    return {
        "id": str(row["id"]),
        "text": row["text"],
        "tokens": row["tokens"],
        "source": row["source"],
        "seq": row["seq"] or None,
        "replaced": row["replaced"] is not None,
        "created_at": time_text(row["created_at"]),
    }


@router.get("/conversations/{conversation_id}/topics", response_model=schemas.TopicList, tags=["conversations"])
async def list_topics(runtime: Wired, caller: Reader, conversation_id: ConversationId) -> Response:
    """List the conversation's topics, most mentioned first.

    Background jobs assign topics to closed pages, with the LLM if there is one.
    """
    async with runtime.database.snapshot(caller.tenant) as connection:
        await conversations.get(connection, caller.tenant, conversation_id, bound_to=caller.user_id)
        topics = await page_index.topics(connection, caller.tenant, conversation_id, ALL, ALL, TOPIC_MENTIONS)
    items = [
        {"topic": topic.name, "mention_count": topic.mentions, "last_page": topic.last_page}
        for topic in most_mentioned(topics, TOPICS_MAX)
    ]
    return json_value({"items": items, "next_cursor": None})
