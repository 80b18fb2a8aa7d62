"""Process a streamed answer chunk by chunk, into what the client receives and the complete answer.

What a model says before and after a recall is one answer to the client, with one id, one role and one end. Text is
passed on as it comes; ``calls`` says when a tool call is. Everything is a value: a step returns the new state and the
chunks for the client. (Named tuples, because one is made for every token, at half a dataclass's cost.)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

from app.core.dialects.calls import CallsSoFar
from app.core.dialects.carried import AUDIO, Carrying, TagSplitter, extras_of, text_of
from app.core.dialects.inbound_chat import REASONS
from app.core.dialects.proxy import PAUSE, ToolOwners, added
from app.core.dialects.question import Json
from app.core.dialects.stored import StoredPart

NO_REASONS: Mapping[str, Any] = MappingProxyType({})

Step = tuple["AnswerSoFar", list[Json]]


class RoundSoFar(NamedTuple):
    """The answer to one call of the model's API, as far as it has arrived."""

    calls: CallsSoFar
    splitter: TagSplitter
    earlier: str = ""
    """The text of the rounds before."""
    is_pausing: bool = False
    """The client is to see a pause before the round's first text."""
    parts: tuple[StoredPart, ...] = ()
    """In their order."""
    carrying: Carrying = Carrying()
    """What it has beside its text and its calls."""
    finish_reason: str | None = None
    """None until its end has arrived."""
    reasons: Mapping[str, Any] = NO_REASONS
    usage: Json | None = None

    def with_text(self, text: str) -> RoundSoFar:
        parts = self.parts
        if parts and parts[-1].kind == "text":
            parts, text = parts[:-1], parts[-1].text + text
        return self._replace(parts=(*parts, StoredPart("text", text)), is_pausing=False)

    def with_native(self, native: Mapping[str, Any]) -> RoundSoFar:
        event, part, parts = native.get("event") or {}, native.get("part"), self.parts
        if (event.get("content_block") or {}).get("type") == "text":
            parts = (*parts, StoredPart("text"))  # each block stays its own
        if part is not None:
            if part.get("type") == "text" and parts and parts[-1].kind == "text":
                parts = parts[:-1]
            parts = (*parts, StoredPart("native", native=part, dialect=native["dialect"]))
        return self._replace(parts=parts)

    def with_calls(self, parts: object) -> tuple[RoundSoFar, list[Json]]:
        """Take parts of calls. Return the parts that can be passed on at once."""
        if not isinstance(parts, list):
            return self, []
        calls, stored, passed = self.calls, self.parts, list[Json]()
        for part in parts:
            if isinstance(part, Mapping):
                known = len(calls.calls)
                calls, more = calls.feed(part)
                passed += more
                if len(calls.calls) > known:
                    stored = (*stored, StoredPart("call", calls.newest.id))
        return self._replace(calls=calls, parts=stored), passed

    def carried(self, model: str, calls: Sequence[Mapping[str, Any]]) -> Json | None:
        """Return the ``carried`` member of this round's answer with some of its calls."""
        extras = {call["id"]: more for call in calls if (more := extras_of(call))}
        if calls and calls[0]["id"] not in extras and (more := extras_of(self.calls.sound[0])):
            extras[calls[0]["id"]] = more  # what the first call has is the whole answer's
        return self.carrying.value(model, extras)


class AnswerSoFar(NamedTuple):
    """An answer over all its rounds."""

    round: RoundSoFar
    text: str = ""
    """All that the client was given."""
    refusal: str = ""
    usage: Json | None = None
    """Of the rounds that have ended."""
    head: Json | None = None
    """The members that all chunks share, from the first."""
    is_begun: bool = False
    """The client was told the role."""

    @classmethod
    def start(cls, owners: ToolOwners, tag: str = "", ids: str = "") -> AnswerSoFar:
        """Return an empty answer. ``tag`` marks thinking at the beginning of its text; ``ids``: see CallsSoFar."""
        return cls(RoundSoFar(CallsSoFar(owners, ids=ids), TagSplitter(tag, is_over=not tag)))

    @property
    def calls(self) -> list[Json]:
        return self.round.calls.sound

    @property
    def prompt_tokens(self) -> int:
        """The prompt tokens of all model calls so far, if the API reports them."""
        return tokens if type(tokens := (self.usage or {}).get("prompt_tokens")) is int else 0

    def next_round(self, owners: ToolOwners) -> AnswerSoFar:
        """Return the answer at the beginning of the next model call."""
        calls, tag = self.round.calls._replace(tools=owners, calls={}, numbers={}), self.round.splitter.tag
        begun = RoundSoFar(calls, TagSplitter(tag, is_over=not tag), self.text, bool(self.text))
        return self._replace(round=begun)

    def feed(self, chunk: Mapping[str, Any]) -> Step:
        """Take a chunk from the model. Return the part that goes to the client."""
        after = _with_head(self, chunk)
        choices = chunk.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
            return after, []
        choice = choices[0]
        delta = choice.get("delta")
        after, passed = _with_delta(_with_reason(after, choice), dict(delta) if isinstance(delta, Mapping) else {})
        if not passed and choice.get("logprobs") is None:
            return after, []
        told = {name: value for name, value in choice.items() if name not in REASONS}
        return after, [_chunk(after, {**told, "delta": passed, "finish_reason": None})]

    def feed_all(self, chunks: Iterable[Mapping[str, Any]]) -> Step:
        after, passed = self, list[Json]()
        for chunk in chunks:
            after, more = after.feed(chunk)
            passed += more
        return after, passed

    def end_round(self) -> Step:
        """End the round. Return the client's calls that were held back."""
        splitter, rest = self.round.splitter.end()
        calls, held = self.round.calls.decide_all()
        carrying = self.round.carrying
        if splitter.thinking:
            carrying = replace(carrying, message={**carrying.message, splitter.tag: splitter.thinking})
        ended = self.round._replace(splitter=splitter, calls=calls, carrying=carrying, usage=None)
        after = self._replace(round=ended, usage=added(self.usage, self.round.usage))
        deltas = list[Json]()
        if rest:
            after, delta = _with_content(after, after.round, {"content": rest}, [])
            deltas.append(delta)
        if held:
            deltas.append(_with_role(after, {"tool_calls": held}))
            after = after._replace(is_begun=True)
        return after, [_chunk(after, {"index": 0, "delta": delta, "finish_reason": None}) for delta in deltas]

    def end(self, finish_reason: str) -> Json:
        """Return the last chunk before the one with the usage."""
        own = self.round.reasons if finish_reason == self.round.finish_reason else {}
        return _chunk(self, {"index": 0, "delta": _with_role(self, {}), "finish_reason": finish_reason, **own})


def _with_head(answer: AnswerSoFar, chunk: Mapping[str, Any]) -> AnswerSoFar:
    after = answer
    if answer.head is None:
        head = {name: value for name, value in chunk.items() if name not in ("choices", "usage")}
        after = after._replace(head=head)
    if (usage := chunk.get("usage") or _usage_of_choice(chunk)) is not None:
        after = after._replace(round=answer.round._replace(usage=added(None, usage)))
    return after


def _usage_of_choice(chunk: Mapping[str, Any]) -> Any:
    """Return the usage that Moonshot puts into the last choice."""
    choices = chunk.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return first.get("usage") if isinstance(first, Mapping) else None


def _with_reason(answer: AnswerSoFar, choice: Mapping[str, Any]) -> AnswerSoFar:
    reason = choice.get("finish_reason") or answer.round.finish_reason
    reasons = {name: choice[name] for name in REASONS if choice.get(name) is not None}
    if reason == answer.round.finish_reason and not reasons:
        return answer
    return answer._replace(
        round=answer.round._replace(finish_reason=reason, reasons={**answer.round.reasons, **reasons})
    )


def _with_delta(answer: AnswerSoFar, delta: Json) -> tuple[AnswerSoFar, Json]:
    taken, calls = answer.round.with_calls(delta.pop("tool_calls", None))
    carrying, splitter, content = taken.carrying.plus(delta), taken.splitter, text_of(delta.get("content"))
    if content is not None:
        splitter, delta["content"] = splitter.feed(content)
    if carrying is not taken.carrying or splitter is not taken.splitter:
        taken = taken._replace(carrying=carrying, splitter=splitter)
    return _with_content(answer, taken, delta, calls)


def _with_content(answer: AnswerSoFar, taken: RoundSoFar, delta: Json, calls: list[Json]) -> tuple[AnswerSoFar, Json]:
    text, refusal, content = answer.text, answer.refusal, delta.get("content")
    if isinstance(content, str) and content:
        delta["content"] = content = f"{PAUSE}{content}" if taken.is_pausing else content
        taken, text = taken.with_text(content), text + content
    if isinstance(audio := delta.get(AUDIO), Mapping) and isinstance(said := audio.get("transcript"), str):
        taken, text = taken.with_text(said), text + said  # stored; the client hears it
    if isinstance(native := delta.get("native"), Mapping):
        taken = taken.with_native(native)
    if isinstance(delta.get("refusal"), str):
        refusal += delta["refusal"]
    told = {name: value for name, value in delta.items() if name != "role" and value not in (None, "")}
    if calls:
        delta["tool_calls"] = told["tool_calls"] = calls
    tells = bool(told) or not answer.is_begun
    after = answer._replace(round=taken, text=text, refusal=refusal, is_begun=answer.is_begun or tells)
    return after, _with_role(answer, delta) if tells else {}


def _with_role(answer: AnswerSoFar, delta: Json) -> Json:
    delta.pop("role", None)
    return delta if answer.is_begun else {"role": "assistant", **delta}


def _chunk(answer: AnswerSoFar, choice: Json) -> Json:
    return {**(answer.head or {}), "choices": [choice]}
