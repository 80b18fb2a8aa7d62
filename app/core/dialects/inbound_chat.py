"""Chat Completions, the client's side. Its form is the neutral one, so nearly everything passes through."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, Literal

from app.core.dialects.items import custom_call, custom_function
from app.core.dialects.question import Event, Json, Question, function_name

REASONS = ("native_finish_reason", "stop_sequence", "native_end")
"""How an answer ended, in the words of Messages."""
UsagePlace = Literal["after", "within", ""]
"""Where a stream has its usage: in a chunk after the last, within that as Mistral's API does, or nowhere."""
_THINKING = re.compile(r"\s*<think>.*?</think>\s*", re.DOTALL)


def question(body: Mapping[str, Any]) -> Question:
    """Read a request that was checked already."""
    options = {name: value for name, value in body.items() if name not in ("messages", "tools")}
    said = [_without_thinking(message) for message in body["messages"]]
    return Question("chat", body, said, options, tuple(map(_function, body.get("tools") or ())))


def _without_thinking(message: Any) -> Any:
    """Return an answer without thinking in its text: Dify and others show it there and send it back."""
    content = message.get("content") if isinstance(message, Mapping) and message.get("role") == "assistant" else None
    found = _THINKING.match(content) if isinstance(content, str) else None
    return {**message, "content": content[found.end() :]} if found and content else message


def _function(tool: Json) -> Json:
    custom = tool.get("custom")
    if not isinstance(custom, Mapping) or not isinstance(custom.get("name"), str):
        return tool
    form = custom.get("format")
    grammar = form.get("grammar") if isinstance(form, Mapping) else None
    definition = grammar.get("definition") if isinstance(grammar, Mapping) else None
    return {"type": "function", "function": custom_function(custom["name"], custom.get("description"), definition)}


class ChatWriter:
    """Passes chunks on, without parts of other dialects. A custom tool's call is passed on once it is complete."""

    def __init__(self, created: int = 0, custom: Collection[str] = (), usage: UsagePlace = "after") -> None:
        self._created, self._usage_place, self._reason = created, usage, "stop"
        self._custom, self._held = custom, dict[int, Json]()
        self._head, self._said, self._calls = Json(), Json(), dict[int, Json]()
        self._usage: Mapping[str, Any] | None = None

    def feed(self, chunk: Mapping[str, Any]) -> list[Event]:
        dropped = ("choices",) if self._usage_place == "within" else ("choices", "usage")
        own = {name: value for name, value in chunk.items() if name not in dropped}
        self._head = {"created": self._created, **own}
        choices = [self._shown(choice) for choice in chunk.get("choices") or []]
        for choice in choices:
            self._reason = choice.get("finish_reason") or self._reason
            self._add(choice["delta"])
        return [(None, {**self._head, "choices": choices})] if any(_says(choice) for choice in choices) else []

    def end(self, usage: Mapping[str, Any] | None) -> list[Event]:
        self._usage = usage = usage and {name: value for name, value in usage.items() if name != "messages"}
        told = usage is not None and self._usage_place == "after"
        return [(None, {**self._head, "choices": [], "usage": usage})] if told else []

    def whole(self) -> Json:
        calls = {"tool_calls": [call for _, call in sorted(self._calls.items())]} if self._calls else {}
        message = {"role": "assistant", "content": None, **self._said, **calls}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": self._reason}
        usage = {"usage": self._usage} if self._usage is not None else {}
        return {**self._head, "object": "chat.completion", "choices": [choice], **usage}

    def _add(self, delta: Mapping[str, Any]) -> None:
        for name, value in delta.items():
            if name in ("role", "tool_calls"):
                continue
            before = self._said.get(name)
            self._said[name] = before + value if isinstance(before, str) and isinstance(value, str) else value
        for part in delta.get("tool_calls") or []:
            call = {name: value for name, value in part.items() if name != "index"}
            known = self._calls.setdefault(part["index"], call)
            if known is not call:
                _grow(known, part)

    def _shown(self, choice: Mapping[str, Any]) -> Json:
        shown = {name: value for name, value in choice.items() if name not in REASONS}
        shown["delta"] = delta = {n: v for n, v in (choice.get("delta") or {}).items() if n != "native"}
        calls = [{n: v for n, v in part.items() if n != "block"} for part in delta.pop("tool_calls", None) or []]
        passed = [part for part in calls if not self._holds(part)]
        if choice.get("finish_reason") is not None:
            passed += [custom_call(call, self._custom) for call in self._held.values()]
            self._held.clear()
        if passed:
            delta["tool_calls"] = passed
        return shown

    def _holds(self, part: Mapping[str, Any]) -> bool:
        """Hold back a part of a custom tool's call. Return whether it is one."""
        if (call := self._held.get(part["index"])) is not None:
            _grow(call, part)
        elif function_name(part) in self._custom:
            self._held[part["index"]] = {**part, "function": dict(part["function"])}
        else:
            return False
        return True


def _grow(call: Json, part: Mapping[str, Any]) -> None:
    call["function"]["arguments"] += (part.get("function") or {}).get("arguments") or ""


def _says(choice: Mapping[str, Any]) -> bool:
    return bool(choice["delta"]) or choice.get("finish_reason") is not None or choice.get("logprobs") is not None
