"""The tool calls of a streamed answer, as far as they have arrived.

A call is held back until its complete name shows whose it is. A name is complete once arguments, another call or the
end follow. Everything is a value: a step returns the new state and what the client receives.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from app.core.canonical import dumps
from app.core.dialects.proxy import ToolOwners
from app.core.dialects.question import Json
from app.core.parts import mapped_id


class CallSoFar(NamedTuple):
    """A call as far as it has arrived."""

    id: str
    more: Json
    given: Any = None
    """The id that it came with."""
    name: str = ""
    arguments: str = ""
    outer: int | None = None
    """Its place among the client's, once it was given on."""
    is_decided: bool = False


class CallsSoFar(NamedTuple):
    """The calls of one round, by number."""

    tools: ToolOwners
    outer: int = 0
    """How many the client was given, in earlier rounds too."""
    calls: Mapping[int, CallSoFar] = MappingProxyType({})
    numbers: Mapping[int, int] = MappingProxyType({})
    """The number of the newest call at each index."""
    ids: str = ""
    """A pattern of ids that the client keeps; empty: all. What another API's clients rename, no result would find."""

    @property
    def newest(self) -> CallSoFar:
        return [*self.calls.values()][-1]

    @property
    def sound(self) -> list[Json]:
        """The calls that have a name, in OpenAI form."""
        made = {"type": "function"}
        return [
            {**c.more, **made, "id": c.id, "function": {"name": c.name, "arguments": c.arguments}}
            for _, c in sorted(self.calls.items())
            if c.name
        ]

    def feed(self, part: Mapping[str, Any]) -> tuple[CallsSoFar, list[Json]]:
        """Take a part of a call. Return the parts that can be passed on at once."""
        index = part.get("index")
        index = index if type(index) is int else len(self.calls)
        number = _place(self, index, part)
        after = self if self.numbers.get(index) == number else self._replace(numbers={**self.numbers, index: number})
        passed: list[Json] = []
        if number not in self.calls:
            after, passed = after.decide_all()
            after = _with(after, number, _new(self, part))
        after, more = _grow(after, number, part)
        return after, passed + more

    def decide_all(self) -> tuple[CallsSoFar, list[Json]]:
        """Treat every name as complete."""
        after, passed = self, list[Json]()
        for number in sorted(self.calls):
            after, more = _decide(after, number)
            passed += more
        return after, passed


def _with(calls: CallsSoFar, number: int, call: CallSoFar) -> CallsSoFar:
    return calls._replace(calls={**calls.calls, number: call})


def _place(calls: CallsSoFar, index: int, part: Mapping[str, Any]) -> int:
    """Return the number of a part's call. A new id with a name begins a call, even at the index of another."""
    number = calls.numbers.get(index, index)
    known, id_, function = calls.calls.get(number), part.get("id"), part.get("function")
    is_named = isinstance(function, Mapping) and bool(function.get("name"))
    if known is not None and is_named and isinstance(id_, str) and id_ and id_ != known.given:
        return max(calls.calls) + 1
    if known is None and number in calls.numbers.values():
        return max(calls.calls, default=-1) + 1
    return number


def _new(calls: CallsSoFar, part: Mapping[str, Any]) -> CallSoFar:
    ids = {call.id for call in calls.calls.values()}
    id_ = mapped_id(calls.ids, given) if isinstance(given := part.get("id"), str) and given else ""
    if not id_ or id_ in ids:
        id_ = f"call_{len(calls.calls)}"
        while id_ in ids:
            id_ += "_"
    more = {name: value for name, value in part.items() if name not in ("index", "id", "function")}
    return CallSoFar(id_, {"type": "function", **{k: v for k, v in more.items() if v is not None}}, given)


def _grow(calls: CallsSoFar, number: int, part: Mapping[str, Any]) -> tuple[CallsSoFar, list[Json]]:
    call, function = calls.calls[number], part.get("function")
    name = function.get("name") if isinstance(function, Mapping) else None
    more = function.get("arguments") if isinstance(function, Mapping) else None
    more = more if isinstance(more, str) else dumps(more) if isinstance(more, Mapping) else ""  # some give an object
    if not isinstance(name, str) or call.is_decided or name == call.name:
        name = ""
    grown = _with(calls, number, call._replace(name=call.name + name, arguments=call.arguments + more))
    if not more or not call.is_decided:
        return _decide(grown, number) if more else (grown, [])
    return grown, [{"index": call.outer, "function": {"arguments": more}}] if call.outer is not None else []


def _decide(calls: CallsSoFar, number: int) -> tuple[CallsSoFar, list[Json]]:
    """Return the arrived part of a call with a complete name, if it is the client's."""
    call = calls.calls[number]
    if call.is_decided:
        return calls, []
    if not call.name or calls.tools.is_inner(call.name):
        return _with(calls, number, call._replace(is_decided=True)), []
    after = _with(calls, number, call._replace(is_decided=True, outer=calls.outer))
    function = {"name": call.name, "arguments": call.arguments}
    told = {**call.more, "index": calls.outer, "id": call.id, "function": function}
    return after._replace(outer=calls.outer + 1), [told]
