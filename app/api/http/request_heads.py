"""Refuse requests whose head can be read in two ways."""

from __future__ import annotations

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from app import errors
from app.api.http import problem
from app.core.edge.request_head import fault_of


class SoundHeads:
    """Answer 400 to malformed heads before anything reads the request."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (fault := fault_of(scope["headers"], scope["http_version"])):
            await problem.problem(Request(scope), errors.BadRequest(fault))(scope, receive, send)
            return
        await self._app(scope, receive, send)
