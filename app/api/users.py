"""A user's or a conversation's data as a whole: erased, taken out, put in."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request
from starlette.requests import ClientDisconnect
from starlette.responses import Response, StreamingResponse

from app import errors
from app.api.http.answers import json_text, json_value
from app.api.http.body import is_media_type, parse, parse_model, read_json, require_utf8
from app.api.http.callers import Reader, Writer
from app.api.http.path_ids import SLASH, ConversationId, check_id
from app.api.http.runtime import Wired
from app.api.http.writes import Write
from app.api.schemas import conversations as schemas
from app.api.schemas.conversations import policy_text
from app.concurrency import run_in_thread_if_large
from app.core.canonical import dumps
from app.services.lifecycle import erasing_whole, exporting
from app.services.lifecycle.exporting import Export
from app.services.lifecycle.importing import Limit, import_lines
from app.store import conversations
from app.text.masks import Masks

router = APIRouter(tags=["users"])


async def _user_id(
    user_id: Annotated[str, Path(description="1 to 128 characters, no control characters", examples=["me"])],
) -> str:
    return check_id(user_id.replace(SLASH, "/"), ["path", "user_id"])


UserId = Annotated[str, Depends(_user_id)]
OWN = ("path", "user_id")


@router.delete("/users/{user_id}", response_model=schemas.ErasureResponse)
async def delete_user(write: Write, user_id: UserId) -> Response:
    """Erase all data of a user: conversations, archives, memories, keys. Returns the number of rows per table.

    Each conversation is erased in its own transaction. If the request is cut off, repeat it: it continues where it
    stopped.
    """
    write.caller.user(user_id, OWN)

    async def work() -> str:
        done = await erasing_whole.erase_user(write.runtime, write.caller.tenant, user_id)
        return dumps({"id": user_id, **done.view})

    return json_text(await write.by_steps(work))


NDJSON = "application/x-ndjson"
LINES_IN_A_STEP = 25
"""Lines of an import after which other requests get a turn: a chunk may hold hundreds."""
LINES: dict[int | str, dict[str, Any]] = {
    200: {"description": "One JSON object per line, in order.", "content": {NDJSON: {"schema": {"type": "string"}}}}
}


@router.get("/users/{user_id}/export", response_class=StreamingResponse, responses=LINES)
async def export_user(runtime: Wired, caller: Reader, user_id: UserId) -> Response:
    """Export all data of a user as lines for `POST /import`: conversations, archives, memories, and derived data. For
    an unknown user only the header is returned.
    """
    caller.user(user_id, OWN)
    return await streamed(exporting.user(Export(runtime, caller.tenant, caller.sensitive), user_id))


@router.get("/conversations/{conversation_id}/export", response_class=StreamingResponse, responses=LINES)
async def export_conversation(runtime: Wired, caller: Reader, conversation_id: ConversationId) -> Response:
    """Export a conversation, with its archives and memories, as lines for `POST /import`."""
    async with runtime.database.snapshot(caller.tenant) as tx:
        await conversations.get(tx, conversation_id, bound_to=caller.user_id)
    of = Export(runtime, caller.tenant, caller.sensitive)
    return await streamed(exporting.conversation(of, conversation_id, caller.user_id))


async def streamed(lines: AsyncIterator[str]) -> Response:
    """Begin the response once the database has been read: errors before that still have a status."""
    header, first = await anext(lines), await anext(lines, None)

    async def body() -> AsyncIterator[bytes]:
        yield _encoded(header)
        if first is not None:
            yield _encoded(first)
        async for line in lines:
            yield await run_in_thread_if_large(len(line), _encoded, line)

    return StreamingResponse(body(), media_type=NDJSON)


def _encoded(line: str) -> bytes:
    return f"{line}\n".encode()


IMPORTED = (
    {"type": "header", "format": "quire", "version": 1},
    {"type": "conversation", "id": "imported", "user_id": "me"},
    {"type": "message", "conversation_id": "imported", "seq": 1, "message": {"role": "user", "content": "Hello"}},
)
LINES_BODY: dict[str, Any] = {
    "required": True,
    "content": {  # the page at /docs sends the first
        "application/json": {"schema": {"type": "array", "items": {"type": "object"}}, "example": IMPORTED},
        NDJSON: {"schema": {"type": "string"}, "example": "".join(f"{dumps(line)}\n" for line in IMPORTED)},
    },
}


@router.post("/import", response_model=schemas.Imported, openapi_extra={"requestBody": LINES_BODY})
async def import_data(request: Request, runtime: Wired, caller: Writer) -> Response:
    """Import the lines of an export, one JSON object per line, stored as they arrive; or a JSON array of them.

    Repeating an import changes nothing: existing items count as `matched`. An invalid line (422), or one that
    contradicts what is stored (409), is named in the error; the lines before it stay.
    """
    if is_media_type(request, "application/json"):
        lines = _items(await read_json(request))
    elif is_media_type(request, NDJSON, "application/jsonl"):
        require_utf8(request.headers)
        lines = _lines(request, runtime.masks, runtime.defaults.limits.body_bytes)
    else:
        raise errors.UnsupportedMediaType(f"The Content-Type must be {NDJSON} or application/json.")

    def settings(value: dict[str, Any]) -> str:
        overrides = parse_model(schemas.PolicyOverrides, value, ["settings"])
        return policy_text(runtime.defaults, overrides, ["settings"])

    return json_value(await import_lines(runtime, caller.tenant, lines, Limit(settings, caller.user_id)))


async def _items(value: Any) -> AsyncIterator[tuple[int, Any]]:
    if not isinstance(value, list):
        raise errors.Invalid.at(["body"], "must be an array of the lines of an export")
    for number, item in enumerate(value, 1):
        yield number, item
        if number % LINES_IN_A_STEP == 0:
            await asyncio.sleep(0)


async def _lines(request: Request, masks: Masks, max_bytes: int) -> AsyncIterator[tuple[int, Any]]:
    """Yield the body's lines with their numbers, each no longer than a body may be."""
    number, rest = 0, bytearray()
    try:
        async for chunk in request.stream():
            *whole, tail = bytes(chunk).split(b"\n")
            for piece in whole:
                number += 1
                rest += piece
                if line := _line(number, rest, max_bytes):
                    yield number, await run_in_thread_if_large(len(line), _parsed, number, line, masks)
                rest.clear()
                if number % LINES_IN_A_STEP == 0:
                    await asyncio.sleep(0)
            rest += tail
            await asyncio.sleep(0)  # the next chunk may be ready already; give others a turn
            if len(rest) > max_bytes:
                _line(number + 1, rest, max_bytes)
    except ClientDisconnect:
        raise errors.BadRequest("The body ended early.") from None
    if line := _line(number + 1, rest, max_bytes):
        yield number + 1, await run_in_thread_if_large(len(line), _parsed, number + 1, line, masks)


def _line(number: int, rest: bytearray, max_bytes: int) -> bytes:
    if len(rest) > max_bytes:
        raise errors.PayloadTooLarge(
            f"Line {number} is larger than {max_bytes} bytes.",
            errors=[{"loc": ["line", number], "msg": f"must have at most {max_bytes} bytes"}],
            headers={"Connection": "close"},
        )
    return bytes(rest).strip()


def _parsed(number: int, line: bytes, masks: Masks) -> Any:
    try:
        return masks.value(parse(line))
    except (errors.BadRequest, errors.Invalid) as error:
        raise errors.Invalid(
            f"Line {number}: {error.detail}", errors=[{"loc": ["line", number], "msg": error.detail}]
        ) from None
