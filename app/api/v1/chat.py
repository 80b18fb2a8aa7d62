"""APIs in front of a model: any client of one has memory when this is its base URL."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from app import errors
from app.api.http.answers import json_text
from app.api.http.body import json_body, parse_model, read_json
from app.api.http.callers import READS, Writer
from app.api.http.runtime import Wired
from app.api.schemas import proxy as schemas
from app.api.v1.passing import Intake, body_or_answer
from app.api.v1.proxying import Wished, answered, passed_headers, require_upstream
from app.core.canonical import dumps
from app.core.dialects import inbound_chat
from app.runtime import Runtime
from app.services.proxy.embeddings import embeddings
from app.services.proxy.listing import all_listed

router = APIRouter(prefix="/v1", tags=["proxy"])

FORM = Intake("chat", schemas.ChatBody, inbound_chat.question)
EXAMPLE = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Which tea did I like?"}], "user": "me"}


@router.post(
    "/chat/completions", response_model=schemas.DialectAnswer, openapi_extra=json_body(schemas.ChatBody, EXAMPLE)
)
async def create_chat_completion(request: Request, caller: Writer, wishes: Wished) -> Response:
    """Create a chat completion with the conversation's memory.

    Quire stores what is new in `messages`, calls the model with the conversation's window and the recall tools, runs
    its recalls, and streams and stores its answer. Other fields go to the model unchanged. docs/proxy.md explains how
    Quire finds the conversation.
    """
    body = await body_or_answer(request, caller, wishes, FORM)
    if isinstance(body, Response):
        return body
    _check(body)
    return await answered(request, caller, wishes, FORM.read(body))


@router.get("/models", response_model=schemas.DialectObject, dependencies=[READS])
async def list_models(request: Request, runtime: Wired) -> Response:
    """List the models of the APIs behind the proxy."""
    require_upstream(request)
    return json_text(dumps(await _models(request, runtime)))


@router.get("/models/{model:path}", response_model=schemas.DialectObject, dependencies=[READS])
async def get_model(request: Request, runtime: Wired, model: str) -> Response:
    """Return one model of the APIs behind the proxy."""
    require_upstream(request)
    for known in (await _models(request, runtime)).get("data") or []:
        if isinstance(known, dict) and known.get("id") == model:
            return json_text(dumps(known))
    raise errors.NotFound.at(["path", "model"], "is not an available model")


async def _models(request: Request, runtime: Runtime) -> dict[str, Any]:
    known = await all_listed(runtime, passed_headers(request))
    allowed = runtime.proxying.models
    if allowed and isinstance(known.get("data"), list):
        return {**known, "data": [m for m in known["data"] if isinstance(m, dict) and m.get("id") in allowed]}
    return known


@router.post(
    "/embeddings",
    response_model=schemas.DialectObject,
    openapi_extra=json_body(schemas.EmbeddingsBody, {"model": "text-embedding-3-small", "input": "longjing"}),
    dependencies=[READS],
)
async def create_embeddings(request: Request, runtime: Wired) -> Response:
    """Embed texts: by Quire's own embedding model if `model` names it, else by the API behind the proxy.

    An API of Messages embeds nothing, so Quire's model answers for it whatever `model` says. Nothing is stored.
    """
    value = await read_json(request)
    body = parse_model(schemas.EmbeddingsBody, value)
    upstream, embedder = runtime.upstreams.of(body.model or ""), runtime.embedder
    passes = upstream is not None and upstream.asked.dialect != "messages"
    if embedder is not None and (body.model == embedder.model or not passes):
        texts = [body.input] if isinstance(body.input, str) else body.input
        return json_text(dumps(await embeddings(runtime, embedder, texts, body.encoding_format)))
    require_upstream(request)
    if upstream is None:
        raise errors.NotFound.at(["body", "model"], "is served by no API behind the proxy")
    return json_text(dumps(await upstream.embed(value)))


def _check(body: dict[str, Any]) -> None:
    if body.get("n") not in (None, 1):
        raise errors.Invalid.at(["body", "n"], "must be 1", "`n` must be 1: Quire stores one answer per request.")
    for name in ("functions", "function_call"):
        if body.get(name) is not None:
            raise errors.Invalid.at(["body", name], "is not supported; use `tools`")
