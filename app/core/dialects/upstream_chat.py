"""Chat Completions, the model's side: the neutral form is its own, but for parts that come from other dialects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app.core.dialects.items import CUSTOM
from app.core.dialects.question import Json, Question, ShownToClient, UpstreamRequest

UNREADABLE = frozenset({"reasoning", "thinking", "redacted_thinking", "compaction"})
HOSTED = frozenset({"tool_use_id", "input"})
"""What marks a hosted tool's call or result."""


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
    """Return the messages with every part in Chat Completions' form.

    Tool results are text there, so their other parts follow as a user message after the last result of the calls.
    """
    found: list[Json] = []
    beside: list[Json] = []
    for message in map(_unmarked, messages):
        if message["role"] != "tool" and beside:
            found.append({"role": "user", "content": beside})
            beside = []
        content = message.get("content")
        if not isinstance(content, list):
            found.append(message)
            continue
        parts = [part for sent in content for part in _part(sent)]
        if message["role"] == "tool":
            beside += [part for part in parts if part["type"] != "text"]
            parts = [part for part in parts if part["type"] == "text"]
        found.append({**message, "content": parts or (None if message.get("tool_calls") else "")})
    return [*found, {"role": "user", "content": beside}] if beside else found


def _unmarked(message: Json) -> Json:
    """Return a message without the marks of custom tools, which no API knows."""
    if calls := message.get("tool_calls"):
        return {**message, "tool_calls": [{n: value for n, value in call.items() if n != CUSTOM} for call in calls]}
    return {n: value for n, value in message.items() if n != CUSTOM} if CUSTOM in message else message


def _part(part: Json) -> list[Json]:
    """Convert a content part; empty if no Chat Completions API reads it."""
    match part["type"]:
        case "text":
            return [{"type": "text", "text": part["text"]}] if part["text"] else []
        case "image":
            return _image(_source(part))
        case "document":
            return _document(part)
        case "search_result":
            return _search_result(part)
    return [] if part["type"] in UNREADABLE or set(part) & HOSTED else [part]


def _source(part: Mapping[str, Any]) -> Mapping[str, Any]:
    source = part.get("source")
    return source if isinstance(source, Mapping) else {}


def _image(source: Mapping[str, Any]) -> list[Json]:
    url = source.get("url") or f"data:{source.get('media_type')};base64,{source.get('data')}"
    return [{"type": "image_url", "image_url": {"url": url}}] if source.get("type") in ("base64", "url") else []


def _document(part: Mapping[str, Any]) -> list[Json]:
    source = _source(part)
    title = str(part.get("title") or "document")
    match source.get("type"):
        case "text":
            return [{"type": "text", "text": f"{title}\n{source.get('data', '')}"}]
        case "base64":
            data = f"data:{source.get('media_type')};base64,{source.get('data')}"
            return [{"type": "file", "file": {"filename": title, "file_data": data}}]
        case "content" if isinstance(source.get("content"), list):
            texts = [inner for inner in source["content"] if isinstance(inner, dict) and inner.get("type") == "text"]
            return [{"type": "text", "text": str(inner.get("text") or "")} for inner in texts]
        case "url":
            return [{"type": "text", "text": f"[{title}: {source.get('url')}]"}]
    return []


def _search_result(part: Mapping[str, Any]) -> list[Json]:
    content = part.get("content")
    blocks = content if isinstance(content, list) else []
    texts = [block["text"] for block in blocks if isinstance(block, Mapping) and isinstance(block.get("text"), str)]
    return [{"type": "text", "text": "\n".join([f"{part.get('title', '')} ({part.get('source', '')})", *texts])}]


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
