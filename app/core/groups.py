"""Call groups: assistant messages with tool calls, and the results that answer them, wherever they stand.

A call and its result are shown together or not at all, since a model refuses a call without its result and a result
without its call. Consecutive messages with calls become one, as models make them. The results follow in order, then the
messages between or beside them. While results are missing, the newest calls are held back. If the conversation went on
without them, answered calls stay, and a line of text replaces each unanswered one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.core.canonical import dumps
from app.core.messages import LATE
from app.core.model import UNZONED, Item


def units(items: Sequence[Item], *, go_on: bool = False) -> tuple[list[list[Item]], list[Item]]:
    """Return the body's items as units that are shown together, and the items held back for missing results; none if
    others ``go_on``.

    Unsent messages, and results whose call was deleted, belong to no unit.
    """
    late = {item.seq: _late_ids(item.text) for item in items if item.kind == "result" and comes_late(item)}
    groups: list[list[Item]] = []
    for item in items:
        if item.kind in UNZONED:
            continue
        shown = _stands_alone(item) if item.seq in late else item
        if groups and groups[-1][0].group == item.group:
            groups[-1].append(shown)
        else:
            groups.append([shown])
    found = [unit for group in groups for unit in _units_of(group) if unit[0].kind != "result"]
    if late:
        found = _named_later(found, late)
    last = len(found)
    while last and found[last - 1][0].kind == "message" and found[last - 1][0].seq in late:
        last -= 1  # it can come between a call and its results
    if go_on or not last or not _is_awaited(found[last - 1]):
        return [_final_form(unit) for unit in found], []
    return [_final_form(unit) for unit in found[: last - 1]], [item for unit in found[last - 1 :] for item in unit]


# --- Results that stand by themselves ---------------------------------------------------------------------

_LATE = f'"{LATE}":'


def comes_late(item: Item) -> bool:
    """Return whether a message has a result that stands apart from its call."""
    return _LATE in item.text


def _stands_alone(item: Item) -> Item:
    """Return a message with its late results as text."""
    if item.kind != "result" or not _late_ids(item.text):
        return item
    if not item.results:
        item = item._replace(kind="message", role="user", is_late=True)
    return item._replace(
        text=_late_results_as_text(item.text), short_text=item.short_text and _late_results_as_text(item.short_text),
        loaded_text=item.loaded_text and _late_results_as_text(item.loaded_text), anthropic=None, fresh=(),
    )  # fmt: skip


def _late_results_as_text(text: str) -> str:
    """Return a message's chat messages with late results as text, behind the others."""
    messages = sorted(chat_messages(text), key=lambda message: LATE in message)
    return ",".join(dumps(_as_text(message) if LATE in message else message) for message in messages)


def _as_text(message: dict[str, Any]) -> dict[str, Any]:
    said = f"[a late result of {message[LATE]}:]"
    content = message["content"]
    if isinstance(content, list):
        return {"role": "user", "content": [{"type": "text", "text": said}, *content]}
    return {"role": "user", "content": f"{said}\n{content}"}


def _late_ids(text: str) -> list[str]:
    return [message["tool_call_id"] for message in chat_messages(text) if LATE in message]


def _named_later(found: list[list[Item]], late: Mapping[int, Sequence[str]]) -> list[list[Item]]:
    """Note in each call that its result comes later, if it does. Of calls with one id the last earlier one counts."""
    for seq, id_ in [(seq, id_) for seq, ids in late.items() for id_ in ids]:
        before = [at for at, unit in enumerate(found) if unit[0].kind == "call" and unit[0].seq < seq]
        for at in reversed(before):
            call = found[at][0]
            if not _is_complete(found[at]) and id_ in _call_ids(call.text):
                short = call.short_text and _with_later(call.short_text, id_)
                found[at][0] = call._replace(text=_with_later(call.text, id_), short_text=short, anthropic=None)
                break
    return found


def _call_ids(text: str) -> set[str]:
    return {call["id"] for message in chat_messages(text) for call in message.get("tool_calls") or ()}


def _with_later(text: str, id_: str) -> str:
    message = chat_messages(text)[0]
    calls = [{**one, LATE: True} if one["id"] == id_ else one for one in message["tool_calls"]]
    return dumps({**message, "tool_calls": calls})


def shrunk(items: Iterable[Item]) -> Iterator[Item]:
    """Yield items of pages that are no longer the newest, with marks in place of what recall tools loaded."""
    return (item if item.loaded_text is None else item._replace(loaded_text=None) for item in items)


def _units_of(group: list[Item]) -> list[list[Item]]:
    """Return a call group's units: nearly always one, a call and its results with other content only in the last."""
    if len(group) == 1:
        return [group]
    is_plain = all(item.kind == "result" for item in group[1:]) and all(i.parts <= i.results for i in group[1:-1])
    if group[0].kind == "result" or (group[0].kind == "call" and is_plain):
        return [group]
    return _Sorting().sort(group)


@dataclass
class _Parts:
    calls: list[Item] = field(default_factory=list)
    results: list[Item] = field(default_factory=list)
    beside: list[Item] = field(default_factory=list)
    """What was said beside its results, and everything that is no call."""
    ids: set[str] = field(default_factory=set)
    """Of its calls."""


@dataclass
class _Sorting:
    """Puts the items of a group in the order that models accept."""

    units: list[_Parts] = field(default_factory=list)
    open: dict[str, _Parts] = field(default_factory=dict)
    """The unit of each call without a result so far."""

    def sort(self, group: Sequence[Item]) -> list[list[Item]]:
        for item in group:
            if item.kind == "call":
                self._call(item)
            elif item.kind == "result":
                self._results(item)
            else:
                self.units.append(_Parts(beside=[item]))
        return [[*_merge_calls(unit.calls), *unit.results, *unit.beside] for unit in self.units]

    def _call(self, item: Item) -> None:
        ids = {call["id"] for message in chat_messages(item.text) for call in message["tool_calls"]}
        last = self.units[-1] if self.units else None
        if last is None or last.results or last.beside or last.ids & ids:
            last = _Parts()
            self.units.append(last)
        last.calls.append(item)
        last.ids |= ids
        self.open |= dict.fromkeys(ids, last)

    def _results(self, item: Item) -> None:
        messages = chat_messages(item.text)
        owners = {id_: self.open.pop(id_) for message in messages if (id_ := _answered_id(message)) in self.open}
        for unit in self.units:
            if ids := {id_ for id_, owner in owners.items() if owner is unit}:
                unit.results.append(_part(item, ids, len(ids)))
        if item.parts > item.results:
            said = _part(item, {None}, 0)
            if owners and all(owner is self.units[-1] for owner in owners.values()):
                self.units[-1].beside.append(said._replace(tokens=0, short_tokens=0, loaded_tokens=0))
            else:
                self.units.append(_Parts(beside=[said._replace(kind="message", role="user")]))


def _answered_id(message: dict[str, Any]) -> str | None:
    return message["tool_call_id"] if message.get("role") == "tool" else None


def _part(item: Item, ids: set[Any], results: int) -> Item:
    def of(text: str) -> tuple[str, int]:
        kept = [message for message in chat_messages(text) if _answered_id(message) in ids]
        return ",".join(map(dumps, kept)), len(kept)

    text, parts = of(item.text)
    archived = [at for at, uuid in enumerate(item.archive_ids) if uuid in text]
    return item._replace(
        text=text, parts=parts, results=results, archive_ids=tuple(item.archive_ids[at] for at in archived),
        fresh=tuple(item.fresh[at] for at in archived if at < len(item.fresh)),
        short_text=of(item.short_text)[0] if item.short_text is not None else None,
        loaded_text=of(item.loaded_text)[0] if item.loaded_text is not None else None,
        anthropic=_blocks_of(item.anthropic, ids) if item.anthropic is not None else None,
    )  # fmt: skip


def _blocks_of(anthropic: str, ids: set[Any]) -> str:
    message = json.loads(anthropic)
    kept = [block for block in message["content"] if block.get("tool_use_id") in ids]
    return dumps({**message, "content": kept})


def _merge_calls(calls: list[Item]) -> list[Item]:
    if len(calls) < 2:
        return calls
    first, *rest = calls
    messages = [message for call in calls for message in chat_messages(call.text)]
    has_short = any(call.short_text is not None for call in calls)
    shorts = [message for call in calls for message in chat_messages(call.short_text or call.text)]
    as_sent = [json.loads(call.anthropic) for call in calls if call.anthropic is not None]
    blocks = [block for message in as_sent for block in message["content"]]
    first = first._replace(
        text=dumps(_as_one(messages)),
        short_text=dumps(_as_one(shorts)) if has_short else None,
        anthropic=dumps({**as_sent[0], "content": blocks}) if len(as_sent) == len(calls) else None,
    )
    short = "" if has_short else None
    return [first, *(call._replace(text="", parts=0, short_text=short, anthropic=None) for call in rest)]


def _as_one(messages: Sequence[dict[str, Any]]) -> dict[str, Any]:
    found = messages[0]
    for message in messages[1:]:
        found = {name: _both(found.get(name), message.get(name)) for name in {**found, **message}}
    return found


def _both(one: Any, other: Any) -> Any:
    if not one or not other or one == other:
        return one or other
    match one, other:
        case str(), str():
            return f"{one}\n\n{other}"
        case dict(), dict():
            return {inner: _both(one.get(inner), other.get(inner)) for inner in {**one, **other}}
        case ((str() | list()), (str() | list())):
            parts = [[{"type": "text", "text": said}] if isinstance(said, str) else said for said in (one, other)]
            return parts[0] + parts[1]
    return one


def _is_complete(unit: Sequence[Item]) -> bool:
    unanswered = 0
    for item in unit:
        unanswered += item.calls - item.results
    return not unanswered


def _is_awaited(unit: Sequence[Item]) -> bool:
    """Return whether results can still come: nothing else has followed yet."""
    return not _is_complete(unit) and all(item.kind == "call" or item.parts <= item.results for item in unit)


def _final_form(unit: list[Item]) -> list[Item]:
    """Return a unit in its final form: no further result can come."""
    if _is_complete(unit):
        return unit
    answered = {call_id for item in unit[1:] if item.kind != "call" for call_id in _answered_ids(item.text)}
    call = unit[0]
    kept = call._replace(
        text=_without_unanswered(call.text, answered),
        short_text=_without_unanswered(call.short_text, answered) if call.short_text else None,
        anthropic=None,
    )
    return [kept, *unit[1:]]


def chat_messages(text: str) -> list[dict[str, Any]]:
    parsed: list[dict[str, Any]] = json.loads(f"[{text}]")
    return parsed


def _answered_ids(text: str) -> Iterator[str]:
    for message in chat_messages(text):
        if message.get("role") == "tool":
            yield message["tool_call_id"]


def _without_unanswered(text: str, answered: set[str]) -> str:
    """Return a call message with its answered calls only. Its text names the others."""
    message = chat_messages(text)[0]
    calls = message.pop("tool_calls", [])
    kept = [call for call in calls if call["id"] in answered]
    gone = [
        f"[{call['function']['name']}: {'result comes later' if LATE in call else 'no result'}]"
        for call in calls
        if call["id"] not in answered
    ]
    content = message.get("content")
    if isinstance(content, list):
        message["content"] = [*content, {"type": "text", "text": " ".join(gone)}]
    else:
        message["content"] = "\n".join([*([content] if content else []), *gone])
    if kept:
        message["tool_calls"] = kept
    return dumps(message)
