"""A client's request in the neutral form, and the interfaces of both sides of a translation."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from app.core.canonical import dumps
from app.core.model import Format

Dialect = Literal["chat", "messages", "responses"]
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Question:
    dialect: Dialect
    """The client's."""
    body: Mapping[str, Any]
    """As sent."""
    messages: Sequence[Any]
    """In OpenAI's or Anthropic's form, the system prompt first."""
    options: Mapping[str, Any]
    """Everything but the messages and tools, as Chat Completions names it."""
    tools: tuple[Json, ...] = ()
    """The client's functions, in OpenAI form."""
    hosted: Mapping[str, str] = field(default_factory=dict)
    """What only an API of the same dialect can do: its place in the body, and its name."""

    @property
    def streams(self) -> bool:
        return bool(self.body.get("stream"))

    @property
    def customs(self) -> frozenset[str]:
        """The names of the client's custom tools, whose input is text; none in Messages."""
        tools = self.body.get("tools") or () if self.dialect != "messages" else ()
        return frozenset(name for tool in tools if tool.get("type") == "custom" and (name := function_name(tool)))

    @property
    def answer_tokens_max(self) -> int:
        """The client's limit on the answer's length; 0 if there is none."""
        limits = [self.options.get(name) for name in ("max_completion_tokens", "max_tokens")]
        return max((n for n in limits if type(n) is int), default=0)


@dataclass(frozen=True, slots=True)
class ShownToClient:
    """The window for the model, with its tools."""

    messages: list[Json]
    system: str | None
    """Beside the messages, where the API has it there."""
    tools: list[Json]
    """In the API's own form."""
    calls_tools: bool = True
    """False: the tools are there because the messages have calls of them, and are not to be called."""


class AnswerReader(Protocol):
    """Reads the events of an API's stream as chunks of Chat Completions."""

    def feed(self, event: Mapping[str, Any]) -> list[Json]: ...


@dataclass(frozen=True, slots=True)
class UpstreamRequest:
    """Calls of the model's API in its dialect."""

    dialect: Dialect
    path: str
    window: Format
    tools: Callable[[Question], list[Json]]
    """The client's tools in the API's form."""
    request: Callable[[Question, ShownToClient], Json]
    """The body of a request whose answer is streamed."""
    reader: Callable[[], AnswerReader]
    events: Callable[[Mapping[str, Any]], list[Json]]
    """The events of an answer that came in one piece."""


Event = tuple[str | None, Json]
"""A server-sent event: its name, where the dialect names its events, and its data."""


class Writer(Protocol):
    """Writes one answer in a client's dialect from chunks of Chat Completions."""

    def feed(self, chunk: Mapping[str, Any]) -> list[Event]:
        """Return the events for a chunk."""

    def end(self, usage: Mapping[str, Any] | None) -> list[Event]:
        """Return the events that end it."""

    def whole(self) -> Json:
        """Return the complete answer as one body, after ``end``."""


def function_name(tool: object) -> str | None:
    """Return the name of a tool in any dialect's form."""
    if not isinstance(tool, Mapping):
        return None
    function = tool.get("function") or tool.get("custom")
    name = (function if isinstance(function, Mapping) else tool).get("name")
    return name if isinstance(name, str) else None


# --- One message more, in a request whose every other byte stays as it was sent --------------------------------

LISTS: dict[Dialect, str] = {"chat": "messages", "messages": "messages", "responses": "input"}
_BLANK = " \t\n\r"
_decode = json.JSONDecoder().raw_decode


def with_message(body: bytes, dialect: Dialect, text: str) -> bytes:
    """Add a user message to a JSON request, unless it has no list or its list ends with an answer to be continued."""
    said = body.decode()
    end = _end_of_list(said, LISTS[dialect])
    if end is None:
        return body
    return f"{said[:end]},{dumps({'role': 'user', 'content': text})}{said[end:]}".encode()


def _end_of_list(said: str, name: str) -> int | None:
    at = _after_blanks(said, _after_blanks(said, 0) + 1)
    while said[at] != "}":
        key, at = _decode(said, at)
        value, at = _decode(said, _after_blanks(said, _after_blanks(said, at) + 1))
        if key == name:
            last = value[-1] if isinstance(value, list) and value else None
            return at - 1 if isinstance(last, dict) and last.get("role") != "assistant" else None
        at = _after_blanks(said, at)
        if said[at] == ",":
            at = _after_blanks(said, at + 1)
    return None


def _after_blanks(said: str, at: int) -> int:
    while said[at] in _BLANK:
        at += 1
    return at
