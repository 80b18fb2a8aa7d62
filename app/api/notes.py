"""Standing notes, and what a conversation is about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

from asyncpg import Record
from fastapi import APIRouter, Request
from starlette.responses import Response

from app import errors
from app.api import schemas
from app.api.answers import json_text, json_value
from app.api.body import json_body, parse_model, read_json
from app.api.paths import ConversationId
from app.api.scope import IdempotencyKey, Reader, Writer
from app.api.services import Wired
from app.core.caller import Caller
from app.core.canonical import dumps
from app.core.head import neutral
from app.db import Connection
from app.extractive.terms import key_terms
from app.flows.inspect import time_text
from app.flows.once import Once, do_once
from app.ids import uuid7
from app.services import Services
from app.store import conversations, messages, notes

router = APIRouter(tags=["notes"])

TOPIC_PAGES = 500
TOPICS_MAX = 30


@router.get("/conversations/{conversation_id}/notes", response_model=schemas.NoteList)
async def list_notes(services: Wired, caller: Reader, conversation_id: ConversationId) -> Response:
    """The standing notes: instructions and preferences that lead the head of every window."""
    async with services.database.snapshot(caller.tenant) as connection:
        await conversations.get(connection, caller.tenant, conversation_id, bound_to=caller.user_id)
        rows = await notes.browse(connection, caller.tenant, conversation_id)
    return json_value({"items": [_view(row) for row in rows], "next_cursor": None})


@router.post(
    "/conversations/{conversation_id}/notes",
    status_code=201,
    response_model=schemas.Note,
    openapi_extra=json_body(schemas.NoteBody, {"text": "Answer in French."}),
)
async def add_note(
    request: Request, services: Wired, caller: Writer, conversation_id: ConversationId, key: IdempotencyKey = None
) -> Response:
    """Add a standing note. It is in view from the next window on, which begins a new epoch."""

    async def work(connection: Connection, text: str, tokens: int) -> str:
        return dumps(_view(await notes.insert(connection, caller.tenant, conversation_id, uuid7(), text, tokens)))

    return json_text(await _write(request, services, caller, conversation_id, key, work), status=201)


@router.put(
    "/conversations/{conversation_id}/notes/{note}",
    response_model=schemas.Note,
    openapi_extra=json_body(schemas.NoteBody, {"text": "Answer in French or English."}),
)
async def change_note(
    request: Request,
    services: Wired,
    caller: Writer,
    conversation_id: ConversationId,
    note: UUID,
    key: IdempotencyKey = None,
) -> Response:
    """Edit a standing note."""

    async def work(connection: Connection, text: str, tokens: int) -> str:
        row = await notes.change(connection, caller.tenant, conversation_id, note, text, tokens)
        if row is None:
            raise errors.NotFound("There is no such note.")
        return dumps(_view(row))

    return json_text(await _write(request, services, caller, conversation_id, key, work))


@router.delete("/conversations/{conversation_id}/notes/{note}", response_model=schemas.Erased)
async def delete_note(
    request: Request,
    services: Wired,
    caller: Writer,
    conversation_id: ConversationId,
    note: UUID,
    key: IdempotencyKey = None,
) -> Response:
    """Delete a standing note; it is gone from the next window on."""

    async def work(connection: Connection) -> str:
        await _locked(connection, caller, conversation_id)
        if not await notes.delete(connection, caller.tenant, conversation_id, note):
            raise errors.NotFound("There is no such note.")
        await conversations.begin_generation(connection, caller.tenant, conversation_id)
        return dumps({"id": str(note), "erased": {"notes": 1}})

    once = Once.of(caller, key, "DELETE", request.url.path, None)
    response = await do_once(services.database, caller.tenant, once, work)
    services.conversations.pop((caller.tenant, conversation_id), None)
    return json_text(response)


async def _write(
    request: Request,
    services: Services,
    caller: Caller,
    conversation_id: str,
    key: str | None,
    write: Callable[[Connection, str, int], Awaitable[str]],
) -> str:
    """Read the note that was sent and write it; windows show it from then on."""
    value = await read_json(request, max_bytes=services.settings.quire_body_max_bytes)
    body = parse_model(schemas.NoteBody, value)
    text = neutral(" ".join(body.text.split()))
    if not text or "\x00" in text:
        message = "must be a text, without U+0000"
        raise errors.Invalid("A note says something.", errors=[{"loc": ["body", "text"], "msg": message}])
    tokens = await services.count(text)

    async def work(connection: Connection) -> str:
        await _locked(connection, caller, conversation_id)
        response = await write(connection, text, tokens)
        await conversations.begin_generation(connection, caller.tenant, conversation_id)
        return response

    once = Once.of(caller, key, request.method, request.url.path, value)
    response = await do_once(services.database, caller.tenant, once, work)
    services.conversations.pop((caller.tenant, conversation_id), None)
    return response


async def _locked(connection: Connection, caller: Caller, conversation_id: str) -> None:
    if await conversations.lock(connection, caller.tenant, conversation_id, bound_to=caller.user_id) is None:
        raise conversations.unknown()


def _view(row: Record) -> dict[str, Any]:
    return {
        "id": str(row["id"]),
        "text": row["text"],
        "tokens": row["tokens"],
        "source": row["source"],
        "seq": row["seq"] or None,
        "created_at": time_text(row["created_at"]),
    }


@router.get("/conversations/{conversation_id}/topics", response_model=schemas.TopicList, tags=["conversations"])
async def list_topics(services: Wired, caller: Reader, conversation_id: ConversationId) -> Response:
    """What the conversation is about: the terms of its newest pages' titles, the most frequent first."""
    async with services.database.snapshot(caller.tenant) as connection:
        conversation = await conversations.get(connection, caller.tenant, conversation_id, bound_to=caller.user_id)
        after = max(0, conversation.totals.last_page - TOPIC_PAGES)
        rows = await messages.pages(connection, caller.tenant, conversation_id, after=after, limit=TOPIC_PAGES)
    mentions: Counter[str] = Counter()
    last_page: dict[str, int] = {}
    for row in rows:
        for term in key_terms(row["title"], 5):
            mentions[term] += 1
            last_page[term] = row["page"]
    items = [
        {"topic": topic, "mention_count": count, "last_page": last_page[topic]}
        for topic, count in sorted(mentions.items(), key=lambda item: (-item[1], -last_page[item[0]]))[:TOPICS_MAX]
    ]
    return json_value({"items": items, "next_cursor": None})
