"""Chat Completions, the model's side: the neutral form is its own, but for parts that come from other dialects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app.core.dialects.items import CUSTOM
from app.core.dialects.question import Json, Question, ShownToClient, UpstreamRequest
from app.core.parts import as_chat


def tools(question: Question) -> list[Json]:
    return list(question.tools)


def request(question: Question, shown: ShownToClient) -> Json:
    """Return the body of a request. Clients of other dialects are told the usage, so theirs asks for it."""
    usage = {} if question.dialect == "chat" else {"stream": True, "stream_options": {"include_usage": True}}
    withheld = {} if shown.calls_tools else {"tool_choice": "none"}
    offered = {"tools": shown.tools, **withheld} if shown.tools else {}
    options = question.options if shown.tools else _without_tools(question.options)
    return {**options, **usage, "messages": chat_messages(shown.messages), **offered}


def _without_tools(options: Mapping[str, Any]) -> Json:
    return {name: value for name, value in options.items() if name not in ("tool_choice", "parallel_tool_calls")}


def chat_messages(messages: Sequence[Json]) -> list[Json]:
    """Return the messages with every part in Chat Completions' form."""
    return as_chat(map(_unmarked, messages))


def _unmarked(message: Json) -> Json:
    """Return a message without the marks of custom tools, which no API knows."""
    if calls := message.get("tool_calls"):
        return {**message, "tool_calls": [{n: value for n, value in call.items() if n != CUSTOM} for call in calls]}
    return {n: value for n, value in message.items() if n != CUSTOM} if CUSTOM in message else message


class ChatReader:
    """Its chunks are the neutral ones, but that ``native`` means nothing in them."""

    def feed(self, event: Mapping[str, Any]) -> list[Json]:
        choices = event.get("choices")
        if not isinstance(choices, list) or not any(_says_native(choice) for choice in choices):
            return [dict(event)]
        return [{**event, "choices": [_without_native(c) if _says_native(c) else c for c in choices]}]


def _says_native(choice: Any) -> bool:
    delta = choice.get("delta") if isinstance(choice, Mapping) else None
    return isinstance(delta, Mapping) and "native" in delta


def _without_native(choice: Mapping[str, Any]) -> Json:
    return {**choice, "delta": {name: value for name, value in choice["delta"].items() if name != "native"}}


def events(whole: Mapping[str, Any]) -> list[Json]:
    """Return the one event that an answer in one piece is."""
    choice = whole["choices"][0]
    message = choice["message"]
    calls = [{"index": index, **call} for index, call in enumerate(message.get("tool_calls") or [])]
    delta = {**message, **({"tool_calls": calls} if calls else {})}
    return [{**whole, "choices": [{**choice, "delta": delta}]}]


ASKED = UpstreamRequest("chat", "/chat/completions", "openai", tools, request, ChatReader, events)
