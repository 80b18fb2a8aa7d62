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
from app.telemetry.tracing import OPERATION, TraceSpan

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
    """Counts each request under its route's template, and opens a span that continues in the jobs it enqueues. Paths
    are no labels, because there are too many.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        runtime, method = scope["app"].state.runtime, scope["method"]
        started, status = time.perf_counter(), 500

        async def send_and_see(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        told = dict(scope["headers"]).get(b"traceparent", b"") if runtime.tracing.is_on else b""
        with runtime.tracing.span(method, parent=told.decode("ascii", "replace"), kind="SERVER") as span:
            try:
                await self._app(scope, receive, send_and_see)
            finally:
                route = getattr(scope.get("route"), "path", "other")
                counted = method if method in METHODS else "other"
                runtime.metrics.request(counted, route, status, time.perf_counter() - started)
                if span is not None:
                    _describe(span, method, route, status)


def _describe(span: TraceSpan, method: str, route: str, status: int) -> None:
    operation = MEMORY_OPERATIONS.get((method, route))
    span.update_name(operation or f"{method} {route}")
    span.set_attribute("http.response.status_code", status)
    span.set_attribute("http.request.method", method)
    span.set_attribute("http.route", route)
    if operation is not None:
        span.set_attribute(OPERATION, operation)


@router.get("/metrics", include_in_schema=False, dependencies=[READS])
async def metrics(runtime: Wired) -> Response:
    """Get this process's counters, and the work of all processes."""
    await progress.measure(runtime)
    return Response(runtime.metrics.text(), media_type=CONTENT_TYPE_LATEST)
