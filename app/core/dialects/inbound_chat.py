"""Chat Completions, the client's side. Its form is the neutral one, so nearly everything passes through."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.core.dialects.question import Event, Json, Question


def question(body: Mapping[str, Any]) -> Question:
    """Read a request that was checked already."""
    options = {name: value for name, value in body.items() if name not in ("messages", "tools")}
    return Question("chat", body, body["messages"], options, tuple(body.get("tools") or ()))


class ChatWriter:
    """Pass chunks on, without the parts of other dialects."""

    def __init__(self, created: int = 0, *, tells_usage: bool = True) -> None:
        self._created, self._tells_usage = created, tells_usage
        self._head: Json = {}
        self._said: Json = {}
        self._calls: dict[int, Json] = {}
        self._reason = "stop"
        self._usage: Mapping[str, Any] | None = None

    def feed(self, chunk: Mapping[str, Any]) -> list[Event]:
        own = {name: value for name, value in chunk.items() if name not in ("choices", "usage")}
        self._head = {"created": self._created, **own}
        choices = [_shown(choice) for choice in chunk.get("choices") or []]
        for choice in choices:
            self._reason = choice.get("finish_reason") or self._reason
            self._add(choice["delta"])
        return [(None, {**self._head, "choices": choices})] if any(_says(choice) for choice in choices) else []

    def end(self, usage: Mapping[str, Any] | None) -> list[Event]:
        self._usage = usage
        told = usage is not None and self._tells_usage
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
                known["function"]["arguments"] += (part.get("function") or {}).get("arguments") or ""


def _shown(choice: Mapping[str, Any]) -> Json:
    delta = {name: value for name, value in (choice.get("delta") or {}).items() if name != "native"}
    shown = {name: value for name, value in choice.items() if name not in ("native_finish_reason", "stop_sequence")}
    return {**shown, "delta": delta}


def _says(choice: Mapping[str, Any]) -> bool:
    return bool(choice["delta"]) or choice.get("finish_reason") is not None or choice.get("logprobs") is not None
