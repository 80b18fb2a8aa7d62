"""Fit a request to the model that it goes to: ``row → request``, for the proxy and for windows alike.

The messages come with what their answers carried (``carried``). The row says what of it is sent back, what stands in
for it, and which form everything else must have. If an API refuses what its row allows, this is noted in
``Lessons`` and left out for that address and model from then on.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

from app.core.canonical import dumps, etag_of, hash_of
from app.core.dialects.carried import AUDIO
from app.core.dialects.learning import LIMITS, NOTHING, Lessons, without
from app.core.dialects.marking import marked
from app.core.dialects.question import Dialect
from app.core.dialects.told import told_blocks, told_messages
from app.core.messages import CARRIED, THINKING_FIELDS, sound_carried
from app.core.model import Context, Format
from app.core.models import GENERAL, ModelRow, ModelTable
from app.core.parts import CallIds, as_chat, quoted, spoken

Json = dict[str, Any]
THINKING = ("thinking", "redacted_thinking")
_CARRIED = f'"{CARRIED}"'.encode()
NO_THINKING: Json = {"type": "thinking", "thinking": "", "signature": ""}
"""What stands for thinking that is no longer there, where an API wants some."""


def fit(
    row: ModelRow, dialect: Dialect, body: Mapping[str, Any], learned: Lessons = NOTHING,
    repeated: Sequence[int] = (), now: float = math.inf,
) -> Json:  # fmt: skip
    """Return the request as the model's API wants it. ``repeated``: see ``marking.marked``.

    ``now`` is in seconds since 1970: the id of an API's own recording is sent back until it expires.
    """
    row = careful(row) if learned.careful else row
    fitted = _parameters(row if dialect == "chat" else replace(row, limit=""), dict(body), learned)
    if row.cache.mark not in learned.inner:
        fitted = marked(row.cache, dialect, fitted, repeated)
    match dialect:
        case "chat":
            fitted["messages"] = chat_messages(row, str(body["model"]), fitted["messages"], learned, now)
        case "messages":
            fitted["messages"] = _blocks(row, fitted["messages"], learned)
            fitted = _with_block_binding(row, fitted)
        case "responses" if learned.bare:
            fitted["input"] = [item for item in fitted["input"] if item.get("type") != "reasoning"]
    return {name: without(value, learned.inner) for name, value in fitted.items()} if learned.inner else fitted


def careful(row: ModelRow) -> ModelRow:
    """Return the row with the form of messages that every API accepts."""
    return replace(row, null=False, ids=row.ids or "[A-Za-z0-9]{9}", lists=("user",), names=False, system="one",
        developer=False, alternate=True)  # fmt: skip


# --- Windows ---------------------------------------------------------------------------------------------


def fitted_window(found: Context, models: ModelTable, model: str, form: Format, *, alternate: bool = False) -> Context:
    """Return a window as its model's API wants it, without members that answers carried for other models."""
    row = models.row(model, alternate=alternate)
    carries_none = found.is_plain or (_CARRIED not in found.body and b'"type":"reasoning"' not in found.body)
    if (form == "anthropic" and not alternate) or (row == GENERAL and carries_none):
        return found
    answer = json.loads(found.body)
    stable = answer["messages"][: answer["stable_messages"]]
    if form == "anthropic":
        fitted, alone = (alternating(said) for said in (answer["messages"], stable))
    else:
        fitted, alone = (chat_messages(row, model, as_chat(said)) for said in (answer["messages"], stable))
    same = sum(1 for _ in takewhile(lambda two: two[0] == two[1], zip(fitted, alone, strict=False)))
    body = dumps({**answer, "messages": fitted, "stable_messages": same}).encode()
    read = hash_of(*(dumps(said) for said in (answer["tools"], answer["system"], fitted)))
    return found._replace(body=body, etag=etag_of(body), hash=read)


# --- Parameters ------------------------------------------------------------------------------------------


def _parameters(row: ModelRow, body: Json, learned: Lessons) -> Json:
    body = _with_limit(row, body, learned)
    thinks = not (row.off and all(body.get(name) == value for name, value in row.off.items()))
    temperature = body.get("temperature")
    if (row.temperature in ("one", "default") and temperature not in (None, 1)) or (
        row.temperature == "positive" and temperature == 0
    ):
        del body["temperature"]
    allowed = [choices for choices in (row.choices, row.choices_thinking if thinks else ()) if choices]
    choice = _choice(body.get("tool_choice"))
    if any(choice not in choices for choices in allowed):
        body["tool_choice"] = {"type": "auto"} if isinstance(body["tool_choice"], Mapping) else "auto"
        if choice == "none":
            del body["tool_choice"]
    wanted = body.get("response_format")
    if isinstance(wanted, Mapping) and row.formats and wanted.get("type", "text") not in row.formats:
        del body["response_format"]
        if "json_object" in row.formats:
            body["response_format"] = {"type": "json_object"}
    if row.unstreamed and not body.get("stream"):
        body |= row.unstreamed
    refused = learned.dropped if learned.dropped >= set(LIMITS) else learned.dropped - set(LIMITS)
    return {
        name: value
        for name, value in body.items()
        if name not in refused and (not row.parameters or name in row.parameters)
    }


def _with_limit(row: ModelRow, body: Json, learned: Lessons) -> Json:
    refused = learned.dropped & set(LIMITS)
    wanted = next((name for name in LIMITS if refused and name not in refused), row.limit)
    if not wanted or "messages" not in body or "max_output_tokens" in body:
        return body
    other = next(name for name in LIMITS if name != wanted)
    if body.get(other) is None:
        return body
    limit = body.pop(other)
    return {wanted: limit, **body}


def _choice(choice: Any) -> str:
    kind = choice.get("type") if isinstance(choice, Mapping) else choice or "auto"
    return {"any": "required", "tool": "named", "function": "named"}.get(str(kind), str(kind))


# --- Chat Completions ------------------------------------------------------------------------------------


def chat_messages(
    row: ModelRow, model: str, messages: Sequence[Mapping[str, Any]], learned: Lessons = NOTHING, now: float = math.inf
) -> list[Json]:
    """Return messages in OpenAI form as the model's API wants them."""
    if learned.told:
        kept = [at for at, message in enumerate(messages) if _is_whole(message, model, learned)]
        messages = list(told_messages(messages, kept))
    found = [
        _answer(row, model, message, learned, now, is_due=due) if message["role"] == "assistant" else dict(message)
        for message, due in zip(messages, _needs_reasoning(row, messages), strict=True)
    ]
    found = [_plain(row, message) for message in _with_roles(row, found)]
    found = [
        m for m in found if m["role"] != "assistant" or m.get("content") or m.get("tool_calls") or m.get("refusal")
    ]
    if row.alternate or not row.names or "name" in learned.inner:
        found = [spoken(message) for message in found]
    if row.alternate:
        found = alternating(found)
    if row.user_needed and not any(message["role"] == "user" for message in found):
        found.append({"role": "user", "content": "…"})
    return _named_calls(row, found)


def _is_whole(message: Mapping[str, Any], model: str, learned: Lessons) -> bool:
    """Return whether an answer still has what it carried, not the stand-ins of a condensed one."""
    carried = sound_carried(message.get(CARRIED))
    if carried is None or carried["model"] != model or learned.bare:
        return False
    return _says(carried["message"], carried["calls"])


def _says(*values: Any) -> bool:
    return any(
        _says(*(value.values() if isinstance(value, Mapping) else value))
        if isinstance(value, Mapping | list)
        else bool(value)
        for value in values
    )


def _needs_reasoning(row: ModelRow, messages: Sequence[Mapping[str, Any]]) -> list[bool]:
    calls = [bool(message.get("tool_calls")) for message in messages]
    if row.returned != "turns":
        return [has_calls and row.returned in ("first", "calls") for has_calls in calls]
    due, start = [False] * len(messages), 0
    for end in range(len(messages) + 1):
        if end == len(messages) or messages[end]["role"] == "user":
            due[start:end] = [any(calls[start:end])] * (end - start)
            start = end
    return due


def _answer(
    row: ModelRow, model: str, message: Mapping[str, Any], learned: Lessons, now: float, *, is_due: bool
) -> Json:
    found = {name: value for name, value in message.items() if name != CARRIED}
    carried = sound_carried(message.get(CARRIED))
    is_own = carried is not None and carried["model"] == model and not learned.bare
    more: Json = dict(carried["message"]) if carried and is_own else {}
    if (audio := more.pop(AUDIO, None) or {}).get("expires_at", 0) > now:
        found[AUDIO] = {"id": audio["id"]}
    calls: Json = carried["calls"] if carried and is_own else {}
    place = row.reasoning
    if place is not None:
        kept = {place: found[place]} if place in THINKING_FIELDS and isinstance(found.get(place), str) else {}
        found = {name: value for name, value in found.items() if name not in THINKING_FIELDS} | kept
    if learned.bare:
        found = {name: value for name, value in found.items() if name not in THINKING_FIELDS}
    if place is None:
        found |= more
        found = _with_calls(found, lambda _, call: calls.get(call["id"], {}))
    elif place:
        found = _at_place(row, place, found, more, calls, is_due=is_due)
    if found.get("tool_calls"):
        found = {**dict.fromkeys(sorted(learned.stand_ins), ""), **found}
    if row.only:
        found = {name: value for name, value in found.items() if name in row.only}
    return {name: value for name, value in found.items() if name not in row.forbidden}


def _at_place(row: ModelRow, place: str, found: Json, more: Json, calls: Json, *, is_due: bool) -> Json:
    if place.startswith("tool_calls."):
        member = place.removeprefix("tool_calls.")

        def extra(at: int, call: Mapping[str, Any]) -> Json:
            value = calls.get(call["id"], {}).get(member) or (row.stand_in if is_due and at == 0 else None)
            return {member: value} if value else {}

        return _with_calls(found, extra)
    if place.startswith("<"):
        thinking = "" if row.returned == "none" else more.get(place) or (row.stand_in if is_due else "")
        return {**found, "content": f"{thinking}{found.get('content') or ''}"} if thinking else found
    value = more.get(place) if is_due or row.returned == "came" else None
    if place == "content":
        return {**found, "content": value} if value else found
    if value:
        return {**found, place: value}
    return {**found, place: row.stand_in} if is_due and place not in found else found


def _with_calls(message: Json, more: Callable[[int, Mapping[str, Any]], Json]) -> Json:
    calls = message.get("tool_calls")
    if not calls:
        return message
    return {**message, "tool_calls": [{**call, **more(at, call)} for at, call in enumerate(calls)]}


def _plain(row: ModelRow, message: Json) -> Json:
    content, role = message.get("content"), message["role"]
    if content is None and message.get("tool_calls") and not row.null:
        return {**message, "content": ""}
    if isinstance(content, list) and (parts := [_accepted_part(row, part) for part in content]) != content:
        message, content = {**message, "content": parts}, parts
    if isinstance(content, list) and role not in row.lists and all(part.get("type") == "text" for part in content):
        return {**message, "content": "\n".join(part["text"] for part in content)}
    return message


def _accepted_part(row: ModelRow, part: Json) -> Json:
    """Return a part, as text if the API does not accept it. Chat Completions has no member for a file's address."""
    if not (row.parts and part.get("type") not in row.parts) and "file_url" not in part.get("file", ()):
        return part
    return {"type": "text", "text": part.get("refusal") or quoted(part)}


def _with_roles(row: ModelRow, messages: Sequence[Json]) -> Iterator[Json]:
    """Yield the messages with roles that the API knows. A late system message becomes the user's."""
    for at, message in enumerate(messages):
        if message["role"] in ("system", "developer") and row.system == "one" and at:
            yield {**message, "role": "user"}
        elif message["role"] == "developer" and not row.developer:
            yield {**message, "role": "system"}
        else:
            yield message


def alternating(messages: Sequence[Json]) -> list[Json]:
    found: list[Json] = []
    for message in messages:
        last = found[-1] if found else None
        alike = last is not None and last["role"] == message["role"] and message["role"] in ("user", "assistant")
        if last is None or not alike or last.get("tool_calls") or message.get("tool_calls"):
            found.append(message)
        else:
            kept = last if last.get("name") == message.get("name") else without(last, frozenset({"name"}))
            found[-1] = {**kept, "content": _both(last.get("content"), message.get("content"))}
    return found


def _both(one: Any, other: Any) -> Any:
    if isinstance(one, str) and isinstance(other, str):
        return f"{one}\n\n{other}"
    parts = [[{"type": "text", "text": said}] if isinstance(said, str) else list(said or []) for said in (one, other)]
    return parts[0] + parts[1]


# --- Ids of calls ----------------------------------------------------------------------------------------


def _named_calls(row: ModelRow, messages: Sequence[Json]) -> list[Json]:
    if not row.ids:
        return list(messages)
    ids = CallIds(row.ids)
    return [_with_ids(message, ids) for message in messages]


def _with_ids(message: Json, ids: CallIds) -> Json:
    if message["role"] == "tool":
        return {**message, "tool_call_id": ids.result(message["tool_call_id"])}
    return _with_calls(message, lambda _, call: {"id": ids.call(call["id"])})


# --- Messages --------------------------------------------------------------------------------------------


def _blocks(row: ModelRow, messages: Sequence[Mapping[str, Any]], learned: Lessons) -> list[Json]:
    loop = _loop(messages)
    ids = CallIds(row.ids)
    told: dict[str, str] = {}
    found: list[Json] = []
    for at, message in enumerate(messages):
        if not isinstance(message["content"], list):
            found.append(dict(message))
            continue
        content = [_with_block_id(block, ids) for block in message["content"]]
        if learned.bare or (row.bound and at < loop):
            content = [block for block in content if block["type"] not in THINKING]
        if learned.told:
            is_kept = not {block["type"] for block in content}.isdisjoint(THINKING)
            content = list(told_blocks(content, told, is_kept=is_kept))
        if _lacks_thinking(row, learned, message["role"], content):
            content = [row.stand_in if row.reasoning == THINKING[0] and row.stand_in else NO_THINKING, *content]
        if content:
            found.append({**message, "content": content})
    return alternating(found) if row.alternate else found


def _with_block_id(block: Json, ids: CallIds) -> Json:
    match block["type"]:
        case "tool_use":
            return {**block, "id": ids.call(block["id"])}
        case "tool_result":
            return {**block, "tool_use_id": ids.result(block["tool_use_id"])}
    return block


def _lacks_thinking(row: ModelRow, learned: Lessons, role: str, content: Sequence[Json]) -> bool:
    kinds = {block["type"] for block in content}
    is_wanted = row.returned == "calls" or THINKING[0] in learned.stand_ins
    return role == "assistant" and is_wanted and "tool_use" in kinds and kinds.isdisjoint(THINKING)


def _loop(messages: Sequence[Mapping[str, Any]]) -> int:
    """Return where the open tool loop begins: behind the newest message in which the user says something."""
    for at in range(len(messages) - 1, -1, -1):
        content = messages[at]["content"]
        blocks = content if isinstance(content, list) else [{"type": "text"}]
        says = messages[at]["role"] == "user" and not any(block["type"] == "tool_result" for block in blocks)
        if says and (at < len(messages) - 1 or at == 0 or messages[at - 1]["role"] == "assistant"):
            return at
    return 0


def _with_block_binding(row: ModelRow, body: Json) -> Json:
    """Let an API that binds reasoning to earlier messages drop misplaced reasoning rather than refuse it."""
    thinking = body.get("thinking")
    kind = thinking.get("type") if isinstance(thinking, Mapping) else "adaptive"
    if not row.bound or kind != "adaptive":
        return body
    given = thinking if isinstance(thinking, Mapping) else {}
    net = {"prefix_mismatch_behavior": "drop_block"}
    return {**body, "thinking": {"type": "adaptive", **given, "block_binding": net}}
