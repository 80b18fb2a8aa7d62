"""Responses whose bodies are JSON text already."""

from functools import partial

import anyio.to_thread
from starlette.responses import Response

from app.core.canonical import dumps


def json_text(body: str | bytes, *, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(body, status, headers, "application/json")


def json_value(body: object, *, status: int = 200) -> Response:
    return json_text(dumps(body), status=status)


async def long_json_value(body: object, *, status: int = 200) -> Response:
    """Return a JSON response, serialised in a thread because it may be megabytes."""
    return await anyio.to_thread.run_sync(partial(json_value, body, status=status))
