"""Call groups: an assistant message with tool calls, and the results that answer it.

A group is shown whole or not at all, since a model refuses a call without its result and a result without
its call. While results are still to come the group is held back. When the conversation went on without them,
the calls that were answered stay, and a line of text stands for each that was not.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from app.core.canonical import dumps
from app.core.model import UNZONED, Item


def units(items: Sequence[Item]) -> tuple[list[list[Item]], list[Item]]:
    """Return the body's items as the units that are shown together, and those held back because results are awaited.

    Messages that are not sent belong to no unit; neither do results whose call has been deleted.
    """
    shown = [item for item in items if item.kind not in UNZONED]
    found = [list(unit) for _, unit in groupby(shown, key=lambda item: item.group)]
    found = [unit for unit in found if unit[0].kind != "result"]
    if found and _is_awaited(found[-1]):
        return [_settled(unit) for unit in found[:-1]], found[-1]
    return [_settled(unit) for unit in found], []


def shrunk(items: Iterable[Item]) -> Iterator[Item]:
    """Yield items whose page is no longer the newest: marks replace what recall tools loaded."""
    return (item if item.loaded_text is None else item._replace(loaded_text=None) for item in items)


def _is_complete(unit: Sequence[Item]) -> bool:
    if len(unit) == 1:
        return unit[0].calls == unit[0].results
    return sum(item.calls for item in unit) == sum(item.results for item in unit)


def _is_awaited(unit: Sequence[Item]) -> bool:
    """Return whether results may still come; once anything else has followed, none will."""
    return not _is_complete(unit) and all(item.parts <= item.results for item in unit[1:])


def _settled(unit: list[Item]) -> list[Item]:
    """Return a unit in its final form, once nothing more can answer it."""
    if _is_complete(unit):
        return unit
    answered = {call_id for item in unit[1:] for call_id in _answered_ids(item.text)}
    call = unit[0]
    kept = call._replace(
        text=_without_unanswered(call.text, answered),
        short_text=_without_unanswered(call.short_text, answered) if call.short_text else None,
        anthropic=None,
    )
    return [kept, *unit[1:]]


def chat_messages(text: str) -> list[dict[str, Any]]:
    """Return the chat messages of an item's text."""
    parsed: list[dict[str, Any]] = json.loads(f"[{text}]")
    return parsed


def _answered_ids(text: str) -> Iterator[str]:
    for message in chat_messages(text):
        if message.get("role") == "tool":
            yield message["tool_call_id"]


def _without_unanswered(text: str, answered: set[str]) -> str:
    """Return a call message that keeps the answered calls; each other one is named in its text."""
    message = chat_messages(text)[0]
    calls = message.pop("tool_calls", [])
    kept = [call for call in calls if call["id"] in answered]
    gone = [f"[{call['function']['name']}: no result]" for call in calls if call["id"] not in answered]
    content = message.get("content")
    if isinstance(content, list):
        message["content"] = [*content, {"type": "text", "text": " ".join(gone)}]
    else:
        message["content"] = "\n".join([*([content] if content else []), *gone])
    if kept:
        message["tool_calls"] = kept
    return dumps(message)
