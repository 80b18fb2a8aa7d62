"""The route of MCP (streamable HTTP). The protocol is `mcp_server`'s, whose SDK is imported at the first request.

The SDK takes a quarter of a second of CPU to import, and most services never speak MCP.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context
from typing import TYPE_CHECKING

import anyio.to_thread
from fastapi import APIRouter, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from app.api.scope import Reader
from app.runtime import Runtime

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

router = APIRouter(tags=["tools"])


@router.post("/mcp", include_in_schema=False)
async def mcp(request: Request, caller: Reader) -> Response:
    """MCP over streamable HTTP; the protocol itself is the SDK's matter.

    There is no GET, whose stream would never carry anything, and no DELETE, since there are no sessions.
    """
    request.state.caller = caller
    on_demand: OnDemand = request.app.state.mcp
    return _Handed(await on_demand.manager())


class _Handed(Response):
    """The answer is written by the session manager."""

    def __init__(self, manager: StreamableHTTPSessionManager) -> None:
        super().__init__()
        self._manager = manager

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._manager.handle_request(scope, receive, send)


class OnDemand:
    """The session manager of an app, started by the first request that needs it."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._ready: asyncio.Future[StreamableHTTPSessionManager] | None = None
        self._task: asyncio.Task[None] | None = None

    async def manager(self) -> StreamableHTTPSessionManager:
        if self._ready is None:
            self._ready = asyncio.get_running_loop().create_future()
            # Its logs are not those of the request that came first.
            self._task = asyncio.create_task(self._run(self._ready), context=Context())
        return await asyncio.shield(self._ready)

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _run(self, ready: asyncio.Future[StreamableHTTPSessionManager]) -> None:
        """In one task, since the manager has a task group."""
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
    from app.api.mcp_server import manager

    return manager
