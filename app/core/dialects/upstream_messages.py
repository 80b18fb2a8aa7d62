"""Messages, the model's side: send a window as a request, read the answer's events as chunks.

A client of the same dialect has every option passed on, and its own tools as it declared them. Its marks for the prompt
cache are kept where what they stand on is shown (``marking``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from app.core.canonical import dumps
from app.core.dialects.inbound_messages import arguments_of, grow
from app.core.dialects.marking import MARKS_MAX
from app.core.dialects.question import Json, Question, ShownToClient, UpstreamRequest, function_name

ANSWER_TOKENS = 4096
"""What an answer may have where the client does not say: this API wants a limit."""
MOVED = ("messages", "system", "tools")
REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}
CHOICES = {"auto": "auto", "required": "any", "none": "none"}


def tools(question: Question) -> list[Json]:
    if question.dialect == "messages":
        return list(question.body.get("tools") or ())
    return [_tool(tool["function"]) for tool in question.tools]


def _tool(function: Mapping[str, Any]) -> Json:
    schema = function.get("parameters") or {"type": "object", "properties": {}}
    tool = {"name": function["name"], "description": function.get("description"), "input_schema": schema}
    return {name: value for name, value in tool.items() if value is not None}


def request(question: Question, shown: ShownToClient) -> Json:
    if question.dialect == "messages":
        body = {name: value for name, value in question.body.items() if name not in MOVED}
        mark, kept = _mark(question.body), _own(question.body)
    else:
        body, mark, kept = _options(question), {"type": "ephemeral"}, frozenset()
    body |= {"model": question.options["model"], "stream": True, "messages": shown.messages}
    if shown.tools:
        body["tools"] = shown.tools
        if not shown.calls_tools:
            body["tool_choice"] = {"type": "none"}
    else:
        body.pop("tool_choice", None)
    if shown.system:
        body["system"] = [{"type": "text", "text": shown.system}]
    return _cached(body, mark, kept)


def _options(question: Question) -> Json:
    options = question.options
    stop = options.get("stop")
    found = {
        "max_tokens": question.answer_tokens_max or ANSWER_TOKENS,
        "temperature": min(1, options["temperature"]) if _is_number(options.get("temperature")) else None,
        "top_p": options.get("top_p"),
        "stop_sequences": [stop] if isinstance(stop, str) else stop,
        "tool_choice": _choice(options),
        "output_config": _output(options.get("response_format")),
    }
    return {name: value for name, value in found.items() if value is not None}


def _is_number(value: object) -> bool:
    return type(value) in (int, float)


def _choice(options: Mapping[str, Any]) -> Json | None:
    choice = options.get("tool_choice")
    single = {"disable_parallel_tool_use": True} if options.get("parallel_tool_calls") is False else {}
    if isinstance(choice, Mapping):
        return {"type": "tool", "name": function_name(choice), **single}
    if isinstance(choice, str) and choice in CHOICES:
        return {"type": CHOICES[choice], **(single if choice != "none" else {})}
    return {"type": "auto", **single} if single else None


def _output(response_format: Any) -> Json | None:
    if not isinstance(response_format, Mapping) or response_format.get("type") != "json_schema":
        return None
    named = response_format.get("json_schema")
    return {"format": {"type": "json_schema", "schema": named.get("schema") if isinstance(named, Mapping) else None}}


# --- Cache marks ----------------------------------------------------------------------------------------


def _mark(body: Mapping[str, Any]) -> Json | None:
    """Return the mark to set: the client's longest; None if it set none."""
    marks = [block["cache_control"] for block in _blocks([body.get(n) for n in MOVED]) if block.get("cache_control")]
    longest = [mark for mark in marks if isinstance(mark, Mapping) and mark.get("ttl") == "1h"]
    found = [*longest, *marks]
    return found[0] if found else None


def _blocks(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, list):
        for item in value:
            yield from _blocks(item)
    elif isinstance(value, Mapping):
        yield value
        yield from _blocks(value.get("content"))


def _cached(body: Json, mark: Json | None, kept: frozenset[str]) -> Json:
    """Return the body with the client's kind of marks; the system prompt's comes last, if another one is allowed."""
    parts: Json = {name: _marked(body[name], mark) for name in ("tools", "messages") if name in body}
    used = sum("cache_control" in block for block in _blocks(list(parts.values())))
    if mark is not None and "system" in body and used < MARKS_MAX:
        parts["system"] = [*body["system"][:-1], {**body["system"][-1], "cache_control": mark}]
        used += 1
    if kept and "messages" in parts:
        parts["messages"] = _kept(parts["messages"], kept, MARKS_MAX - used, mark)
    return {**body, **parts}


def _kept(messages: list[Json], kept: frozenset[str], most: int, mark: Json | None) -> list[Json]:
    found = [*messages]
    for at in range(len(found) - 1, -1, -1):
        content: Any = found[at].get("content")
        for n, block in enumerate(content) if isinstance(content, list) else ():
            if most > 0 and "cache_control" not in block and dumps(block) in kept:
                content = [*content[:n], {**block, "cache_control": mark}, *content[n + 1 :]]
                most -= 1
        found[at] = {**found[at], "content": content}
    return found


def _own(client: Mapping[str, Any]) -> frozenset[str]:
    marked = (block for block in _blocks(client.get("messages")) if block.get("cache_control"))
    return frozenset(dumps({n: value for n, value in block.items() if n != "cache_control"}) for block in marked)


def _marked(value: Any, mark: Json | None) -> Any:
    if isinstance(value, list):
        return [_marked(item, mark) for item in value]
    if not isinstance(value, Mapping):
        return value
    found = {name: item for name, item in value.items() if name != "cache_control"}
    if isinstance(found.get("content"), list):
        found["content"] = _marked(found["content"], mark)
    return {**found, "cache_control": mark} if "cache_control" in value and mark is not None else found


# --- The answer -----------------------------------------------------------------------------------------


class MessagesReader:
    """Reads the events of Messages."""

    def __init__(self) -> None:
        self._head: Json = {}
        self._usage: Json = {}
        self._block: Json = {}
        self._input = ""
        self._calls = 0

    def feed(self, event: Mapping[str, Any]) -> list[Json]:
        match event.get("type"):
            case "message_start":
                message = event["message"]
                self._head = {
                    "id": f"chatcmpl-{message.get('id')}", "object": "chat.completion.chunk",
                    "model": message.get("model"),
                }  # fmt: skip
                self._usage = dict(message.get("usage") or {})
                return [self._chunk({"role": "assistant"})]
            case "content_block_start":
                return self._start(event)
            case "content_block_delta":
                return self._delta(event)
            case "content_block_stop":
                return self._stop(event)
            case "message_delta":
                return self._end(event)
        return []

    def _chunk(self, delta: Json, **more: Any) -> Json:
        return {**self._head, "choices": [{"index": 0, "delta": delta, "finish_reason": None, **more}]}

    def _start(self, event: Mapping[str, Any]) -> list[Json]:
        self._block, self._input = dict(event["content_block"]), ""
        match self._block["type"]:
            case "text":
                said = [self._chunk({"content": self._block["text"]})] if self._block.get("text") else []
                return [self._native(event), *said]
            case "tool_use":
                function = {"name": self._block["name"], "arguments": ""}
                call = {"index": self._calls, "id": self._block["id"], "type": "function", "function": function}
                return [self._chunk({"tool_calls": [call]})]
        return [self._native(event)]

    def _delta(self, event: Mapping[str, Any]) -> list[Json]:
        delta, kind = event["delta"], self._block.get("type")
        grow(self._block, delta)
        self._input += delta.get("partial_json") or ""
        if delta.get("type") == "text_delta" and kind == "text":
            return [self._chunk({"content": delta["text"]})]
        if kind == "tool_use":
            call = {"index": self._calls, "function": {"arguments": delta.get("partial_json") or ""}}
            return [self._chunk({"tool_calls": [call]})]
        thought = {"reasoning_content": delta["thinking"]} if delta.get("type") == "thinking_delta" else {}
        return [self._native(event, **thought)]

    def _stop(self, event: Mapping[str, Any]) -> list[Json]:
        kind = self._block.get("type")
        if kind == "tool_use":
            whole = {"index": self._calls, "function": {"arguments": dumps(self._block.get("input") or {})}}
            self._calls += 1
            return [] if self._input else [self._chunk({"tool_calls": [whole]})]
        if kind == "text":
            return [self._native(event, part=self._block if self._block.get("citations") else None)]
        if self._input:
            self._block["input"] = arguments_of(self._input)
        return [self._native(event, part=self._block)]

    def _native(self, event: Mapping[str, Any], part: Json | None = None, **more: Any) -> Json:
        """Return an event that only clients of the same dialect understand; ``part``: what has now come whole."""
        native: Json = {"dialect": "messages", "event": dict(event)}
        if part is not None:
            native["part"] = part
        return self._chunk({"native": native, **more})

    def _end(self, event: Mapping[str, Any]) -> list[Json]:
        self._usage |= {name: n for name, n in (event.get("usage") or {}).items() if n is not None}
        delta = event.get("delta") or {}
        reason = delta.get("stop_reason") or "end_turn"
        more = {"native_finish_reason": reason, "stop_sequence": delta.get("stop_sequence")}
        last = self._chunk({}, **more)
        last["choices"][0]["finish_reason"] = REASONS.get(reason, "stop")
        return [last, {**self._head, "choices": [], "usage": chat_usage(self._usage)}]


def chat_usage(usage: Mapping[str, Any]) -> Json:
    """Convert usage from Messages to Chat Completions, where cached tokens are part of the input."""
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
    fresh, read, written, said = (n if type(n := usage.get(name)) is int else 0 for name in names)
    return {
        "prompt_tokens": fresh + read + written,
        "completion_tokens": said,
        "total_tokens": fresh + read + written + said,
        "prompt_tokens_details": {"cached_tokens": read, "cache_creation_tokens": written},
    }


def events(whole: Mapping[str, Any]) -> list[Json]:
    found: list[Json] = [{"type": "message_start", "message": whole}]
    for block in whole["content"]:
        found += [{"type": "content_block_start", "content_block": block}, {"type": "content_block_stop"}]
    end = {name: whole.get(name) for name in ("stop_reason", "stop_sequence")}
    return [*found, {"type": "message_delta", "delta": end, "usage": whole.get("usage")}]


ASKED = UpstreamRequest("messages", "/messages", "anthropic", tools, request, MessagesReader, events)
