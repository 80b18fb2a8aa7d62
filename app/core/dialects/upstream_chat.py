"""Chat Completions, the model's side. Its form is the neutral one, except for parts from other dialects."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from app.core.dialects.items import custom_call, function_call
from app.core.dialects.question import Json, Question, ShownToClient, UpstreamRequest
from app.core.parts import as_chat


def tools(question: Question) -> list[Json]:
    return list(question.body.get("tools") or ()) if question.dialect == "chat" else list(question.tools)


def request(question: Question, shown: ShownToClient) -> Json:
    """Return the body of a request. Streams always report their usage; the client gets it only on request."""
    options = question.options.get("stream_options")
    told = {**(options if isinstance(options, Mapping) else {}), "include_usage": True}
    streams = question.streams or question.dialect != "chat"
    usage = {"stream": True, "stream_options": told} if streams else {}
    withheld = {} if shown.calls_tools else {"tool_choice": "none"}
    offered = {"tools": shown.tools, **withheld} if shown.tools else {}
    custom = question.customs if question.dialect == "chat" else ()
    unused = () if shown.tools else ("tool_choice", "parallel_tool_calls")
    given = {name: value for name, value in question.options.items() if name not in unused}
    return {**given, **usage, "messages": chat_messages(shown.messages, custom), **offered}


def chat_messages(messages: Sequence[Json], custom: Collection[str] = ()) -> list[Json]:
    """Return the messages with every part in Chat Completions' form. ``custom``: names of custom tools."""
    return [_with_functions(message, custom) for message in as_chat(messages)]


def _with_functions(message: Json, custom: Collection[str]) -> Json:
    if calls := message.get("tool_calls"):
        return {**message, "tool_calls": [custom_call(call, custom) for call in calls]}
    return message


class ChatReader:
    """Its chunks are the neutral ones, but that ``native`` means nothing in them.

    A custom tool's call is read as a function's, once it has come whole: its input is a text.
    """

    def __init__(self) -> None:
        self._custom: list[Json] = []

    def feed(self, event: Mapping[str, Any]) -> list[Json]:
        choices = event.get("choices")
        if not isinstance(choices, list):
            return [dict(event)]
        return [{**event, "choices": [self._read(choice) for choice in choices]}]

    def _read(self, choice: Any) -> Any:
        delta = choice.get("delta") if isinstance(choice, Mapping) else None
        if not isinstance(delta, Mapping):
            return choice
        calls = delta.get("tool_calls")
        plain = [part for part in calls if not self._takes(part)] if isinstance(calls, list) else calls
        if choice.get("finish_reason") and self._custom:
            plain, self._custom = [*(plain or []), *map(function_call, self._custom)], []
        told = {name: value for name, value in delta.items() if name != "native"}
        return {**choice, "delta": {**told, **({"tool_calls": plain} if "tool_calls" in delta or plain else {})}}

    def _takes(self, part: Any) -> bool:
        """Hold back a part of a custom tool's call. Return whether it is one."""
        custom = part.get("custom") if isinstance(part, Mapping) else None
        if not isinstance(custom, Mapping):
            return False
        last = next((call for call in reversed(self._custom) if call.get("index") == part.get("index")), None)
        if last is None or (part.get("id") and part["id"] != last.get("id") and custom.get("name")):
            last = {**part, "custom": {"name": "", "input": ""}}
            self._custom.append(last)
        for name in ("name", "input"):
            last["custom"][name] += custom.get(name) or ""
        return True


def events(whole: Mapping[str, Any]) -> list[Json]:
    """Return the only event of an answer in one piece."""
    choice = dict(whole["choices"][0])
    message = choice.pop("message")
    calls = [{"index": index, **call} for index, call in enumerate(message.get("tool_calls") or [])]
    delta = {**message, **({"tool_calls": calls} if calls else {})}
    return [{**whole, "object": "chat.completion.chunk", "choices": [{**choice, "delta": delta}]}]


ASKED = UpstreamRequest("chat", "/chat/completions", "openai", tools, request, ChatReader, events)
