"""An OpenAI-compatible API in front of a model: any client of one has memory when this is its base URL."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Literal
from urllib.parse import quote, unquote

from fastapi import APIRouter, Header, Request
from starlette.responses import Response, StreamingResponse

from app import errors
from app.api import openai_errors, schemas
from app.api.answers import json_text
from app.api.body import is_large, json_body, parse_model, read_json
from app.api.paths import check_id
from app.api.runtime import Wired
from app.api.scope import READS, Writer
from app.core.budget import BUDGET_MAX
from app.core.caller import Caller
from app.core.canonical import dumps
from app.inflight import Turn
from app.providers import ProviderError
from app.providers.upstream import Upstream
from app.runtime import Runtime
from app.services.proxy.answering import answer
from app.services.proxy.proxying import ProxyRequest, ask
from app.settings import Settings

router = APIRouter(prefix="/v1", tags=["proxy"])

EXAMPLE = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Which tea did I like?"}], "user": "me"}
CONVERSATION = "X-Quire-Conversation"

ConversationHeader = Annotated[
    str | None,
    Header(
        alias=CONVERSATION,
        description="The conversation's id, percent-encoded; created if new. Without it Quire finds the conversation by"
        " the message list. The response has the id in the same header.",
    ),
]
UserHeader = Annotated[
    str | None, Header(alias="X-Quire-User", description="The user, percent-encoded. Default: `user` of the body.")
]
BudgetHeader = Annotated[
    int | None, Header(alias="X-Quire-Budget", ge=1, le=BUDGET_MAX, description="Tokens of the window.")
]

RECALL = "X-Quire-Recall"
RecallHeader = Annotated[
    Literal["auto", "off"] | None,
    Header(
        alias=RECALL,
        description="`auto`: bring in what answers the newest user message, if anything does. `off`: bring in nothing. "
        "Else QUIRE_PROXY_RECALL says.",
    ),
]


@router.post(
    "/chat/completions",
    response_model=schemas.ChatCompletion,
    openapi_extra=json_body(schemas.ChatBody, EXAMPLE),
)
async def create_chat_completion(
    request: Request,
    caller: Writer,
    runtime: Wired,
    conversation: ConversationHeader = None,
    user: UserHeader = None,
    budget: BudgetHeader = None,
    recall: RecallHeader = None,
) -> Response:
    """Create a chat completion with the conversation's memory.

    Quire stores what is new in `messages`, calls the model with the conversation's window and the recall tools, runs
    its recalls, and streams and stores its answer. Other fields go to the model unchanged. docs/proxy.md explains how
    Quire finds the conversation.
    """
    arrived = asyncio.get_running_loop().time()
    caller.require("read")
    upstream = _upstream(runtime)
    value = await read_json(request, max_bytes=runtime.settings.quire_body_max_bytes)
    body = parse_model(schemas.ChatBody, value)
    _check(body)
    asked = ProxyRequest(
        caller=caller,
        body={**value, "model": _model(runtime.settings, body.model)},
        user_id=_user(caller, user, body.user),
        conversation_id=check_id(unquote(conversation), ["header", CONVERSATION]) if conversation else None,
        budget=budget,
        recall_max_tokens=_recall_max_tokens(runtime.settings, recall),
        retried=request.headers.get("x-stainless-retry-count", "0") not in ("", "0"),
        arrived=arrived,
        is_large=is_large(request),
    )
    stored = await ask(runtime, asked)
    request.state.headers = {
        **getattr(request.state, "headers", {}),
        CONVERSATION: _encoded(stored.conversation.id),
    }
    try:
        turn = await answer(runtime, upstream, stored)
        await turn.begun()
    except ProviderError as error:
        return openai_errors.answer(error)
    if asked.streams:
        headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
        return StreamingResponse(_events(turn), media_type="text/event-stream", headers=headers)
    text = b"".join([part async for part in turn.read()]).decode()
    if not await request.is_disconnected():
        turn.delivered()
    return json_text(text)


@router.get("/models", response_model=schemas.ModelList, dependencies=[READS])
async def list_models(runtime: Wired) -> Response:
    """List the models of the API behind the proxy."""
    upstream = _upstream(runtime)
    if (known := runtime.caches.models.get("")) is None:
        try:
            found = dict(await upstream.models())
        except ProviderError as error:
            return openai_errors.answer(error)
        allowed = _allowed(runtime.settings)
        if allowed and isinstance(found.get("data"), list):
            found["data"] = [m for m in found["data"] if isinstance(m, dict) and m.get("id") in allowed]
        known = runtime.caches.models[""] = dumps(found)
    return json_text(known)


async def _events(turn: Turn) -> AsyncIterator[bytes]:
    """The answer as it comes. Its end is sent when it is stored; without one, it is not."""
    try:
        async for part in turn.read():
            yield part
    except (ProviderError, errors.QuireError) as error:
        yield f"data: {dumps(openai_errors.body(error))}\n\n".encode()
    except Exception as error:
        yield f"data: {dumps(openai_errors.body(error))}\n\n".encode()
        raise
    else:
        turn.delivered()


def _upstream(runtime: Runtime) -> Upstream:
    if runtime.upstream is None:
        raise errors.NotFound("The proxy has no model: QUIRE_PROXY_BASE_URL is not set.")
    return runtime.upstream


def _check(body: schemas.ChatBody) -> None:
    """Raises Invalid for what cannot be stored as one answer."""
    if body.n not in (None, 1):
        raise errors.Invalid(
            "`n` must be 1: Quire stores one answer per request.", errors=[{"loc": ["body", "n"], "msg": "must be 1"}]
        )
    for name in ("functions", "function_call"):
        if (body.model_extra or {}).get(name) is not None:
            raise errors.Invalid(errors=[{"loc": ["body", name], "msg": "is not supported; use `tools`"}])


def _allowed(settings: Settings) -> list[str]:
    return [name.strip() for name in settings.quire_proxy_models.split(",") if name.strip()]


def _model(settings: Settings, named: str | None) -> str:
    model = named or settings.quire_proxy_model or settings.memory_llm_model
    if not model:
        raise errors.Invalid(errors=[{"loc": ["body", "model"], "msg": "is required"}])
    allowed = _allowed(settings)
    if allowed and model not in allowed:
        raise errors.NotFound(errors=[{"loc": ["body", "model"], "msg": "is not an available model"}])
    return model


def _recall_max_tokens(settings: Settings, recall: Literal["auto", "off"] | None) -> int | None:
    is_off = (recall or settings.quire_proxy_recall) == "off"
    return None if is_off else settings.quire_proxy_recall_max_tokens


def _user(caller: Caller, header: str | None, named: str | None) -> str | None:
    """Whose conversation it is: by the header, the body, or the key."""
    loc: list[str | int] = ["header", "X-Quire-User"] if header else ["body", "user"]
    user_id = unquote(header) if header else named
    if user_id is not None:
        check_id(user_id, loc)
    return caller.user(user_id, loc)


def _encoded(text: str) -> str:
    """For a header: percent-encoded as far as it must be."""
    return quote(text, safe="/:@~")
