"""Condense messages: cut results and long texts, and leave thinking out.

A cut text keeps its beginning and states its length and how to read the rest. Arguments of calls stay JSON with the
same structure.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.core import wording
from app.core.canonical import dumps
from app.core.messages import CARRIED, THINKING_FIELDS, THINKING_PARTS, flat_tokens, has_thinking
from app.core.model import Language
from app.core.parts import chat_parts, quoted

LONG_TEXT = 2_000
"""Characters above which texts of users and assistants are cut like results: a single one would fill the zone."""
FILE_LONG = 2_000
"""Tokens above which a condensed message shows only a file's name; images have fewer."""
DEPTH_CUT = 8
"""Texts nested deeper than this in a call's arguments are not cut: they are data, not documents."""

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Condensing:
    page: int
    longest: int
    """Characters that a cut text keeps."""
    language: Language

    def messages(self, view: Sequence[Message], first_lines: Mapping[str, str] | None = None) -> list[Message]:
        """Condense chat messages. ``first_lines`` maps placeholders to their first lines, which are never cut."""
        return [self._message(message, first_lines or {}) for message in view]

    def _message(self, message: Message, first_lines: Mapping[str, str]) -> Message:
        content = message.get("content")
        if message["role"] == "tool":
            line = first_lines.get(content, "") if isinstance(content, str) else ""
            kept = self if len(line) <= self.longest else replace(self, longest=len(line))  # so that it still resolves
            return {**message, "content": kept.cut(content)}
        said = _without_thinking(message) if message["role"] == "assistant" and has_thinking(message) else message
        return self._with_long_cut(said) if message["role"] in ("user", "assistant") else said

    def cut(self, content: Any) -> Any:
        text = content if isinstance(content, str) else "\n".join(_part_text(part) for part in content)
        if len(text) <= self.longest:
            return text
        return wording.RESULT_CUT.say(self.language, text=text[: self.longest], length=len(text), page=self.page)

    def _with_long_cut(self, message: Message) -> Message:
        if any(self._is_long(call["function"]["arguments"]) for call in message.get("tool_calls") or ()):
            message = {**message, "tool_calls": [self._call(call) for call in message["tool_calls"]]}
        content = message.get("content")
        if isinstance(content, str):
            return {**message, "content": self.cut(content)} if self._is_long(content) else message
        if not isinstance(content, list):
            return message
        parts = [self._part(part) for part in content]
        return message if parts == content else {**message, "content": parts}

    def _part(self, part: Message) -> Message:
        if flat_tokens({"content": [part]}) > FILE_LONG:
            return {"type": "text", "text": self.cut(quoted(part))}
        if not self._is_long(text := _text_of(part)):
            return part
        return {**(part if "text" in part else {"type": "text"}), "text": self.cut(text)}

    def _call(self, call: Message) -> Message:
        function = call["function"]
        if not self._is_long(function["arguments"]):
            return call
        try:
            arguments = dumps(self._with_texts_cut(json.loads(function["arguments"]), DEPTH_CUT))
        except (ValueError, RecursionError):
            return call
        return {**call, "function": {**function, "arguments": arguments}}

    def _with_texts_cut(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return self.cut(value)
        if depth and isinstance(value, list):
            return [self._with_texts_cut(one, depth - 1) for one in value]
        if depth and isinstance(value, dict):
            return {name: self._with_texts_cut(one, depth - 1) for name, one in value.items()}
        return value

    def _is_long(self, text: Any) -> bool:
        return isinstance(text, str) and len(text) > max(LONG_TEXT, self.longest)


def long_texts(message: Message) -> Iterator[str]:
    """Yield the texts of a message that condensing may cut, other than results."""
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    yield from (text for part in parts if _is_text(text := _text_of(part)))
    for call in message.get("tool_calls") or ():
        if _is_text(arguments := call["function"]["arguments"]):
            try:
                yield from _texts_in(json.loads(arguments), DEPTH_CUT)
            except (ValueError, RecursionError):
                continue


def _text_of(part: Message) -> str:
    """Return the text that a model reads of a part of any API; "" for a file."""
    if isinstance(part.get("text"), str) or flat_tokens({"content": [part]}):
        return str(part.get("text") or "")
    return "\n".join(found["text"] for found in chat_parts(part) if found["type"] == "text")


def _is_text(text: Any) -> bool:
    return isinstance(text, str) and len(text) > LONG_TEXT


def _texts_in(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, list | dict):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts_in(one, depth - 1)


def _without_thinking(message: Message) -> Message:
    result = {name: value for name, value in message.items() if name not in THINKING_FIELDS}
    if CARRIED in result:
        result[CARRIED] = _emptied(result[CARRIED])
    if isinstance(result.get("content"), list):
        result["content"] = [part for part in result["content"] if part["type"] not in THINKING_PARTS] or ""
    return result


def _emptied(carried: Message) -> Message:
    """Return an answer's carried members, each with an empty value of its type."""
    message = {name: type(value)() for name, value in carried["message"].items() if name != "content"}
    calls = {id_: {name: type(value)() for name, value in more.items()} for id_, more in carried["calls"].items()}
    return {"model": carried["model"], "message": message, "calls": calls}


def _part_text(part: Any) -> str:
    if isinstance(part, dict) and isinstance(part.get("text"), str):
        return str(part["text"])
    return f"[{part.get('type', 'part')}]" if isinstance(part, dict) else dumps(part)
