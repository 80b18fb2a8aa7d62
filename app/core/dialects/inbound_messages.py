"""Messages, the client's side: read a request as a question, write an answer as events.

Messages are stored unchanged: Quire knows their form. Only the system prompt moves into the list. An answer's text and
calls become blocks of their own; blocks that only a Messages API makes (signed thinking, its own tools) are passed on
with a new index. Unsigned thinking is left out, because no Messages API would accept it back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from app.core.canonical import loads
from app.core.dialects.carried import joined
from app.core.dialects.question import Event, Json, Question
from app.core.dialects.usage import ModelUsage
from app.errors import FieldError, Invalid

STOP_REASONS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"}
CLOSINGS_MAX = 20
CHOICES = {"auto": "auto", "any": "required", "none": "none"}


def question(body: Mapping[str, Any]) -> Question:
    """Read a validated request. Raises Invalid for its tools' names and its system prompt, which are checked here."""
    problems: list[FieldError] = []
    functions: list[Json] = []
    hosted: dict[str, str] = {}
    for place, tool in enumerate(body.get("tools") or ()):
        kind = tool.get("type")
        if not isinstance(tool.get("name", kind), str):
            problems.append({"loc": ["body", "tools", place], "msg": "must be an object with a `name`"})
        elif kind in (None, "custom"):
            functions.append(_function(tool))
        else:
            hosted[f"tools.{place}"] = str(kind)
    messages = [*_system(body.get("system"), problems), *body["messages"]]
    if problems:
        raise Invalid(errors=problems)
    return Question("messages", body, messages, _options(body), tuple(functions), hosted)


def _system(system: Any, problems: list[FieldError]) -> list[Json]:
    blocks = [{"type": "text", "text": system}] if isinstance(system, str) else system or []
    found = []
    for place, block in enumerate(blocks):
        if block.get("type") != "text" or not isinstance(block.get("text"), str):
            problems.append({"loc": ["body", "system", place], "msg": "must be a text block"})
        elif block["text"]:
            found.append({"role": "system", "content": block["text"]})
    return found


def _function(tool: Mapping[str, Any]) -> Json:
    function = {"name": tool["name"], "description": tool.get("description"), "parameters": tool.get("input_schema")}
    if tool.get("strict") is not None:
        function["strict"] = tool["strict"]
    return {"type": "function", "function": {name: value for name, value in function.items() if value is not None}}


def _options(body: Mapping[str, Any]) -> Json:
    output = body.get("output_config")
    shape = (output.get("format") if isinstance(output, Mapping) else None) or body.get("output_format")
    options = {
        "model": body.get("model"), "max_tokens": body.get("max_tokens"), "temperature": body.get("temperature"),
        "top_p": body.get("top_p"), "stop": body.get("stop_sequences"),
        "response_format": _response_format(shape) if isinstance(shape, Mapping) else None,
        **_choice(body.get("tool_choice")),
    }  # fmt: skip
    return {name: value for name, value in options.items() if value is not None}


def _response_format(shape: Mapping[str, Any]) -> Json:
    schema = {"name": "answer", "schema": shape.get("schema"), "strict": True}
    return {"type": "json_schema", "json_schema": schema}


def _choice(choice: Any) -> Json:
    if not isinstance(choice, Mapping):
        return {}
    kind = choice.get("type")
    found: Json = {}
    if kind == "tool":
        found["tool_choice"] = {"type": "function", "function": {"name": choice.get("name")}}
    elif isinstance(kind, str) and kind in CHOICES:
        found["tool_choice"] = CHOICES[kind]
    if choice.get("disable_parallel_tool_use"):
        found["parallel_tool_calls"] = False
    return found


# --- The answer -----------------------------------------------------------------------------------------


class MessagesWriter:
    def __init__(self, id_: str, model: str) -> None:
        self._id, self._model = id_, model
        self._blocks: list[Json] = []
        self._open: str | None = None
        """What the last block holds while it is open: text, a native part's or a call's name for itself."""
        self._arguments = ""
        self._began = False
        self._reason, self._sequence, self._ends = "end_turn", None, dict[str, Json]()
        self._usage: Json = {"input_tokens": 0, "output_tokens": 0}

    def feed(self, chunk: Mapping[str, Any]) -> list[Event]:
        events = self._begin()
        for choice in chunk.get("choices") or []:
            delta = choice.get("delta") or {}
            if isinstance(native := delta.get("native"), Mapping) and native.get("dialect") == "messages":
                events += self._native(native["event"])
            for text in (delta.get("content"), delta.get("refusal")):
                if isinstance(text, str) and text:
                    events += self._text(text)
            for call in delta.get("tool_calls") or []:
                events += self._call(call)
            if reason := choice.get("finish_reason"):
                self._reason = choice.get("native_finish_reason") or STOP_REASONS.get(reason, "end_turn")
                self._sequence, self._ends = choice.get("stop_sequence"), choice.get("native_end") or {}
        return events

    def end(self, usage: Mapping[str, Any] | None) -> list[Event]:
        self._usage = messages_usage(usage)
        delta = {"stop_reason": self._reason, "stop_sequence": self._sequence, **self._ends.get("delta", {})}
        more = self._ends.get("event", {})
        return [
            *self._begin(),
            *self._close(),
            ("message_delta", {"type": "message_delta", "delta": delta, "usage": self._usage, **more}),
            ("message_stop", {"type": "message_stop"}),
        ]

    def whole(self) -> Json:
        return {
            **self._message(), "stop_reason": self._reason, "stop_sequence": self._sequence, "content": self._blocks,
            **self._ends.get("delta", {}), **self._ends.get("event", {}),
        }  # fmt: skip

    def _message(self) -> Json:
        head = {"id": self._id, "type": "message", "role": "assistant", "model": self._model, "content": []}
        return {**head, "stop_reason": None, "stop_sequence": None, "usage": self._usage}

    def _begin(self) -> list[Event]:
        if self._began:
            return []
        self._began = True
        return [("message_start", {"type": "message_start", "message": self._message()})]

    def _start(self, holds: str, block: Json) -> list[Event]:
        events = self._close()
        self._open, self._arguments = holds, ""
        self._blocks.append(block)
        shown = {**block, "input": {}} if block["type"] == "tool_use" else dict(block)
        place = len(self._blocks) - 1
        return [*events, ("content_block_start", _at("content_block_start", place, content_block=shown))]

    def _delta(self, delta: Json) -> Event:
        return "content_block_delta", _at("content_block_delta", len(self._blocks) - 1, delta=delta)

    def _close(self) -> list[Event]:
        if self._open is None:
            return []
        last = self._blocks[-1]
        if "input" in last and self._arguments:
            last["input"] = arguments_of(self._arguments)
        self._open = None
        return [("content_block_stop", _at("content_block_stop", len(self._blocks) - 1))]

    def _text(self, text: str) -> list[Event]:
        events = [] if self._open == "text" else self._start("text", _text_block())
        self._blocks[-1]["text"] += text
        return [*events, self._delta({"type": "text_delta", "text": text})]

    def _call(self, call: Mapping[str, Any]) -> list[Event]:
        holds, function = f"call {call['index']}", call.get("function") or {}
        events: list[Event] = []
        if self._open != holds:
            block: Json = {"type": "tool_use", "id": call.get("id"), "name": function.get("name"), "input": {}}
            block |= call.get("block") or {}
            events = self._start(holds, block)
        if arguments := function.get("arguments"):
            self._arguments += arguments
            events.append(self._delta({"type": "input_json_delta", "partial_json": arguments}))
        return events

    def _native(self, event: Mapping[str, Any]) -> list[Event]:
        kind = event["type"]
        if kind == "content_block_start" and event["content_block"]["type"] == "text":
            citations = event["content_block"].get("citations")  # its text begins it
            return [*self._close(), *(self._start("text", _text_block(citations)) if citations else [])]
        if kind == "content_block_start":
            return self._start("native", dict(event["content_block"]))
        if kind == "content_block_stop":
            return self._close()
        delta = dict(event["delta"])
        begun = self._start("text", _text_block()) if delta["type"] == "citations_delta" and not self._open else []
        if not self._blocks or self._open is None:
            return []
        self._arguments += delta.get("partial_json") or ""
        grow(self._blocks[-1], delta)
        return [*begun, self._delta(delta)]


def _text_block(citations: Any = None) -> Json:
    return {"type": "text", "text": "", **({"citations": citations} if citations else {})}


def grow(block: Json, delta: Mapping[str, Any]) -> None:
    """Add a delta to its block, except a call's input, which is parsed once it is complete."""
    for name, value in delta.items():
        if name == "citation":
            block["citations"] = [*(block.get("citations") or []), value]
        elif name not in ("type", "partial_json") and value is not None:
            block[name] = joined(block.get(name), value)


def arguments_of(text: str) -> Json:
    """Return a call's input. Of a cut one, return the complete part, because Anthropic's clients send that back."""
    found = loads(text or "{}")
    if found is None:
        found = next((whole for whole in map(loads, _closings(text)) if whole is not None), None)
    return found if isinstance(found, dict) else {"arguments": text}


def _closings(text: str) -> Iterator[str]:
    """Yield the beginnings of a cut JSON text that can be closed, each with its closing brackets, longest first."""
    is_within, stack, ends = False, "", list[tuple[int, str]]()
    for at, character in enumerate(text):
        if character == '"' and not (is_within and re.search(r"(?<!\\)(\\\\)*\\$", text[max(0, at - 64) : at])):
            is_within = not is_within
        elif not is_within and character in "[{":
            stack += "]" if character == "[" else "}"
            ends.append((at + 1, stack))
        elif not is_within and character in "]}":
            stack = stack[:-1]
            ends.append((at + 1, stack))
        elif not is_within and character == ",":
            ends.append((at, stack))
    return (text[:at] + open_[::-1] for at, open_ in reversed(ends[-CLOSINGS_MAX:]))


def _at(kind: str, index: int, **more: Any) -> Json:
    return {"type": kind, "index": index, **more}


def messages_usage(usage: Mapping[str, Any] | None) -> Json:
    """Convert usage from Chat Completions to Messages, where cached tokens are not part of the input."""
    used = ModelUsage.read(usage) or ModelUsage(0, 0, 0)
    return {
        **((usage or {}).get("messages") or {}), "output_tokens": used.completion_tokens,
        "input_tokens": used.prompt_tokens - used.cached_tokens - used.written_tokens,
        "cache_read_input_tokens": used.cached_tokens, "cache_creation_input_tokens": used.written_tokens,
    }  # fmt: skip
