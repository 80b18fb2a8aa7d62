"""A stored conversation as items of Responses, each with an id that names its message and its place in it.

An answer's items have the ids that the client got with it: those of its response. Other ids consist of the message's id
and its seq, so every item is found without a search.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from app.core import wording
from app.core.dialects.inbound_responses import ResponsesWriter
from app.core.dialects.items import CUSTOM, function_call, items_of
from app.core.dialects.question import Json, Question
from app.core.dialects.stored import chunks
from app.core.history.sync import digest
from app.core.messages import Draft, function_of

RESPONSE = "resp_"
_ID = re.compile("[a-z]{2,4}_(?P<hex>[0-9a-f]{32})(?P<seq>[0-7][0-9a-f]{7})?_(?P<place>[0-9]{1,4})")
_PREFIXES = {
    "message": "msg", "reasoning": "rs", "function_call": "fc", "custom_tool_call": "ctc",
    "function_call_output": "fco", "custom_tool_call_output": "ctco",
}  # fmt: skip
_MARKS = frozenset(mark.say(language) for mark in (wording.ERASED, wording.PRUNED) for language in ("en", "zh"))


@dataclass(frozen=True, slots=True)
class MessageName:
    """The common part of the ids of a message's items."""

    hex: str
    """The hexadecimal digits of its response, or of its own id and seq."""

    @staticmethod
    def of(message_id: UUID, seq: int, client_id: str | None) -> MessageName:
        known = (client_id or "").removeprefix(RESPONSE)
        is_response = (client_id or "").startswith(RESPONSE) and _ID.fullmatch(f"msg_{known}_0")
        return MessageName(known if is_response else f"{message_id.hex}{seq:08x}")

    @property
    def response_id(self) -> str | None:
        return f"{RESPONSE}{self.hex}" if len(self.hex) == 32 else None

    @property
    def seq(self) -> int:
        """The message's place, where the name is not a response's."""
        return int(self.hex[32:], 16)


def named_item(item_id: str) -> tuple[MessageName, int] | None:
    """Return the message of an item's id, and its place in it; None for an id that no item has."""
    found = _ID.fullmatch(item_id)
    return (MessageName(found["hex"] + (found["seq"] or "")), int(found["place"])) if found else None


def is_mark(draft: Draft, stored_digest: bytes | None) -> bool:
    """Return whether a message was erased or pruned: it is a mark, and was something else when it was stored."""
    if stored_digest in (None, digest(draft)):
        return False
    texts = filter(None, [draft.text, *(result.text for result in draft.results)])
    return _MARKS.issuperset(texts)


def identified_items(draft: Draft, name: MessageName) -> list[Json]:
    """Return a message's items as a client of Conversations reads them."""
    if draft.role == "assistant":
        return _said(draft.original, name)
    customs = frozenset(result.call_id for result in draft.results) if draft.original.get(CUSTOM) else frozenset()
    found = [
        {**item, "type": "custom_tool_call_output"} if result.call_id in customs else item
        for result in draft.results
        for item in items_of([{"role": "tool", "tool_call_id": result.call_id, "content": result.content}])
    ]
    found += items_of([draft.view]) if draft.view else []
    return [_identified(item, name, place) for place, item in enumerate(found)]


def _said(message: Mapping[str, Any], name: MessageName) -> list[Json]:
    calls = message.get("tool_calls") or []
    customs = [function_of(call).get("name") for call in calls if call.get(CUSTOM)]
    tools = [{"type": "custom", "name": custom} for custom in customs]
    writer = ResponsesWriter(f"{RESPONSE}{name.hex}", Question("responses", {"tools": tools}, [], {"model": ""}), 0)
    for chunk in chunks({**message, "tool_calls": [function_call(call) for call in calls]}, {}):
        writer.feed(chunk)
    writer.end(None)
    output: list[Json] = writer.whole()["output"]
    return [{**item, "id": _item_id(item, name, place)} for place, item in enumerate(output)]


def _identified(item: Json, name: MessageName, place: int) -> Json:
    content = item.get("content")
    parts = {"content": [{"type": "input_text", "text": content}]} if isinstance(content, str) else {}
    return {"id": _item_id(item, name, place), "status": "completed", **item, **parts}


def _item_id(item: Json, name: MessageName, place: int) -> str:
    return f"{_PREFIXES.get(item['type'], 'item')}_{name.hex}_{place}"
