"""Requests as values, shared by both clients."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any
from urllib.parse import quote

from quire_client.shapes import Json

Time = date | str
"""A day or, as a datetime, a time; or either as ISO 8601 text."""


@dataclass(frozen=True, slots=True)
class Call:
    method: str
    path: str
    params: Json = field(default_factory=dict)
    body: Json | None = None
    key: str | None = None
    """Return the Idempotency-Key of a write, which retries repeat."""


def given(**members: Any) -> Json:
    """Return the values that are not None."""
    return {name: value for name, value in members.items() if value is not None}


def time_text(time: Time | None) -> str | None:
    return time.isoformat() if isinstance(time, date) else time


def path(*parts: str) -> str:
    return "".join(f"/{quote(part, safe='')}" for part in parts)


def conversation(conversation_id: str, *rest: str) -> str:
    return path("conversations", conversation_id, *rest)


def read(path: str, **params: Any) -> Call:
    return Call("GET", path, params=given(**params))


def ask(path: str, **body: Any) -> Call:
    """Return a POST that changes nothing."""
    return Call("POST", path, body=given(**body))


def write(method: str, path: str, key: str | None, body: Json | None = None) -> Call:
    return Call(method, path, body=body, key=key or str(uuid.uuid4()))


def append(
    conversation_id: str,
    messages: Sequence[Mapping[str, Any]],
    user_id: str | None,
    system: str | None,
    reported_usage: Mapping[str, int] | None,
    key: str | None,
) -> Call:
    body = {"messages": list(messages), **given(user_id=user_id, system=system, reported_usage=reported_usage)}
    return write("POST", conversation(conversation_id, "messages"), key, body)


def sync(
    conversation_id: str,
    messages: Sequence[Mapping[str, Any]],
    user_id: str | None,
    system: str | None,
    reported_usage: Mapping[str, int] | None,
    on_fork: str,
) -> Call:
    more = given(user_id=user_id, system=system, reported_usage=reported_usage)
    body = {"messages": list(messages), "on_fork": on_fork, **more}
    return write("POST", conversation(conversation_id, "sync"), None, body)


def fork(
    conversation_id: str, at: int | str | None, position: str, id_: str | None, title: str | None, shares: str | None,
    key: str | None,
) -> Call:  # fmt: skip
    body = {"position": position, **given(at=at, id=id_, title=title, shares=shares)}
    return write("POST", conversation(conversation_id, "fork"), key, body)


def report(conversation_id: str, text: str | None, at: int | str | None, key: str | None) -> Call:
    return write("POST", conversation(conversation_id, "report"), key, given(text=text, at=at))


def archive(
    tool_name: str,
    result: str,
    tool_input: Any,
    user_id: str | None,
    conversation_id: str | None,
    sources: Sequence[str],
    key: str | None,
) -> Call:
    whose = given(user_id=user_id, conversation_id=conversation_id)
    body = {"tool_name": tool_name, "result": result, "tool_input": tool_input, "sources": list(sources), **whose}
    return write("POST", "/archive", key, body)
