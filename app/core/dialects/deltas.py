"""Process a streamed answer chunk by chunk: what the client receives at once, and the complete answer.

Text is passed on as it comes. Tool calls are held back until their name tells whether they are the client's; a name is
complete once the call's arguments, another call or the end have begun. What a model says before and after Quire recalls
something for it is one answer to the client: one id, one role, one end.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.core.dialects.carried import Carrying, TagSplitter, extras_of, text_of
from app.core.dialects.proxy import PAUSE, added, sound_calls
from app.core.dialects.stored import StoredPart

Chunk = dict[str, Any]
REASONS = ("native_finish_reason", "stop_sequence")


@dataclass
class _Call:
    """A call as far as it has arrived."""

    id: str
    more: dict[str, Any]
    given: Any = None
    """The id that it came with."""
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
    tag: str = ""
    """That encloses thinking at the beginning of the text, if the model thinks there."""
    text: str = ""
    """All that the client was given."""
    refusal: str = ""
    finish_reason: str | None = None
    """This round's; None until its end has arrived."""
    usage: dict[str, Any] | None = None
    """Of all rounds."""
    parts: list[StoredPart] = field(default_factory=list)
    """Of this round, in their order."""
    earlier: str = ""
    """The text of the rounds before."""
    carrying: Carrying = field(default_factory=Carrying)
    """What this round has beside its text and its calls."""
    _splitter: TagSplitter | None = None
    _reasons: dict[str, Any] = field(default_factory=dict)
    """How this round ended in the words of its own dialect."""
    _head: dict[str, Any] | None = None
    """The members that all chunks of an answer share, from the first."""
    _began: bool = False
    """The client was told the role."""
    _pause: bool = False
    _calls: dict[int, _Call] = field(default_factory=dict)
    _numbers: dict[int, int] = field(default_factory=dict)
    """The number of the newest call at each index."""
    _outer: int = 0
    _used: dict[str, Any] | None = None

    def begin(self) -> None:
        """Begin a round of the answer: a call of the model."""
        self.finish_reason = None
        self._calls.clear()
        self._numbers.clear()
        self.parts, self.earlier, self._reasons = [], self.text, {}
        self._pause = bool(self.text)
        self.carrying = Carrying()
        self._splitter = TagSplitter(self.tag) if self.tag else None

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
        """Return the part of a chunk that goes to the client."""
        if self._head is None:
            self._head = {name: value for name, value in chunk.items() if name not in ("choices", "usage")}
        if chunk.get("usage") is not None:
            self._used = added(None, chunk["usage"])
        choices = chunk.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
            return []
        choice = choices[0]
        self.finish_reason = choice.get("finish_reason") or self.finish_reason
        self._reasons |= {name: choice[name] for name in REASONS if choice.get(name) is not None}
        delta = choice.get("delta")
        passed = self._pass(dict(delta) if isinstance(delta, Mapping) else {})
        if not passed and choice.get("logprobs") is None:
            return []
        told = {name: value for name, value in choice.items() if name not in REASONS}
        return [self._chunk({**told, "delta": passed, "finish_reason": None})]

    def end_round(self) -> list[Chunk]:
        """Return the client's calls of this round that were held back."""
        rest = self._splitter.end() if self._splitter is not None else ""
        if self._used is not None:
            self.usage, self._used = added(self.usage, self._used), None
        calls = [delta for _, call in sorted(self._calls.items()) for delta in self._decide(call)]
        deltas = [
            *([self._pass({"content": rest}, held=True)] if rest else []),
            *([{"tool_calls": calls}] if calls else []),
        ]
        self._note_thinking()
        return [self._chunk({"index": 0, "delta": self._role(delta), "finish_reason": None}) for delta in deltas]

    def end(self, finish_reason: str) -> Chunk:
        """Return the last chunk but that with the usage."""
        own = self._reasons if finish_reason == self.finish_reason else {}
        return self._chunk({"index": 0, "delta": self._role({}), "finish_reason": finish_reason, **own})

    def usage_chunk(self) -> Chunk:
        return {**(self._head or {}), "choices": [], "usage": self.usage}

    def _pass(self, delta: dict[str, Any], *, held: bool = False) -> dict[str, Any]:
        """Return what of a delta goes to the client. ``held``: its text was held back, as it could be thinking."""
        calls = self._take(delta.pop("tool_calls", None))
        if not held:
            delta = self._without_thinking(delta)
        content = delta.get("content")
        if isinstance(content, str) and content:
            if self._pause:
                self._pause = False
                delta["content"] = content = f"{PAUSE}{content}"
            self.text += content
            self._add_text(content)
        if isinstance(native := delta.get("native"), Mapping):
            self._add_native(native)
        if isinstance(delta.get("refusal"), str):
            self.refusal += delta["refusal"]
        if calls:
            delta["tool_calls"] = calls
        told = {name: value for name, value in delta.items() if name != "role" and value not in (None, "")}
        if not told and self._began:
            return {}
        return self._role(delta)

    def _without_thinking(self, delta: dict[str, Any]) -> dict[str, Any]:
        """Return a delta whose content is text, and note what else the answer carries."""
        self.carrying.add(delta)
        content = text_of(delta.get("content"))
        if content is None:
            return delta
        if self._splitter is not None:
            content = self._splitter.feed(content)
        return {**delta, "content": content}

    def _note_thinking(self) -> None:
        if self._splitter is not None and self._splitter.thinking:
            self.carrying.message[self.tag] = self._splitter.thinking

    def carried(self, model: str, calls: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
        """Return what this round's answer of a model carries with some of its calls."""
        extras = {call["id"]: more for call in calls if (more := extras_of(call))}
        if calls and calls[0]["id"] not in extras and (more := extras_of(self.calls[0])):
            extras[calls[0]["id"]] = more  # what the first call has is the whole answer's
        return self.carrying.value(model, extras)

    def _add_native(self, native: Mapping[str, Any]) -> None:
        event, part = native.get("event") or {}, native.get("part")
        is_text = (event.get("content_block") or {}).get("type") == "text"
        if is_text:
            self.parts.append(StoredPart("text"))  # each block stays its own
        if part is None:
            return
        if part.get("type") == "text" and self.parts and self.parts[-1].kind == "text":
            self.parts.pop()
        self.parts.append(StoredPart("native", native=part, dialect=native["dialect"]))

    def _add_text(self, text: str) -> None:
        if not self.parts or self.parts[-1].kind != "text":
            self.parts.append(StoredPart("text"))
        self.parts[-1].text += text

    def _role(self, delta: dict[str, Any]) -> dict[str, Any]:
        """Add the role to the first delta only."""
        delta.pop("role", None)
        if self._began:
            return delta
        self._began = True
        return {"role": "assistant", **delta}

    def _chunk(self, choice: dict[str, Any]) -> Chunk:
        return {**(self._head or {}), "choices": [choice]}

    def _take(self, parts: object) -> list[dict[str, Any]]:
        """Return the parts of calls that can be passed on at once."""
        found: list[dict[str, Any]] = []
        for part in parts if isinstance(parts, list) else []:
            if not isinstance(part, Mapping):
                continue
            index = part.get("index")
            if type(index) is not int:
                index = len(self._calls)
            index = self._place(index, part)
            if index not in self._calls:
                for earlier in self._calls.values():
                    found += self._decide(earlier)
                self._calls[index] = self._new(part)
                self.parts.append(StoredPart("call", self._calls[index].id))
            found += self._grow(self._calls[index], part)
        return found

    def _place(self, index: int, part: Mapping[str, Any]) -> int:
        """Return the number of a part's call. A new id with a name begins a call, even at the index of another."""
        number = self._numbers.get(index, index)
        known, id_, function = self._calls.get(number), part.get("id"), part.get("function")
        is_named = isinstance(function, Mapping) and bool(function.get("name"))
        if known is not None and is_named and isinstance(id_, str) and id_ and id_ != known.given:
            number = max(self._calls) + 1
        elif known is None and number in self._numbers.values():
            number = max(self._calls, default=-1) + 1
        self._numbers[index] = number
        return number

    def _new(self, part: Mapping[str, Any]) -> _Call:
        ids = {call.id for call in self._calls.values()}
        id_ = part.get("id")
        if not isinstance(id_, str) or not id_ or id_ in ids:
            id_ = f"call_{len(self._calls)}"
            while id_ in ids:
                id_ += "_"
        more = {name: value for name, value in part.items() if name not in ("index", "id", "function")}
        return _Call(id_, {"type": "function", **{k: v for k, v in more.items() if v is not None}}, part.get("id"))

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
        """Return a call with a complete name, as far as it has arrived, if it is the client's."""
        if call.is_decided:
            return []
        call.is_decided = True
        if not call.name or (call.name in self.recall_tools and call.name not in self.client_tools):
            return []
        call.outer, self._outer = self._outer, self._outer + 1
        function = {"name": call.name, "arguments": call.arguments}
        return [{**call.more, "index": call.outer, "id": call.id, "function": function}]
