"""Members of an answer other than text and calls: stored with it byte for byte, and sent back to its model.

They form one member of the stored message, ``carried``: the model, the message's members and those of each call. In a
condensed message each has an empty value of its type. ``fitting`` decides which are sent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

KNOWN = frozenset({"role", "content", "tool_calls", "refusal", "native", "function_call", "annotations", "name"})
"""Members of an answer that have a place of their own."""
KNOWN_OF_CALL = frozenset({"id", "type", "function", "index", "custom", "block"})
"""``block``: what else a call of Messages has."""

AUDIO = "audio"

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Carrying:
    """The extra members of an answer, as far as they have arrived."""

    message: Mapping[str, Any] = field(default_factory=dict)
    chunks: tuple[Any, ...] = ()
    """The parts of a content that is a list."""

    def plus(self, delta: Mapping[str, Any]) -> Carrying:
        """Return them with those of another part of the answer. What a native part expresses itself is not repeated."""
        if "native" in delta:
            return self
        content, chunks = delta.get("content"), self.chunks
        if isinstance(content, list):
            chunks = (*chunks, *content)
        elif chunks and content:
            chunks = (*chunks, {"type": "text", "text": content})
        more = {
            name: _spoken(self.message.get(name), value) if name == AUDIO else joined(self.message.get(name), value)
            for name, value in delta.items()
            if name not in KNOWN and isinstance(value, str | list | dict)
        }
        return Carrying({**self.message, **more}, chunks) if more or chunks is not self.chunks else self

    def value(self, model: str, calls: Mapping[str, Json]) -> Json | None:
        """Return the member to store; None if there is nothing to carry."""
        message = dict(self.message)
        if any(isinstance(chunk, dict) and chunk.get("type") != "text" for chunk in self.chunks):
            message["content"] = list(self.chunks)
        if not message and not calls:
            return None
        return {"model": model, "message": message, "calls": dict(calls)}


def _spoken(known: Any, audio: Any) -> Json:
    """Return what identifies an API's own recording. Its words are the answer's text."""
    return {**(known or {}), **{name: audio[name] for name in ("id", "expires_at") if name in audio}}


def joined(one: Any, other: Any) -> Any:
    """Return two pieces of a member as one: strings and lists grow, members of objects too."""
    match one, other:
        case (str(), str()) | (list(), list()):
            return one + other
        case dict(), dict():
            return {**one, **{name: joined(one.get(name), value) for name, value in other.items()}}
    return other


def extras_of(call: Mapping[str, Any]) -> Json:
    return {name: value for name, value in call.items() if name not in KNOWN_OF_CALL and value is not None}


def bare(call: Mapping[str, Any]) -> Json:
    return {name: value for name, value in call.items() if name in KNOWN_OF_CALL - {"index"}}


def text_of(content: Any) -> str | None:
    """Return the text of an answer's content, of a list that of its text parts."""
    if not isinstance(content, list):
        return content if isinstance(content, str) else None
    texts = [part.get("text") for part in content if isinstance(part, Mapping) and part.get("type") == "text"]
    return "".join(text for text in texts if isinstance(text, str))


# --- Thinking in the text --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TagSplitter:
    """Separates the thinking at the beginning of a streamed text from the text."""

    tag: str
    """Such as ``<think>``."""
    thinking: str = ""
    """With its tags and the blanks after them."""
    waiting: str = ""
    is_over: bool = False

    def feed(self, text: str) -> tuple[TagSplitter, str]:
        if self.is_over:
            return self, text
        waiting = self.waiting + text
        begun, held = waiting.lstrip(), replace(self, waiting=waiting)
        if not begun.startswith(self.tag):
            return (held, "") if self.tag.startswith(begun) else held.end()
        found = re.match(rf"(?s)\s*{re.escape(self.tag)}.*?</{re.escape(self.tag[1:])}\s*(?=\S)", waiting)
        if found is None:
            return held, ""
        return replace(self, thinking=found[0], waiting="", is_over=True), waiting[found.end() :]

    def end(self) -> tuple[TagSplitter, str]:
        """Return text that was held back and turned out to be no thinking."""
        if self.is_over:
            return self, ""
        if self.waiting.lstrip().startswith(self.tag):
            return replace(self, thinking=self.waiting, waiting="", is_over=True), ""
        return replace(self, waiting="", is_over=True), self.waiting
