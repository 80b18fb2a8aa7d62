"""Stored questions as items of Responses. An item's id is made of its message's id and seq and its place in it."""

from __future__ import annotations

from uuid import UUID

from app.core import wording
from app.core.dialects.items import items_of
from app.core.dialects.question import Json
from app.core.history.sync import digest
from app.core.messages import Draft

RESPONSE = "resp_"
_PREFIXES = {
    "message": "msg", "reasoning": "rs", "function_call_output": "fco", "custom_tool_call_output": "ctco",
}  # fmt: skip
_MARKS = frozenset(mark.say(language) for mark in (wording.ERASED, wording.PRUNED) for language in ("en", "zh"))


def is_mark(draft: Draft, stored_digest: bytes | None) -> bool:
    """Return whether a message was erased or pruned: its view is a mark, and was something else when it was stored."""
    if stored_digest in (None, digest(draft)):
        return False
    texts = filter(None, [draft.text, *(result.text for result in draft.results)])
    return _MARKS.issuperset(texts)


def identified_items(draft: Draft, message_id: UUID, seq: int) -> list[Json]:
    """Return the items of a message that is not an assistant's."""
    found = items_of(
        [{"role": "tool", "tool_call_id": result.call_id, "content": result.content} for result in draft.results]
    )
    found += items_of([draft.view]) if draft.view else []
    return [_identified(item, f"{message_id.hex}{seq:08x}_{place}") for place, item in enumerate(found)]


def _identified(item: Json, name: str) -> Json:
    content = item.get("content")
    parts = {"content": [{"type": "input_text", "text": content}]} if isinstance(content, str) else {}
    return {"id": f"{_PREFIXES.get(item['type'], 'item')}_{name}", "status": "completed", **item, **parts}
