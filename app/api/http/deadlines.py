"""Deadlines: for a request's head and body to arrive, and for a response to begin.

Uvicorn reads the head before there is a request, so its deadline is in the protocol; so are those for the rest of a
body that was answered before it was read (with 401, say) and is discarded, and for responses waiting to be read.
Without them a client that sends or reads a byte now and then could hold a connection and its write buffer indefinitely.
"""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from app import errors
from app.api.http import problem

BODY_BYTES_A_SECOND = 64 * 1024
"""A body that comes at least as fast has all the time it needs."""


READ_BYTES_A_SECOND = 1024
"""A client that reads its answer at least as fast has all the time it needs."""


ENDLESS = "quire.endless"


def end_with_client(scope: Scope) -> None:
    """Let a request that has no end of its own end once its client closes its side of the connection.

    Only then is a client that left noticed before something is written to it.
    """
    if (end := scope.get("extensions", {}).get(ENDLESS)) is not None:  # another server has its own rule
        end()


class Deadlines:
    """Answer 408 to a body that does not arrive in time and 503 if no response begins in time.

    A response that has begun may take longer: it may be a stream.
    """

    def __init__(self, app: ASGIApp, *, request_seconds: float, body_seconds: float) -> None:
        self._app = app
        self._request_seconds = request_seconds
        self._body_seconds = body_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope.setdefault("state", {})["arrived"] = asyncio.get_running_loop().time()  # the head; the body can take long
        begun = False
        deadline = asyncio.timeout(self._request_seconds)

        async def sending(message: Message) -> None:
            nonlocal begun
            if not begun and not deadline.expired():
                begun = True
                deadline.reschedule(None)
            await send(message)

        try:
            async with deadline:
                await self._app(scope, self._arriving(receive), sending)
        except TimeoutError:
            if begun or not deadline.expired():
                raise
            overdue = errors.Overdue(
                f"The response did not begin within {self._request_seconds:g} seconds. The request can have succeeded:"
                " retry with the same Idempotency-Key, or check."
            )
            await problem.problem(Request(scope), overdue)(scope, receive, send)

    def _arriving(self, receive: Receive) -> Receive:
        due: float | None = None
        arrived, whole = 0, False

        async def receiving() -> Message:
            nonlocal due, arrived, whole
            if whole:
                return await receive()
            if due is None:
                due = asyncio.get_running_loop().time() + self._body_seconds
            try:
                async with asyncio.timeout_at(due + arrived / BODY_BYTES_A_SECOND):
                    message = await receive()
            except TimeoutError:
                raise errors.TooSlow(f"The body did not arrive within {self._body_seconds:g} seconds.") from None
            arrived += len(message.get("body", b""))
            whole = not message.get("more_body", False)
            return message

        return receiving


class _Watched(asyncio.Protocol):
    """A protocol that cuts off a client which does not read: a plain close would wait for that for ever."""

    transport: asyncio.Transport
    loop: asyncio.AbstractEventLoop
    reading_seconds = 30.0
    _reading: asyncio.TimerHandle | None = None
    _has_read = False

    def pause_writing(self) -> None:
        """Watch the client: the write buffer has grown too large."""
        super().pause_writing()
        self._watch()

    def resume_writing(self) -> None:
        self._has_read = True
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._reading is not None:
            self._reading.cancel()
        super().connection_lost(exc)

    def _watch(self) -> None:
        """Check periodically whether the write buffer shrinks."""
        if self._reading is None and (waits := self.transport.get_write_buffer_size()):
            self._has_read = False
            self._reading = self.loop.call_later(self.reading_seconds, self._look, waits)

    def _look(self, waited: int) -> None:
        self._reading = None
        waits = self.transport.get_write_buffer_size()
        if waits and not self._has_read and waited - waits < self.reading_seconds * READ_BYTES_A_SECOND:
            self.transport.abort()
        else:
            self._watch()


class Impatient(_Watched, HttpToolsProtocol):
    """Uvicorn's protocol with deadlines for the next head, the rest of an answered request, and the client's reading.

    Between two requests uvicorn's own keep-alive time holds. It drops trailers: uvicorn appends them to the headers, so
    one that comes with the body could pass for a key.
    """

    head_seconds = 10.0
    body_seconds = 30.0
    _timer: asyncio.TimerHandle | None = None
    _is_whole = True
    _is_head = True
    _is_half_closed = False
    _is_endless = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._wait(self.head_seconds)

    def on_message_begin(self) -> None:
        self._is_whole, self._is_head = False, True
        if self._timer is None:
            self._wait(self.head_seconds)
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._is_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._waited()
        self._is_head = False
        super().on_headers_complete()
        self.scope["extensions"] = {ENDLESS: self._ends_with_client}  # type: ignore[dict-item]  # ours

    def on_message_complete(self) -> None:
        self._is_whole = True
        self._waited()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._is_endless = False
        if not self._is_whole:
            self._wait(self.body_seconds)
        self._watch()
        if self._is_half_closed and not self._is_answering:
            self.transport.close()

    def eof_received(self) -> bool:  # type: ignore[override]  # asyncio takes an answer, uvicorn gives none
        """Keep the connection of a client that has sent a whole request and closed its side, until it is answered."""
        self._is_half_closed = True
        return self._is_whole and self._is_answering and not self._is_endless

    def _ends_with_client(self) -> None:
        self._is_endless = True
        if self._is_half_closed:
            self.transport.close()

    @property
    def _is_answering(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle  # None before the first request, whatever uvicorn declares
        return bool(self.pipeline) or (cycle is not None and not cycle.response_complete)

    def connection_lost(self, exc: Exception | None) -> None:
        self._waited()
        super().connection_lost(exc)

    def _wait(self, seconds: float) -> None:
        self._waited()
        self._timer = self.loop.call_later(seconds, self.transport.close)

    def _waited(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class ImpatientSocket(_Watched, WebSocketsSansIOProtocol):
    """Uvicorn's WebSocket, with a deadline for the client's reading."""

    async def send(self, message: Any) -> None:
        await super().send(message)
        self.handshake_complete |= self.close_sent  # of a refusal, which uvicorn would log as an error


def impatient(head_seconds: float, body_seconds: float, reading_seconds: float) -> dict[str, Any]:
    """Return uvicorn's options for protocols with these deadlines; it makes one for each connection.

    A pong has none: a message that waits for its turn holds back what comes after it, pongs too.
    """
    deadlines = {"head_seconds": head_seconds, "body_seconds": body_seconds, "reading_seconds": reading_seconds}
    return {
        "http": type("Impatient", (Impatient,), deadlines), "ws_ping_timeout": None,
        "ws": type("ImpatientSocket", (ImpatientSocket,), {"reading_seconds": reading_seconds}),
    }  # fmt: skip
