"""An answer as stored: in OpenAI's form, or in the form of the dialect with more content.

Parts that only one dialect has are sent back to the model in their place. In Messages they are blocks among others, so
such an answer is stored in Anthropic's form. In Responses they are items: each is stored as a content part of the type
``reasoning``, which windows of other dialects leave out, with the id of the call that follows it, if one does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from app.core.dialects.carried import bare
from app.core.dialects.inbound_messages import arguments_of
from app.core.dialects.items import call_of, function_call, is_call, opaque_part
from app.core.dialects.question import Dialect, Json
from app.core.dialects.upstream_messages import MessagesReader
from app.core.messages import CARRIED, function_of


@dataclass(frozen=True, slots=True)
class StoredPart:
    """A piece of an answer: its text so far, the id of a call, or a part that only one dialect has."""

    kind: Literal["text", "call", "native"]
    text: str = ""
    """Of a call, its id."""
    native: Json = field(default_factory=dict)
    dialect: Dialect = "chat"


def message(
    parts: Sequence[StoredPart], calls: Sequence[Mapping[str, Any]], text: str | None, earlier: str = "",
    carried: Json | None = None,
) -> Json:  # fmt: skip
    """Return the output of one model call as a message, with some of its tool calls.

    ``text`` is the whole answer's. Its beginning ``earlier`` is not in the parts; None means that a later part stores
    the text.
    """
    dialects = {part.dialect for part in parts if part.kind == "native"}
    if "messages" in dialects or any(call.get("block") for call in calls):
        content = _blocks(parts, calls, None if text is None else earlier)
        return {"role": "assistant", "content": content}
    said: Json = {"role": "assistant", "content": text or None}
    if carried is not None:
        said[CARRIED] = carried
    if "responses" in dialects:
        said["content"] = [*_items(parts, calls), *([{"type": "text", "text": text}] if text else [])]
    own = [call_of(part.native) for part in parts if part.kind == "native" and is_call(part.native)]
    if calls or own:
        said["tool_calls"] = [*map(bare, calls), *own]
    return said


def _blocks(parts: Sequence[StoredPart], calls: Sequence[Mapping[str, Any]], earlier: str | None) -> list[Json]:
    by_id = {call["id"]: call for call in calls}
    blocks: list[Json] = [{"type": "text", "text": earlier}] if earlier and earlier.strip() else []
    for part in parts:
        if part.kind == "native" and (earlier is not None or part.native.get("type") != "text"):
            blocks.append(part.native)
        elif part.kind == "call" and part.text in by_id:
            function = function_of(dict(by_id[part.text]))
            called = {"id": part.text, "name": function["name"], "input": arguments_of(function["arguments"])}
            blocks.append({"type": "tool_use", **called, **(by_id[part.text].get("block") or {})})
        elif part.kind == "text" and earlier is not None and part.text.strip():
            blocks.append({"type": "text", "text": part.text})
    return blocks


def _items(parts: Sequence[StoredPart], calls: Sequence[Mapping[str, Any]]) -> list[Json]:
    ids = {call["id"] for call in calls}
    found: list[Json] = []
    waiting: list[Json] = []
    for part in parts:
        if part.kind == "native":
            waiting.append(opaque_part(part.native))
        elif part.kind == "call" and part.text in ids:
            found += [{**item, "before_call": part.text} for item in waiting]
            waiting = []
        elif part.kind == "text":
            found += waiting
            waiting = []
    return [*found, *waiting]


def chunks(message: Mapping[str, Any], head: Mapping[str, Any]) -> list[Json]:
    """Return a stored answer as chunks, roughly as it came."""
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    is_plain = all(part.get("type") == "text" and not part.get("citations") for part in parts)
    told = [part["call"] for part in parts if "call" in part]
    given = [call for call in message.get("tool_calls") or () if call.get("id") not in told]
    calls: list[Json] = [{"index": i, **function_call(call)} for i, call in enumerate(given)]
    if is_plain:
        texts = {"content": "\n".join(part["text"] for part in parts)} if parts else {}
        said = {name: value for name, value in message.items() if name not in ("id", "client_id", CARRIED)}
        return [_chunk(head, {**said, **texts, **({"tool_calls": calls} if calls else {})})]
    reader = MessagesReader()
    deltas = [{"role": "assistant"}, *(delta for part in parts for delta in _deltas(part, reader))]
    return [_chunk(head, delta) for delta in [*deltas, *([{"tool_calls": calls}] if calls else [])]]


def _chunk(head: Mapping[str, Any], delta: Json) -> Json:
    return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}


def _deltas(part: Mapping[str, Any], reader: MessagesReader) -> list[Json]:
    match part.get("type"):
        case "text" if not part.get("citations"):
            return [{"content": part["text"]}]
        case "refusal" if isinstance(part.get("refusal"), str):
            return [{"refusal": part["refusal"]}]
        case "reasoning" if "item" in part:
            event = {"type": "response.output_item.done", "item": part["item"]}
            return [{"native": {"dialect": "responses", "event": event, "part": part["item"]}}]
    events: list[Json] = [{"type": "content_block_start", "content_block": part}, {"type": "content_block_stop"}]
    return [chunk["choices"][0]["delta"] for event in events for chunk in reader.feed(event)]
