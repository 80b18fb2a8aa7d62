"""Routes of a conversation's notes and topics."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter
from starlette.responses import Response

from app.api.http import links
from app.api.http.answers import json_text, json_value, list_of
from app.api.http.body import json_body, require_storable
from app.api.http.callers import Reader
from app.api.http.path_ids import ConversationId
from app.api.http.runtime import Wired
from app.api.http.writes import Write, WriteRequest
from app.api.schemas import parts as schemas
from app.api.schemas.conversations import ErasureResponse
from app.core.window.topics import most_mentioned
from app.services.lifecycle import noting
from app.services.lifecycle.erasing import ErasingTx
from app.store import conversations, page_index
from app.store.memory import kept

router = APIRouter(tags=["notes"])

TOPIC_PAGES = 1000
"""Only the newest pages are read."""
TOPICS_MAX = 30


@router.get("/conversations/{conversation_id}/notes", response_model=list_of("NoteList", schemas.NoteResponse))
async def list_notes(runtime: Wired, caller: Reader, conversation_id: ConversationId) -> Response:
    """List what was said or set in a conversation to be kept in mind: its pinned memories."""
    async with conversations.snapshot(runtime.database, caller, conversation_id) as (tx, conversation):
        rows = await kept.of_conversation(tx, conversation.id)
    return json_value({"items": [noting.view(row) for row in rows], "next_cursor": None})


@router.post(
    "/conversations/{conversation_id}/notes",
    status_code=201,
    response_model=schemas.NoteResponse,
    responses=links.NOTE_MADE,
    openapi_extra=json_body(schemas.NoteBody, {"text": "Answer in French."}),
)
async def add_note(write: Write, conversation_id: ConversationId) -> Response:
    """Pin a memory to a conversation. The next window shows it and begins a new epoch."""
    return json_text(await _write(write, conversation_id), status=201)


@router.put(
    "/conversations/{conversation_id}/notes/{note}",
    response_model=schemas.NoteResponse,
    openapi_extra=json_body(schemas.NoteBody, {"text": "Answer in French or English."}),
)
async def change_note(write: Write, conversation_id: ConversationId, note: UUID) -> Response:
    """Edit a pinned memory of a conversation."""
    return json_text(await _write(write, conversation_id, note))


@router.delete("/conversations/{conversation_id}/notes/{note}", response_model=ErasureResponse)
async def delete_note(write: Write, conversation_id: ConversationId, note: UUID) -> Response:
    """Erase a pinned memory of a conversation. The next window no longer has it."""
    runtime, whose = write.runtime, write.caller.user_id
    return json_text(
        await write.once(lambda tx: noting.erase(ErasingTx(runtime, tx), conversation_id, note, bound_to=whose))
    )


async def _write(write: WriteRequest, conversation_id: str, note: UUID | None = None) -> str:
    body, runtime, whose = await write.body(schemas.NoteBody), write.runtime, write.caller.user_id
    require_storable("body", text=body.text)
    return await write.once(lambda tx: noting.write(runtime, tx, conversation_id, note, body.text, bound_to=whose))


@router.get(
    "/conversations/{conversation_id}/topics",
    response_model=list_of("TopicList", schemas.TopicResponse),
    tags=["conversations"],
)
async def list_topics(runtime: Wired, caller: Reader, conversation_id: ConversationId) -> Response:
    """List the conversation's topics, most mentioned first.

    Background jobs assign topics to closed pages, with the LLM if there is one.
    """
    async with conversations.snapshot(runtime.database, caller, conversation_id) as (tx, conversation):
        topics = await page_index.topics(tx, conversation.id, TOPIC_PAGES)
    items = [
        {"topic": topic.name, "mention_count": topic.mentions, "last_page": topic.last_page}
        for topic in most_mentioned(topics)[:TOPICS_MAX]
    ]
    return json_value({"items": items, "next_cursor": None})
