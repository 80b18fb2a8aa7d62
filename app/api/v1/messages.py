"""Anthropic's Messages in front of a model."""

from __future__ import annotations

from dataclasses import replace

from fastapi import APIRouter, Request
from starlette.responses import Response

from app import errors
from app.api.http.answers import json_text
from app.api.http.body import json_body
from app.api.http.callers import Reader, Writer
from app.api.http.runtime import Wired
from app.api.schemas import proxy as schemas
from app.api.v1.passing import Intake, body_or_answer
from app.api.v1.proxying import Wished, answered, keeps, passed_headers, upstream_of, user_of, with_model
from app.core.canonical import dumps
from app.core.dialects import inbound_messages
from app.services.proxy import threads
from app.services.proxy.counting import input_tokens

router = APIRouter(prefix="/v1/messages", tags=["proxy"])

FORM = Intake("messages", schemas.MessagesBody, inbound_messages.question)
EXAMPLE = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 1024,
    "messages": [{"role": "user", "content": "Which tea did I like?"}],
}


@router.post("", response_model=schemas.DialectAnswer, openapi_extra=json_body(schemas.MessagesBody, EXAMPLE))
async def create_message(request: Request, caller: Writer, runtime: Wired, wishes: Wished) -> Response:
    """Create a message with the conversation's memory.

    As /v1/chat/completions, for clients of Anthropic's API. Content blocks are stored as they come; signed thinking
    returns to a Messages API unchanged and goes to no other.
    """
    value = await body_or_answer(request, caller, wishes, FORM)
    if isinstance(value, Response):
        return value
    previous, question = threads.checked(value), FORM.read(value)
    if previous is not None:
        user_id = user_of(caller, wishes.user, question)
        question, place = await threads.resumed(
            runtime, caller.as_user(user_id) if user_id else caller, value, previous
        )
        wishes = replace(wishes, conversation=place.conversation.id, follows=place.follows)
    if value.get("thread") is not None and not keeps(wishes, question):
        raise errors.UnservedThread
    return await answered(request, caller, wishes, question)


@router.post(
    "/count_tokens", response_model=schemas.DialectObject, openapi_extra=json_body(schemas.MessagesBody, EXAMPLE)
)
async def count_message_tokens(request: Request, caller: Reader, runtime: Wired, wishes: Wished) -> Response:
    """Count the tokens of a message list as it is sent; nothing is stored.

    A Messages API behind the proxy counts; otherwise Quire does, with its own tokenizer.
    """
    value = await body_or_answer(request, caller, wishes, FORM, stores=False)
    if isinstance(value, Response):
        return value
    question = with_model(runtime.proxying, FORM.read(value))
    upstream = upstream_of(runtime, question)
    if upstream.asked.dialect == "messages":
        return json_text(dumps(await upstream.count_tokens(question.body, passed_headers(request))))
    return json_text(dumps({"input_tokens": await input_tokens(runtime, question)}))
