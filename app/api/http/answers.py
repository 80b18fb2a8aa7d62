"""Responses whose bodies are JSON text already."""

from collections.abc import Mapping, Sequence
from types import GenericAlias
from typing import Any

import anyio.to_thread
from pydantic import BaseModel, create_model
from starlette.responses import Response

from app.api.http import cursors
from app.core.canonical import dumps


def json_text(body: str | bytes, *, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(body, status, headers, "application/json")


def json_value(body: object, *, status: int = 200) -> Response:
    return json_text(dumps(body), status=status)


def list_of(name: str, item: type[BaseModel]) -> type[BaseModel]:
    """Return the model of what ``page_of`` returns, under its name in the OpenAPI document."""
    members: dict[str, Any] = {"items": (GenericAlias(list, item), ...), "next_cursor": (str | None, ...)}
    return create_model(name, **members)


def page_of(items: Sequence[Mapping[str, Any]], limit: int, place: str) -> Response:
    """Return a page of ``items``, one more than it shows if the list goes on. Cursors encode the member ``place``."""
    more = cursors.encode(items[limit - 1][place]) if len(items) > limit else None
    return json_value({"items": items[:limit], "next_cursor": more})


async def long_json_value(body: object) -> Response:
    """Return a JSON response, serialised in a thread because it may be megabytes."""
    return await anyio.to_thread.run_sync(json_value, body)
