"""Messages and windows."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

import anyio.to_thread
from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from app import errors
from app.api.http import cursors, links
from app.api.http.answers import json_text, list_of, long_json_value
from app.api.http.body import is_large, json_body, parse_model, read_json, read_model, require_storable, work_on
from app.api.http.callers import IDEMPOTENCY_KEY, RECEIPT, Reader, Writer
from app.api.http.cursors import Cursor
from app.api.http.document import DOCUMENT
from app.api.http.fast_routes import every_turn, idempotency_key, parameters, read_query
from app.api.http.path_ids import BRANCH, CONVERSATION_ID, ConversationId, check_ids, path_id, written_path
from app.api.http.runtime import Wired, runtime_of
from app.api.http.times import Time
from app.api.schemas import messages as schemas
from app.api.schemas import windows
from app.api.schemas.narrowing import narrowing_of
from app.core.canonical import dumps
from app.core.dialects.untranslated import quoted_in_window
from app.core.edge.caller import Caller
from app.core.messages import ID_MAX, MODEL_MAX, read
from app.core.model import INTEGER_MAX, Context, Recall, RecallScope
from app.core.search.narrowing import EVERYTHING
from app.core.window.budget import BUDGET_MAX
from app.core.window.kept import Then
from app.core.window.served import Call
from app.runtime import Runtime
from app.services.conversations.append import AppendOutcome, append
from app.services.conversations.call import ContextRequest
from app.services.conversations.context import as_of, context
from app.services.conversations.lists import read_list
from app.services.conversations.requests import PostedMessages, SyncedList
from app.services.idempotency import IdempotencyKey
from app.services.views import inspect
from app.store import conversations, messages

router = APIRouter(tags=["messages"])

Format = Literal["openai", "anthropic"]

EXAMPLE = DOCUMENT["append"]


class AppendQuery(BaseModel):
    """The window to return with the response."""

    include: Literal["context"] | None = Field(None, description="also return the next window")
    budget: int | None = Field(None, ge=1, le=BUDGET_MAX)
    model: str | None = Field(None, min_length=1, max_length=MODEL_MAX)
    format: Format = Field("openai", description="the chat API that the window is for")
    recall: Recall | None = Field(None, description=windows.RECALL)
    speaker: str | None = Field(None, min_length=1, max_length=ID_MAX, description=windows.SPEAKER)


@router.post(
    "/conversations/{conversation_id}/messages",
    status_code=201,
    response_model=schemas.Appended,
    responses=links.APPENDED,
    openapi_extra={
        **json_body(schemas.AppendBody, EXAMPLE),
        **parameters(CONVERSATION_ID, BRANCH, IDEMPOTENCY_KEY, query=AppendQuery),
    },
)
@every_turn
async def append_messages(request: Request, caller: Writer) -> Response:
    """Append messages, all or none.

    Accepts OpenAI form (text or content parts, `tool_calls`, tool messages, reasoning) and Anthropic form (content
    blocks). With `user_id` a new conversation is created. A tool result over the archive threshold is archived;
    `content` in the response is what the model will see. `include=context` also returns the next window, always the
    current one, even if the request is a retry.
    """
    runtime, conversation_id = runtime_of(request), path_id(request)
    query = read_query(request, AppendQuery)
    value = await read_json(request)
    body = parse_model(schemas.AppendBody, value)
    check_ids("body", user_id=body.user_id, space_id=body.space_id)
    require_storable("body", system=body.system)
    user_id = caller.user(body.user_id)
    drafts = await work_on(request, read, body.messages, runtime.defaults.limits)
    window_request = _window_request(runtime, caller, query, "append")
    idempotency = await _idempotency(request, caller, value)
    reported = body.reported_usage.value() if body.reported_usage else None
    sent = PostedMessages(
        drafts, user_id, body.system, bound_to=caller.user_id, space_id=body.space_id, reported_usage=reported,
        is_large=is_large(request),
    )  # fmt: skip
    done = await append(runtime, caller.tenant, conversation_id, sent, idempotency)
    return await _append_response(runtime, caller.tenant, conversation_id, done, window_request, status=201)


@router.post(
    "/conversations/{conversation_id}/sync",
    response_model=schemas.Synced,
    openapi_extra={
        **json_body(schemas.SyncBody, EXAMPLE),
        **parameters(CONVERSATION_ID, BRANCH, IDEMPOTENCY_KEY, query=AppendQuery),
    },
)
@every_turn
async def sync_messages(request: Request, caller: Writer) -> Response:
    """Append what is new in your own message list, all or none. Repeating the request appends nothing.

    The list can omit older messages, at its beginning or after its first ones. If a message was edited or answered
    again, the list goes on as a branch, `branch` in the response, which the conversation's id shows from then on;
    `?branch=` reads any other. With `on_fork` = `append`, what follows the newest stored messages is appended, or else
    everything from the difference on. With `error`, or if the list has nothing in common with what is stored, the
    response is a 409 of type `fork` with the `index` and `seq` of the first difference. Stored messages never change.

    Messages match by content: ids, thinking, cache marks and JSON formatting do not count. Leading system messages are
    the conversation's system prompt and can change.
    """
    runtime, conversation_id = runtime_of(request), path_id(request)
    query = read_query(request, AppendQuery)
    value = await read_json(request)
    body = parse_model(schemas.SyncBody, value)
    check_ids("body", user_id=body.user_id)
    user_id = caller.user(body.user_id)
    window_request = _window_request(runtime, caller, query, "sync")
    idempotency = await _idempotency(request, caller, value)
    listed = await anyio.to_thread.run_sync(
        read_list, body.messages, body.system, runtime.defaults.limits, runtime.caches.messages
    )
    sent = SyncedList(
        listed, user_id, on_fork=body.on_fork, bound_to=caller.user_id,
        reported_usage=body.reported_usage.value() if body.reported_usage else None, is_large=is_large(request),
    )  # fmt: skip
    done = await append(runtime, caller.tenant, conversation_id, sent, idempotency)
    return await _append_response(runtime, caller.tenant, conversation_id, done, window_request, status=200)


async def _idempotency(request: Request, caller: Caller, sent: object) -> IdempotencyKey | None:
    given = caller, idempotency_key(request), "POST", written_path(request)
    return await work_on(request, IdempotencyKey.of, *given, sent)


def _window_request(runtime: Runtime, caller: Caller, query: AppendQuery, call: Call) -> ContextRequest | None:
    """Return the window to include in the response, if requested. It needs the scope read."""
    if not query.include:
        return None
    caller.require("read")
    window_request = ContextRequest(
        budget=query.budget, model=query.model, format=query.format, recall=query.recall, speaker=query.speaker,
        bound_to=caller.user_id, call=call,
    )  # fmt: skip
    return _checked(runtime, window_request)


async def _append_response(
    runtime: Runtime,
    tenant: UUID,
    conversation_id: str,
    done: AppendOutcome,
    window_request: ContextRequest | None,
    *,
    status: int,
) -> Response:
    headers = {"Idempotency-Replayed": "true"} if done.replayed else {}
    if window_request is None:
        return json_text(done.response, status=status, headers=headers)
    window, receipt = await _context_or_problem(runtime, tenant, conversation_id, window_request)
    if receipt:
        headers[RECEIPT] = receipt
    return json_text(b"%s,%s}" % (done.response[:-1].encode(), window), status=status, headers=headers)


async def _context_or_problem(
    runtime: Runtime, tenant: UUID, conversation_id: str, window_request: ContextRequest
) -> tuple[bytes, str]:
    """Return the window as a member of the append's response, and its receipt's root. The messages are stored, so a
    budget too small for the window must not make the append look like a failure.
    """
    try:
        window = await context(runtime, tenant, conversation_id, window_request)
    except errors.BudgetTooSmall as error:
        problem = {"code": error.code, "detail": error.detail, **error.extra}
        return f'"context":null,"context_error":{dumps(problem)}'.encode(), ""
    return b'"context":%s' % window.body, window.receipt


@router.get("/conversations/{conversation_id}/messages", response_model=list_of("MessageList", schemas.Message))
async def list_messages(
    runtime: Wired,
    caller: Reader,
    conversation_id: ConversationId,
    cursor: Cursor = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    after_seq: Annotated[int, Query(ge=0, le=INTEGER_MAX, description="only messages after this `seq`")] = 0,
    order: Annotated[Literal["asc", "desc"], Query(description="oldest (`asc`) or newest (`desc`) first")] = "asc",
) -> Response:
    """List the original history as it was sent, including what is archived or has left the window.

    To follow a conversation, repeat the call with the newest `seq` that you have as `after_seq`.
    """
    newest_first = order == "desc"
    after = cursors.decode_int(cursor)
    if after is None:
        after = INTEGER_MAX if newest_first else after_seq
    elif not newest_first:
        after = max(after, after_seq)
    async with conversations.snapshot(runtime.database, caller, conversation_id) as (tx, conversation):
        rows = await messages.history(tx, conversation.id, after, limit + 1, newest_first=newest_first)
        rows = [row for row in rows if row.seq > after_seq]
        items = await inspect.message_views(tx, rows[:limit], conversation.language or "en")
    next_cursor = cursors.encode(items[-1]["seq"]) if len(rows) > limit else None
    return await long_json_value({"items": items, "next_cursor": next_cursor})


TAIL_PARTS_MAX = 20
"""Archives, and pages, that a window can be asked to show in full."""


class ContextQuery(BaseModel):
    """The window that is wanted."""

    model_config = ConfigDict(extra="forbid")

    budget: int | None = Field(None, ge=1, le=BUDGET_MAX, description="tokens of the window, everything included")
    model: str | None = Field(
        None, min_length=1, max_length=MODEL_MAX, description="determines the budget if `budget` is omitted"
    )
    query: str | None = Field(None, max_length=10_000, description=windows.QUERY)
    recall_max_tokens: int | None = Field(None, ge=1, le=BUDGET_MAX, description=windows.RECALL_MAX_TOKENS)
    recall_scope: RecallScope | None = Field(None, description=windows.RECALL_SCOPE)
    recall: Recall | None = Field(None, description=windows.RECALL)
    speaker: str | None = Field(None, min_length=1, max_length=ID_MAX, description=windows.SPEAKER)
    load: list[Annotated[str, Field(max_length=1000)]] = Field(
        [], max_length=TAIL_PARTS_MAX, description="archives to show in full: uuids, comma-separated or repeated"
    )
    pages: list[Annotated[str, Field(max_length=300)]] = Field(
        [], max_length=TAIL_PARTS_MAX, description="pages to show in full: numbers, comma-separated or repeated"
    )
    format: Format = "openai"
    as_of: Annotated[int, Field(ge=1, le=INTEGER_MAX)] | Time | None = Field(
        None,
        description="the window when this message (its `seq`) was the last, by today's settings; a time: with what was"
        " true then kept in mind",
    )
    known_at: Time | None = Field(None, description="keep in mind what was known then; not with a `seq` in `as_of`")


def _past(query: ContextQuery) -> int | Then | None:
    """Return the message or time as of which a window is requested. Raises Invalid."""
    if not isinstance(query.as_of, int):
        return Then(query.as_of, query.known_at) if query.as_of or query.known_at else None
    if query.known_at is not None:
        raise errors.Invalid.at(["query", "known_at"], "must be left out: `as_of` is a message")
    return query.as_of


@router.get(
    "/conversations/{conversation_id}/context",
    response_model=windows.ContextResponse,
    responses={304: {"description": "The window is unchanged (If-None-Match)."}},
    openapi_extra=parameters(CONVERSATION_ID, BRANCH, query=ContextQuery),
)
@every_turn
async def get_context(request: Request, caller: Reader) -> Response:
    """Get the context window for the next model call, ready to send, within a token budget.

    Within an epoch the window only grows at its end, so prompt caches keep working. `usage` itemises the tokens of
    every section. If the budget is too small for the fixed parts and the newest user message, the response is a 422
    with `minimum_budget`.
    """
    runtime, conversation_id = runtime_of(request), path_id(request)
    query_ = read_query(request, ContextQuery)
    window_request = ContextRequest(
        budget=query_.budget, model=query_.model, query=runtime.masks.value(query_.query),
        recall_max_tokens=query_.recall_max_tokens, recall_scope=query_.recall_scope, recall=query_.recall,
        speaker=query_.speaker, load=_uuids(query_.load), pages=_numbers(query_.pages), format=query_.format,
        bound_to=caller.user_id, sensitive=caller.sensitive, call="context",
    )  # fmt: skip
    window_request = _checked(runtime, window_request)
    past = _past(query_)
    if past is None:
        window = await context(runtime, caller.tenant, conversation_id, window_request)
        return _window(request, window, window_request.format)
    if window_request.asks_for_tail:
        raise errors.Invalid.at(["query", "as_of"], "cannot be combined with query, speaker, load or pages")
    window = await as_of(runtime, caller.tenant, conversation_id, window_request, past)
    return _window(request, window, window_request.format)


@router.post(
    "/conversations/{conversation_id}/context",
    response_model=windows.ContextResponse,
    openapi_extra={
        **json_body(windows.ContextBody, {"budget": 8000, "format": "anthropic", "system": "Be brief."}),
        **parameters(CONVERSATION_ID, BRANCH),
    },
)
@every_turn
async def post_context(request: Request, caller: Reader) -> Response:
    """Get the context window with your own system prompt or tools."""
    runtime, conversation_id = runtime_of(request), path_id(request)
    body = await read_model(request, windows.ContextBody)
    require_storable("body", system=body.system)
    window_request = ContextRequest(
        budget=body.budget, model=body.model, query=body.query, recall_max_tokens=body.recall_max_tokens,
        recall_scope=body.recall_scope, recall=body.recall,
        recall_filter=narrowing_of(body.recall_filter, "body", "recall_filter") if body.recall_filter else EVERYTHING,
        load=tuple(dict.fromkeys(body.load)), pages=_page_numbers(body.pages, ["body", "pages"]), format=body.format,
        speaker=body.speaker, system=body.system, tools=tuple(body.tools), bound_to=caller.user_id,
        sensitive=caller.sensitive, call="context",
    )  # fmt: skip
    window_request = _checked(runtime, window_request, "body")
    window = await context(runtime, caller.tenant, conversation_id, window_request)
    return _window(request, window, window_request.format)


def _checked(
    runtime: Runtime, window_request: ContextRequest, part: Literal["body", "query"] = "query"
) -> ContextRequest:
    """Return the request. Raises Invalid if nothing sets a budget and its model's window is unknown."""
    if window_request.model is None or window_request.budget is not None or runtime.defaults.context_window:
        return window_request
    if runtime.defaults.models.window(window_request.model) is None:
        said = "Quire does not know the context window of this model. Set `budget`."
        raise errors.Invalid.at([part, "model"], "is not a model with a known context window", said)
    return window_request


def _window(request: Request, window: Context, form: Format) -> Response:
    headers = {"ETag": window.etag, "Cache-Control": "private, no-cache"}
    if window.receipt:
        headers[RECEIPT] = window.receipt
    if not window.is_plain and (dropped := quoted_in_window(window.window.body, form)):
        headers["X-Quire-Dropped"] = ", ".join(dropped)
    etags = [tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")]
    if window.etag in etags or etags == ["*"]:
        return Response(status_code=304, headers=headers)
    return json_text(window.body, headers=headers)


def _uuids(texts: list[str]) -> tuple[UUID, ...]:
    parts = _parts(texts)
    if len(parts) > TAIL_PARTS_MAX:
        raise errors.Invalid.at(["query", "load"], f"must have at most {TAIL_PARTS_MAX} uuids")
    try:
        return tuple(dict.fromkeys(map(UUID, parts)))
    except ValueError:
        raise errors.Invalid.at(["query", "load"], "must be comma-separated uuids") from None


def _parts(texts: list[str]) -> list[str]:
    return [part.strip() for text in texts if text for part in text.split(",")]


def _numbers(texts: list[str]) -> tuple[int, ...]:
    parts = _parts(texts)
    if not all(part.isascii() and part.isdecimal() for part in parts):
        raise _bad_pages(["query", "pages"])
    return _page_numbers([int(part) for part in parts], ["query", "pages"])


def _page_numbers(numbers: list[int], loc: list[str | int]) -> tuple[int, ...]:
    if len(numbers) > TAIL_PARTS_MAX or not all(1 <= number <= INTEGER_MAX for number in numbers):
        raise _bad_pages(loc)
    return tuple(dict.fromkeys(numbers))


def _bad_pages(loc: list[str | int]) -> errors.Invalid:
    return errors.Invalid.at(loc, "must be up to 20 page numbers, starting at 1")
