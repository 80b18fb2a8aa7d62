"""Send the events of an answer as server-sent events, without invalid characters."""

from __future__ import annotations

from typing import Any

from app.core.canonical import dumps
from app.core.dialects.question import Event
from app.text.language import scalar

DONE = b"data: [DONE]\n\n"
"""What ends a stream of Chat Completions."""


def sent(event: Event) -> bytes:
    name, data = event
    named = f"event: {name}\n" if name else ""
    return f"{named}data: {scalar(dumps(data))}\n\n".encode()


def scalars(value: Any) -> Any:
    """Return a value without lone surrogates, which cannot be sent or stored."""
    if isinstance(value, str):
        return scalar(value)
    if isinstance(value, list):
        return [scalars(item) for item in value]
    if isinstance(value, dict):
        return {scalar(name): scalars(item) for name, item in value.items()}
    return value
