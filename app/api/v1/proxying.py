"""Shared by the proxy's endpoints: headers, and the path from a question to an answer in the client's dialect."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal
from urllib.parse import quote, unquote

from fastapi import Depends, Header, Request
from starlette.responses import Response, StreamingResponse

from app import errors
from app.api.http import model_api_errors
from app.api.http.answers import json_text
from app.api.http.body import is_large
from app.api.http.callers import MODE, RECEIPT, USER
from app.api.http.document import DOCUMENT
from app.api.http.path_ids import check_id
from app.api.http.runtime import runtime_of
from app.core.dialects import untranslated
from app.core.dialects.background import is_background
from app.core.dialects.question import Question
from app.core.edge.caller import Caller
from app.core.edge.deployment import Proxying
from app.core.edge.upstreams import VIA, way_of
from app.core.window.budget import BUDGET_MAX
from app.inflight import AnswerStream
from app.providers import ProviderError
from app.providers.upstream import Upstream
from app.runtime import Runtime
from app.services.conversations import placing
from app.services.conversations.requests import Follows
from app.services.proxy.answer import answer, answer_unstored
from app.services.proxy.question import ProxyRequest, ask
from app.services.proxy.writing import sent

CONVERSATION, RECALL, DROPPED = "X-Quire-Conversation", "X-Quire-Recall", "X-Quire-Dropped"
STORE = "X-Quire-Store"
AGENT = "X-Claude-Code-Agent-Id"
"""What Claude Code's sub-agents name themselves by."""
STREAM_HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
PING = b": ping\n\n"
PASSED_HEADERS = ("anthropic-version", "anthropic-beta")


def _header(name: str, **rules: Any) -> Any:
    return Header(alias=name, description=DOCUMENT["headers"][name], **rules)


@dataclass(frozen=True, slots=True)
class Wishes:
    """The content of a request's headers."""

    arrived: float
    """When the request's head did, on the event loop's clock."""
    conversation: str | None
    user: str | None
    budget: int | None
    recall: Literal["auto", "off"] | None
    store: Literal["on", "off"] | None = None
    follows: Follows | None = None


async def _wishes(
    request: Request,
    conversation: Annotated[str | None, _header(CONVERSATION)] = None,
    user: Annotated[str | None, _header(USER)] = None,
    budget: Annotated[int | None, _header("X-Quire-Budget", ge=1, le=BUDGET_MAX)] = None,
    recall: Annotated[Literal["auto", "off"] | None, _header(RECALL)] = None,
    store: Annotated[Literal["on", "off"] | None, _header(STORE)] = None,
    _mode: Annotated[Literal["window", "pass-through"] | None, _header(MODE)] = None,
) -> Wishes:
    name = check_id(unquote(conversation), ["header", CONVERSATION]) if conversation else None
    return Wishes(request.state.arrived, name, unquote(user) if user else None, budget, recall, store)


Wished = Annotated[Wishes, Depends(_wishes)]


async def by_agent(request: Request, caller: Caller, wishes: Wishes) -> Wishes:
    """Return what a request wishes for; a sub-agent that names itself has a conversation of its own."""
    agent, parent = request.headers.get(AGENT), wishes.conversation
    if not agent or parent is None:
        return wishes
    check_id(agent, ["header", AGENT])
    name = await placing.of_agent(runtime_of(request), caller.tenant, parent, agent, caller.user_id)
    return replace(wishes, conversation=name)


async def answered(request: Request, caller: Caller, wishes: Wishes, question: Question) -> Response:
    """Ask the model, and answer in the client's dialect."""
    runtime = runtime_of(request)
    caller.require("read")
    wishes = await by_agent(request, caller, wishes)
    question = with_model(runtime.proxying, question)
    upstream = upstream_of(runtime, question)
    dropped = untranslated.check(question, upstream.asked.dialect)
    more = {DROPPED: ", ".join(dropped)} if dropped else {}
    asked = proxy_request(request, caller, wishes, question)
    stored = await ask(runtime, asked) if keeps(wishes, question) else None
    if stored is not None:
        more[CONVERSATION] = quote(stored.conversation.id, safe="/:@~")
    request.state.headers = {**getattr(request.state, "headers", {}), **more}
    turn = await answer(runtime, upstream, stored) if stored else answer_unstored(runtime, upstream, asked)
    # The status waits for a refusal, which comes soon.
    await turn.begun(runtime.proxying.ping_seconds / 2 if question.streams else None)
    if turn.receipt:
        request.state.headers[RECEIPT] = turn.receipt
    if question.streams:
        events = _events(question, turn, runtime.proxying.ping_seconds)
        return StreamingResponse(events, media_type="text/event-stream", headers=STREAM_HEADERS)
    text = b"".join([part async for part in turn.read()]).decode()
    if not await request.is_disconnected():
        turn.delivered()
    return json_text(text)


def keeps(wishes: Wishes, question: Question) -> bool:
    return wishes.store == "on" or (wishes.store is None and not is_background(question))


def proxy_request(request: Request, caller: Caller, wishes: Wishes, question: Question) -> ProxyRequest:
    runtime = runtime_of(request)
    user_id = user_of(caller, wishes.user, question)
    return ProxyRequest(
        caller=caller, question=question, user_id=user_id, new_user_id=user_id or runtime.access.default_user(caller),
        conversation_id=wishes.conversation, budget=wishes.budget, recall=wishes.recall,
        retried=request.headers.get("x-stainless-retry-count", "0") not in ("", "0"), arrived=wishes.arrived,
        is_large=is_large(request), follows=wishes.follows,
        headers=passed_headers(request),
    )  # fmt: skip


def passed_headers(request: Request) -> dict[str, str]:
    """Return the headers for the model's API, with the way that the request has come."""
    way = way_of(request.headers, runtime_of(request).upstreams.name)
    return {**{name: request.headers[name] for name in PASSED_HEADERS if name in request.headers}, VIA: way or ""}


async def _events(question: Question, turn: AnswerStream, ping_seconds: float) -> AsyncIterator[bytes]:
    """Yield the answer as it comes. Its end is sent only after the answer is stored."""
    ping = PING if question.dialect != "messages" else sent(("ping", {"type": "ping"}))
    if not turn.parts:
        yield ping
    try:
        async for part in turn.read(ping, ping_seconds):
            yield part
    except (ProviderError, errors.QuireError) as error:
        yield sent(model_api_errors.event(error, question.dialect))
    except Exception as error:
        yield sent(model_api_errors.event(error, question.dialect))
        raise
    else:
        turn.delivered()


def require_upstream(request: Request) -> None:
    """Raise NotFound where no API is behind the proxy, or one that leads back here."""
    upstreams = runtime_of(request).upstreams
    if not upstreams.each:
        raise errors.NotFound("The proxy has no model: QUIRE_PROXY_BASE_URL is not set.")
    if way_of(request.headers, upstreams.name) is None:
        raise errors.NotFound("The request has come back: a base URL of the proxy leads to this service.")


def upstream_of(runtime: Runtime, question: Question) -> Upstream:
    """Return the API that serves the question's model. Raises NotFound."""
    if (upstream := runtime.upstreams.of(str(question.options["model"]))) is None:
        raise errors.NotFound.at(["body", "model"], "is served by no API behind the proxy")
    return upstream


def with_model(proxying: Proxying, question: Question) -> Question:
    """Return the question with the model that is asked. Raises Invalid or NotFound."""
    model = question.options.get("model") or proxying.model
    if not model:
        raise errors.Invalid.at(["body", "model"], "is required")
    if proxying.models and model not in proxying.models:
        raise errors.NotFound.at(["body", "model"], "is not an available model")
    name = {"model": model}
    return replace(question, body={**question.body, **name}, options={**question.options, **name})


def user_of(caller: Caller, header: str | None, question: Question) -> str | None:
    """Return the conversation's user, from the header, the body, or the key."""
    loc: list[str | int] = ["header", USER] if header else ["body", "user"]
    user_id = header or (question.body.get("user") if question.dialect != "messages" else None)
    if user_id is not None:
        check_id(user_id, loc)
    return caller.user(user_id, loc)
