"""A streamed answer, part by part: what of it the client is given at once, and what it was in the end.

Text goes on as it comes. Of tool calls nothing can go on before it is known whose they are, which their names say; a
name is whole once the call's arguments, another call or the end have begun. What a model says before Quire recalls
something for it and what it says after are one answer to the client: one id, one role, one end.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from app.core.proxy import PAUSE, added, sound_calls

Chunk = dict[str, Any]


@dataclass
class _Call:
    """A call as far as it has come."""

    id: str
    more: dict[str, Any]
    name: str = ""
    arguments: str = ""
    outer: int | None = None
    """Its place among the client's, once it was given on."""
    is_decided: bool = False


@dataclass
class Deltas:
    """The parts of an answer, over all of its rounds."""

    recall_tools: Collection[str]
    client_tools: Collection[str]
    text: str = ""
    """All that the client was given."""
    refusal: str = ""
    finish_reason: str | None = None
    """Of this round; None: its end has not come."""
    usage: dict[str, Any] | None = None
    """Of all rounds."""
    _head: dict[str, Any] | None = None
    """What every chunk of one answer has in common, by its first."""
    _began: bool = False
    """The client was told the role."""
    _pause: bool = False
    _calls: dict[int, _Call] = field(default_factory=dict)
    _outer: int = 0
    _used: dict[str, Any] | None = None

    def begin(self) -> None:
        """A round of the answer: a call of the model."""
        self.finish_reason = None
        self._calls.clear()
        self._pause = bool(self.text)

    @property
    def calls(self) -> list[dict[str, Any]]:
        """The calls of this round."""
        return sound_calls(
            [
                {**c.more, "id": c.id, "function": {"name": c.name, "arguments": c.arguments}}
                for _, c in sorted(self._calls.items())
            ]
        )

    def feed(self, chunk: Mapping[str, Any]) -> list[Chunk]:
        """What of a chunk goes on to the client."""
        if self._head is None:
            self._head = {name: value for name, value in chunk.items() if name not in ("choices", "usage")}
        if chunk.get("usage") is not None:
            self._used = added(None, chunk["usage"])
        choices = chunk.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
            return []
        choice = choices[0]
        self.finish_reason = choice.get("finish_reason") or self.finish_reason
        delta = choice.get("delta")
        passed = self._pass(dict(delta) if isinstance(delta, Mapping) else {})
        if not passed and choice.get("logprobs") is None:
            return []
        return [self._chunk({**choice, "delta": passed, "finish_reason": None})]

    def end_round(self) -> list[Chunk]:
        """What was held back of the round's calls and is the client's."""
        if self._used is not None:
            self.usage, self._used = added(self.usage, self._used), None
        calls = [delta for _, call in sorted(self._calls.items()) for delta in self._decide(call)]
        return (
            [self._chunk({"index": 0, "delta": self._role({"tool_calls": calls}), "finish_reason": None})]
            if calls
            else []
        )

    def end(self, finish_reason: str) -> Chunk:
        """The last chunk but that with the usage."""
        return self._chunk({"index": 0, "delta": self._role({}), "finish_reason": finish_reason})

    def usage_chunk(self) -> Chunk:
        return {**(self._head or {}), "choices": [], "usage": self.usage}

    def _pass(self, delta: dict[str, Any]) -> dict[str, Any]:
        calls = self._take(delta.pop("tool_calls", None))
        content = delta.get("content")
        if isinstance(content, str) and content:
            if self._pause:
                self._pause = False
                delta["content"] = content = f"{PAUSE}{content}"
            self.text += content
        if isinstance(delta.get("refusal"), str):
            self.refusal += delta["refusal"]
        if calls:
            delta["tool_calls"] = calls
        told = {name: value for name, value in delta.items() if name != "role" and value not in (None, "")}
        if not told and self._began:
            return {}
        return self._role(delta)

    def _role(self, delta: dict[str, Any]) -> dict[str, Any]:
        """The role is said once."""
        delta.pop("role", None)
        if self._began:
            return delta
        self._began = True
        return {"role": "assistant", **delta}

    def _chunk(self, choice: dict[str, Any]) -> Chunk:
        return {**(self._head or {}), "choices": [choice]}

    def _take(self, parts: object) -> list[dict[str, Any]]:
        """What goes on at once of some parts of calls."""
        found: list[dict[str, Any]] = []
        for part in parts if isinstance(parts, list) else []:
            if not isinstance(part, Mapping):
                continue
            index = part.get("index")
            if type(index) is not int:
                index = len(self._calls)
            if index not in self._calls:
                for earlier in self._calls.values():
                    found += self._decide(earlier)
            found += self._grow(self._calls.setdefault(index, self._new(part)), part)
        return found

    def _new(self, part: Mapping[str, Any]) -> _Call:
        ids = {call.id for call in self._calls.values()}
        id_ = part.get("id")
        if not isinstance(id_, str) or not id_ or id_ in ids:
            id_ = f"call_{len(self._calls)}"
            while id_ in ids:
                id_ += "_"
        more = {name: value for name, value in part.items() if name not in ("index", "id", "function")}
        return _Call(id_, {"type": "function", **{k: v for k, v in more.items() if v is not None}})

    def _grow(self, call: _Call, part: Mapping[str, Any]) -> list[dict[str, Any]]:
        function = part.get("function")
        name = function.get("name") if isinstance(function, Mapping) else None
        arguments = function.get("arguments") if isinstance(function, Mapping) else None
        if isinstance(name, str) and name != call.name and not call.is_decided:
            call.name += name
        if not isinstance(arguments, str) or not arguments:
            return []
        call.arguments += arguments
        if not call.is_decided:
            return self._decide(call)
        return [{"index": call.outer, "function": {"arguments": arguments}}] if call.outer is not None else []

    def _decide(self, call: _Call) -> list[dict[str, Any]]:
        """A call whose name is whole, as far as it has come, if it is the client's."""
        if call.is_decided:
            return []
        call.is_decided = True
        if not call.name or (call.name in self.recall_tools and call.name not in self.client_tools):
            return []
        call.outer, self._outer = self._outer, self._outer + 1
        function = {"name": call.name, "arguments": call.arguments}
        return [{**call.more, "index": call.outer, "id": call.id, "function": function}]
