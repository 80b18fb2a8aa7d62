"""Responses over a WebSocket (Open Responses): each `response.create` is a request, each event of its answer a message.

A message goes to the routes as a POST with the headers of the connection, so keys, limits and storage hold here as
there. One response is answered at a time; what arrives meanwhile waits unread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app import errors
from app.api.http import model_api_errors
from app.api.http.body import checked_object, parse
from app.api.http.callers import caller_of, refuse_foreign_page
from app.concurrency import run_in_thread_if_large
from app.core.canonical import dumps, loads

PATH, CREATE = "/v1/responses", "response.create"
LIFE_SECONDS, IDLE_SECONDS = 3600, 600
"""OpenAI's connections live as long; the client of a silent one can be gone without a word."""
NOT_PASSED = (b"connection", b"upgrade", b"content-length", b"content-type", b"content-encoding")
ERROR = b'{"error":'
"""How an error in a stream begins, which has no type over HTTP."""


class ResponsesOverWebSocket:
    """Answers WebSockets; everything else is the app's."""

    def __init__(self, app: ASGIApp, life_seconds: float = LIFE_SECONDS, idle_seconds: float = IDLE_SECONDS) -> None:
        self._app, self._life_seconds, self._idle_seconds = app, life_seconds, idle_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "websocket":
            await self._app(scope, receive, send)
            return
        posted = _as_post(scope)
        try:
            if not scope["path"].endswith(PATH):
                raise errors.NotFound(f"There is a WebSocket at {PATH} only.")
            refuse_foreign_page(Request(posted))
            (await caller_of(Request(posted))).require("write")
        except errors.QuireError as error:
            await model_api_errors.answer(error, "responses")(scope, receive, send)
            return

        async def say(text: str) -> None:
            with suppress(OSError):  # who has left hears nothing; the answer is stored all the same
                await send({"type": "websocket.send", "text": text})

        await receive()
        await send({"type": "websocket.accept"})
        with suppress(TimeoutError):
            async with asyncio.timeout(self._life_seconds):
                while (message := await asyncio.wait_for(receive(), self._idle_seconds))["type"] == "websocket.receive":
                    await _answer(message.get("text") or "", self._app, posted, say)
            return
        await send({"type": "websocket.close", "reason": "It was open or silent for too long: connect again."})


async def _answer(text: str, app: ASGIApp, posted: Scope, say: Callable[[str], Awaitable[None]]) -> None:
    status, kept = 400, b""

    async def fail(body: bytes | str) -> None:
        found = loads(body)
        error = found.get("error") if isinstance(found, dict) else None
        await say(dumps({"type": "error", "status": 500 if status == 200 else status, "error": error}))

    async def take(message: Message) -> None:
        nonlocal status, kept
        status, kept = message.get("status", status), kept + message.get("body", b"")
        if status != 200 and kept and not message.get("more_body"):
            await fail(kept)
        elif status == 200:
            *lines, kept = kept.split(b"\n")
            for data in (line[6:].strip() for line in lines if line.startswith(b"data: {")):
                await (fail(data) if data.startswith(ERROR) else say(data.decode()))

    try:
        body: list[bytes] = [await run_in_thread_if_large(len(text), _body_of, text)]
    except errors.QuireError as error:
        await fail(dumps(model_api_errors.body(error)))
        return

    async def receive() -> Message:
        if not body:
            await asyncio.Event().wait()  # a client that leaves is noticed where it is told something
        return {"type": "http.request", "body": body.pop()}

    await app({**posted, "state": dict(posted["state"])}, receive, take)


def _body_of(text: str) -> bytes:
    """Return the body of a message's request. Raises BadRequest or Invalid.

    Over a connection the next message can go on from a response that is not stored (Codex does), so each has its id.
    """
    asked = checked_object(parse(text.encode()))
    if asked.pop("type", None) != CREATE or asked.pop("generate", True) is False:
        raise errors.Invalid.at(["body", "type"], f"must be {CREATE}, and `generate` not false")
    return dumps({**asked, "stream": True, "store": True}).encode()


def _as_post(scope: Scope) -> Scope:
    headers = [pair for pair in scope["headers"] if pair[0] not in NOT_PASSED and b"websocket" not in pair[0]]
    return {
        **scope, "type": "http", "method": "POST", "extensions": {}, "state": dict(scope.get("state") or {}),
        "scheme": "https" if scope["scheme"] == "wss" else "http",
        "headers": [*headers, (b"content-type", b"application/json")],
    }  # fmt: skip
