"""OpenAI's Responses in front of a model: any chat model behind Quire keeps its conversations."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from app import errors
from app.api.http.answers import json_text
from app.api.http.body import json_body
from app.api.http.callers import Reader, Writer
from app.api.http.path_ids import check_id
from app.api.http.runtime import Wired
from app.api.schemas import proxy as schemas
from app.api.v1.passing import Intake, body_or_answer
from app.api.v1.proxying import STREAM_HEADERS, Wished, Wishes, answered, proxy_request, user_of, with_model
from app.core.canonical import dumps
from app.core.dialects import inbound_responses
from app.core.dialects.inbound_responses import ResponsesWriter, responses_usage
from app.core.dialects.question import Question
from app.core.edge.caller import Caller
from app.ids import uuid7
from app.runtime import Runtime
from app.services.proxy import responses
from app.services.proxy.counting import input_tokens
from app.services.proxy.writing import sent

router = APIRouter(prefix="/v1/responses", tags=["proxy"])

FORM = Intake("responses", schemas.ResponsesBody, inbound_responses.question)
EXAMPLE = {"model": "gpt-4o", "input": "Which tea did I like?", "user": "me"}


@router.post("", response_model=schemas.DialectAnswer, openapi_extra=json_body(schemas.ResponsesBody, EXAMPLE))
async def create_response(request: Request, caller: Writer, runtime: Wired, wishes: Wished) -> Response:
    """Create a response with the conversation's memory.

    As /v1/chat/completions, for clients of OpenAI's Responses. `previous_response_id` continues the conversation of
    that response, whichever model answered it; an input item `compaction_trigger` is answered with one `compaction`
    item.
    """
    body = await body_or_answer(request, caller, wishes, FORM)
    if isinstance(body, Response):
        return body
    wishes, question = await _question(caller, runtime, wishes, body)
    if not inbound_responses.asks_for_compaction(body):
        return await answered(request, caller, wishes, question)
    item = await responses.compact(runtime, proxy_request(request, caller, wishes, question))
    writer = ResponsesWriter(f"resp_{uuid7().hex}", question, int(time.time()))
    events = [*writer.add(item), *writer.end({})]
    if question.streams:
        return Response(b"".join(map(sent, events)), media_type="text/event-stream", headers=STREAM_HEADERS)
    return json_text(dumps(writer.whole()))


@router.post("/compact", response_model=schemas.DialectObject, openapi_extra=json_body(schemas.ResponsesBody, EXAMPLE))
async def compact_response(request: Request, caller: Writer, runtime: Wired, wishes: Wished) -> Response:
    """Store the input and return one `compaction` item that stands for the whole conversation.

    Sent back at the beginning of a later input it continues the conversation; Quire's window has its head.
    """
    body = await body_or_answer(request, caller, wishes, FORM, stores=False)
    if isinstance(body, Response):
        return body
    wishes, question = await _question(caller, runtime, wishes, body)
    item = await responses.compact(runtime, proxy_request(request, caller, wishes, question))
    compacted = {
        "id": f"resp_{uuid7().hex}", "object": "response.compaction", "created_at": int(time.time()),
        "output": [item], "usage": responses_usage({}),
    }  # fmt: skip
    return json_text(dumps(compacted))


@router.post(
    "/input_tokens", response_model=schemas.DialectObject, openapi_extra=json_body(schemas.ResponsesBody, EXAMPLE)
)
async def count_response_tokens(request: Request, caller: Reader, runtime: Wired, wishes: Wished) -> Response:
    """Count the tokens of an input as it is sent, without its conversation; nothing is stored."""
    body = await body_or_answer(request, caller, wishes, FORM, stores=False)
    if isinstance(body, Response):
        return body
    counted = await input_tokens(runtime, with_model(runtime.proxying, FORM.read(body)))
    return json_text(dumps({"object": "response.input_tokens", "input_tokens": counted}))


@router.get("/{response_id}", response_model=schemas.DialectAnswer)
async def get_response(caller: Reader, runtime: Wired, response_id: str) -> Response:
    """Return a stored response; what was only asked about it, and its usage, are not kept."""
    return json_text((await responses.retrieve(runtime, caller, response_id)).decode())


@router.delete("/{response_id}", response_model=schemas.DialectObject)
async def delete_response(caller: Writer, runtime: Wired, response_id: str) -> Response:
    """Forget a response's id. Its message stays in the conversation, which has its own DELETE."""
    await responses.delete(runtime, caller, response_id)
    return json_text(dumps({"id": response_id, "object": "response", "deleted": True}))


@router.get("/{response_id}/input_items", response_model=schemas.DialectObject)
async def list_response_input_items(caller: Reader, runtime: Wired, response_id: str, order: str = "desc") -> Response:
    """List what a response answers, newest first unless `order` is `asc`."""
    found = await responses.input_items(runtime, caller, response_id)
    items = found if order == "desc" else found[::-1]
    ends = {"first_id": items[0]["id"], "last_id": items[-1]["id"]} if items else {"first_id": None, "last_id": None}
    return json_text(dumps({"object": "list", "data": items, **ends, "has_more": False}))


async def _question(caller: Caller, runtime: Runtime, wishes: Wishes, body: dict[str, Any]) -> tuple[Wishes, Question]:
    question, given = with_model(runtime.proxying, FORM.read(body)), body.get("conversation")
    if given is not None and body.get("previous_response_id") is not None:
        raise errors.Invalid.at(["body", "previous_response_id"], "must not be sent together with `conversation`")
    user_id = user_of(caller, wishes.user, question)
    place = await responses.continued(runtime, caller.as_user(user_id) if user_id else caller, body)
    if place is not None:
        return replace(wishes, conversation=place.conversation.id, follows=place.follows), question
    if given is not None:
        named = given["id"] if isinstance(given, dict) else given
        wishes = replace(wishes, conversation=check_id(named, ["body", "conversation"]))
    return wishes, question
