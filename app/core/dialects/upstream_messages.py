"""Messages, the model's side: send a window as a request, read the answer's events as chunks.

A client of the same dialect gets every option passed on, and its tools as declared. Its cache marks are kept if the
marked text is shown (``marking``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from app.core.canonical import dumps
from app.core.dialects.inbound_messages import arguments_of, grow
from app.core.dialects.marking import CONTROL
from app.core.dialects.question import Json, Question, ShownToClient, UpstreamRequest, function_name

ANSWER_TOKENS = 4096
"""What an answer may have where the client does not say: this API wants a limit."""
PROMPTS_APART = "\n\n"
"""Between the system messages of a conversation."""
MOVED = ("messages", "system", "tools", "thread")
REASONS = {
    "end_turn": "stop", "stop_sequence": "stop", "pause_turn": "stop", "max_tokens": "length",
    "model_context_window_exceeded": "length", "tool_use": "tool_calls", "refusal": "content_filter",
}  # fmt: skip
ENDS = ("stop_reason", "stop_sequence", "stop_details", "container")
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
        given = question.body
    else:
        body, given = _options(question), {}
    messages = _with_marks(shown.messages, given.get("messages"))
    body |= {"model": question.options["model"], "stream": True, "messages": messages}
    if shown.tools:
        own = given.get("tools") or []
        body["tools"] = [*own, *map(_bare, shown.tools[len(own) :])]
        if not shown.calls_tools:
            body["tool_choice"] = {"type": "none"}
    else:
        body.pop("tool_choice", None)
    if shown.system:
        body["system"] = _system(given.get("system"), shown.system)
        if question.dialect != "messages":  # which has no marks of its own
            body["system"][0][CONTROL] = {"type": "ephemeral"}
    return body


def _options(question: Question) -> Json:
    options = question.options
    stop = options.get("stop")
    found = {
        "max_tokens": question.answer_tokens_max or ANSWER_TOKENS,
        "temperature": min(1, options["temperature"]) if type(options.get("temperature")) in (int, float) else None,
        "top_p": options.get("top_p"), "stop_sequences": [stop] if isinstance(stop, str) else stop,
        "tool_choice": _choice(options), "output_config": _output(options.get("response_format")),
    }  # fmt: skip
    return {name: value for name, value in found.items() if value is not None}


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


# --- What the client marked for the prompt cache ----------------------------------------------------------


def _system(given: Any, shown: str) -> list[Json]:
    """Return the system prompt. If it begins with the client's blocks, they stay as they came."""
    blocks = [block for block in given if block["text"]] if isinstance(given, list) else []
    text = PROMPTS_APART.join(block["text"] for block in blocks)
    if not text or not shown.startswith(text):
        return [{"type": "text", "text": shown}]
    rest = shown[len(text) :].strip()
    return [*blocks, *([{"type": "text", "text": rest}] if rest else [])]


def _with_marks(messages: Sequence[Json], given: Any) -> list[Json]:
    """Return messages with the client's marks on the texts that are shown, each once, and no others."""
    marks = {dumps(_bare(block)): block[CONTROL] for block in _blocks(given) if block.get(CONTROL)}
    found = []
    for message in reversed(messages):
        blocks = [_bare(block) for block in reversed(message["content"])]
        blocks = [{**block, CONTROL: mark} if (mark := marks.pop(dumps(block), None)) else block for block in blocks]
        found.append({**message, "content": blocks[::-1]})
    return found[::-1]


def _blocks(messages: Any) -> Iterator[Mapping[str, Any]]:
    for message in messages or ():
        content = message.get("content")
        yield from content if isinstance(content, list) else ()


def _bare(block: Mapping[str, Any]) -> Json:
    return {name: value for name, value in block.items() if name != CONTROL}


# --- The answer -----------------------------------------------------------------------------------------


class MessagesReader:
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
                more = {n: value for n, value in self._block.items() if n not in ("type", "id", "name", "input")}
                call = {"index": self._calls, "id": self._block["id"], "type": "function", "function": function}
                call |= {"block": more} if more else {}
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
        """Return an event that only clients of the same dialect understand. ``part``: a native part, now complete."""
        native: Json = {"dialect": "messages", "event": dict(event)}
        if part is not None:
            native["part"] = part
        return self._chunk({"native": native, **more})

    def _end(self, event: Mapping[str, Any]) -> list[Json]:
        self._usage |= {name: n for name, n in (event.get("usage") or {}).items() if n is not None}
        delta = event.get("delta") or {}
        reason = delta.get("stop_reason") or "end_turn"
        more = {"native_finish_reason": reason, "stop_sequence": delta.get("stop_sequence"), "native_end": {
            "delta": {name: value for name, value in delta.items() if name not in ("stop_reason", "stop_sequence")},
            "event": {name: value for name, value in event.items() if name not in ("type", "delta", "usage")},
        }}  # fmt: skip
        last = self._chunk({}, **more)
        last["choices"][0]["finish_reason"] = REASONS.get(reason, "stop")
        return [last, {**self._head, "choices": [], "usage": chat_usage(self._usage)}]


def chat_usage(usage: Mapping[str, Any]) -> Json:
    """Convert usage from Messages to Chat Completions, where cached tokens are part of the input."""
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
    fresh, read, written, said = (n if type(n := usage.get(name)) is int else 0 for name in names)
    return {
        "prompt_tokens": fresh + read + written, "completion_tokens": said,
        "total_tokens": fresh + read + written + said,
        "prompt_tokens_details": {"cached_tokens": read, "cache_creation_tokens": written}, "messages": dict(usage),
    }  # fmt: skip


def events(whole: Mapping[str, Any]) -> list[Json]:
    found: list[Json] = [{"type": "message_start", "message": whole}]
    for block in whole["content"]:
        found += [{"type": "content_block_start", "content_block": block}, {"type": "content_block_stop"}]
    ends, more = ({n: whole[n] for n in names if n in whole} for names in (ENDS, ("context_management",)))
    return [*found, {"type": "message_delta", "delta": ends, "usage": whole.get("usage"), **more}]


ASKED = UpstreamRequest("messages", "/messages", "anthropic", tools, request, MessagesReader, events)
