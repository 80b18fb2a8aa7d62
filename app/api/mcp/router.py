"""The route of MCP (streamable HTTP). The protocol is in `server`, whose SDK is imported at the first request.

The SDK takes a quarter of a second of CPU to import, and most services never speak MCP.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from contextvars import Context
from typing import TYPE_CHECKING, Any

import anyio.to_thread
from fastapi import APIRouter, Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from app import errors
from app.api.http.body import read_bytes
from app.api.http.callers import OAUTH_SCOPES, Reader, refuse_foreign_page
from app.api.http.fast_routes import every_turn
from app.api.http.runtime import runtime_of
from app.concurrency import run_in_thread_if_large
from app.core.canonical import dumps, loads
from app.runtime import Runtime

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

router = APIRouter(tags=["tools"])


NAMES = ("user_id", "conversation_id", "language")
READ_MAX_BYTES = 1024 * 1024
"""The SDK takes no more."""
UNUSABLE_ID = "`id` must be a string or a whole number."
_QUERY: dict[str, Any] = {"parameters": [{"name": name, "in": "query", "schema": {"type": "string"}} for name in NAMES]}


@router.post("/mcp", include_in_schema=False, openapi_extra=_QUERY)
@every_turn
async def mcp(request: Request, caller: Reader) -> Response:
    """Serve MCP over streamable HTTP. The SDK implements the protocol.

    There is no GET, because its stream would stay empty, and no DELETE, because there are no sessions.
    """
    request.state.caller = caller
    refuse_foreign_page(request)
    body = await read_bytes(request, READ_MAX_BYTES)
    if await run_in_thread_if_large(len(body), has_unusable_id, body):
        error = {"code": -32600, "message": f"Invalid request: {UNUSABLE_ID}"}
        return Response(dumps({"jsonrpc": "2.0", "id": None, "error": error}), 400, media_type="application/json")
    on_demand: OnDemand = request.app.state.mcp
    return _Handed(await on_demand.manager(), body)


@router.get("/.well-known/oauth-protected-resource{of:path}", include_in_schema=False)
async def protected_resource(request: Request, of: str) -> Response:
    """Tell OAuth clients where to get a token for /mcp (RFC 9728). Raises NotFound without an issuer."""
    if of not in ("", "/mcp"):
        raise errors.NotFound("This path does not exist.")
    issuer = runtime_of(request).identity.issuer
    if issuer is None:
        raise errors.NotFound("No issuer of tokens is set (QUIRE_JWT_ISSUER): use an API key.")
    resource = str(request.base_url.replace(path="/mcp"))
    told = {
        "resource": resource, "resource_name": "Quire", "authorization_servers": [issuer],
        "bearer_methods_supported": ["header"], "scopes_supported": OAUTH_SCOPES.split(),
    }  # fmt: skip
    return Response(dumps(told), media_type="application/json")


class _Handed(Response):
    """A response that the session manager writes."""

    def __init__(self, manager: StreamableHTTPSessionManager, body: bytes) -> None:
        super().__init__()
        self._manager, self._body = manager, body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        parts: Iterator[Message] = iter([{"type": "http.request", "body": self._body}])

        async def again() -> Message:
            return next(parts, None) or await receive()

        await self._manager.handle_request(scope, again, send)


def has_unusable_id(body: bytes) -> bool:
    """Return whether the SDK would mistake a request for a notification and never answer it."""
    told = loads(body)
    is_request = isinstance(told, dict) and "id" in told and "method" in told
    return is_request and (not isinstance(told["id"], str | int) or isinstance(told["id"], bool))


class OnDemand:
    """The session manager of an app, started by the first request that needs it."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._ready: asyncio.Future[StreamableHTTPSessionManager] | None = None
        self._task: asyncio.Task[None] | None = None

    async def manager(self) -> StreamableHTTPSessionManager:
        if self._ready is None:
            self._ready = asyncio.get_running_loop().create_future()
            # Keep its logs apart from those of the request that came first.
            self._task = asyncio.create_task(self._run(self._ready), context=Context())
        return await asyncio.shield(self._ready)

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _run(self, ready: asyncio.Future[StreamableHTTPSessionManager]) -> None:
        """Run the manager in a single task, as its task group requires."""
        try:
            make = await anyio.to_thread.run_sync(_imported)
            manager = make(self._runtime)
        except Exception as error:  # noqa: BLE001 - the requests that wait for it raise it
            ready.set_exception(error)
            return
        async with manager.run():
            ready.set_result(manager)
            await asyncio.Event().wait()


def _imported() -> Callable[[Runtime], StreamableHTTPSessionManager]:
    from app.api.mcp.server import manager

    return manager
