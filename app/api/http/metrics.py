"""Requests in numbers, and the page that Prometheus reads."""

from __future__ import annotations

import time

from fastapi import APIRouter
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.http.callers import READS
from app.api.http.runtime import Wired
from app.services.views import progress
from app.telemetry.tracing import OPERATION, traceparent_of

router = APIRouter()

METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})


MEMORY = "/memories/{memory_key:uuid}"
MEMORY_OPERATIONS = {
    ("POST", "/memories"): "create_memory",
    ("PATCH", MEMORY): "update_memory",
    ("DELETE", MEMORY): "delete_memory",
    ("GET", "/memories/search"): "search_memory",
    ("POST", "/memories/search"): "search_memory",
    ("POST", "/memories/recall"): "search_memory",
    ("POST", "/memories/grep"): "search_memory",
}
"""Routes whose spans have a name in OpenTelemetry's conventions for generative AI."""


class Measured:
    """Counts each request under its route's template. Paths are not labels: there are too many."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        status = 500

        async def send_and_see(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, send_and_see)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            method = scope["method"] if scope["method"] in METHODS else "other"
            runtime = scope["app"].state.runtime
            runtime.metrics.request(method, route, status, time.perf_counter() - started)


class Traced:
    """Open a span for each request, which continues in the jobs that it enqueues."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not (tracing := scope["app"].state.runtime.tracing).is_on:
            await self._app(scope, receive, send)
            return
        parent = traceparent_of(dict(scope["headers"]))
        with tracing.span(scope["method"], parent=parent, kind="SERVER") as span:

            async def send_and_see(message: Message) -> None:
                if message["type"] == "http.response.start":
                    span.set_attribute("http.response.status_code", message["status"])
                await send(message)

            await self._app(scope, receive, send_and_see)
            route = getattr(scope.get("route"), "path", "other")
            operation = MEMORY_OPERATIONS.get((scope["method"], route))
            span.update_name(operation or f"{scope['method']} {route}")
            span.set_attribute("http.request.method", scope["method"])
            span.set_attribute("http.route", route)
            if operation is not None:
                span.set_attribute(OPERATION, operation)


@router.get("/metrics", include_in_schema=False, dependencies=[READS])
async def metrics(runtime: Wired) -> Response:
    """Counters of this process, and the work of all."""
    await progress.measure(runtime)
    return Response(runtime.metrics.text(), media_type=CONTENT_TYPE_LATEST)
