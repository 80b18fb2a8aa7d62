"""Fit a request to the model that it goes to: ``row → request``, for the proxy and for windows alike.

The messages come with what their answers carried (``carried``); the row says what of it is sent back, what stands in
for it, and in which form everything else has to be. What an API refused although its row allows it is ``Learned``, and
holds for that address and model from then on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.core.call_ids import CallIds
from app.core.dialects.question import Dialect
from app.core.messages import CARRIED, THINKING_FIELDS, sound_carried
from app.core.models import ModelRow

Json = dict[str, Any]
LIMITS = ("max_tokens", "max_completion_tokens")
ESSENTIAL = frozenset({"model", "messages", "input", "tools", "stream", "system", "instructions"})
THINKING = ("thinking", "redacted_thinking")
MISSING = r"(?i)missing|must|passed back|required|expected"
_NOUNS = r"(?:parameter|argument|field|propert(?:y|ies)|inputs?|key|option|member)s?"
FIELD = rf"(?i)参数|字段|\b(?:unknown|unsupported|unrecogni[sz]ed|unexpected|extra|additional)\b[\w\s]{{0,20}}\b{_NOUNS}\b"
"""What is said of a member that an API does not know."""
UNKNOWN = rf"{FIELD}|not (?:be )?(?:permitted|allowed|supported|given)|cannot be|unsupported|unexpected|不支持"
SEALED = r"(?i)signature|encrypted"
NESTED = ESSENTIAL | {
    "role", "content", "type", "text", "id", "function", "arguments", "tool_calls", "tool_call_id", "call_id",
    "output", "tool_use_id", "parameters", "input_schema", "max_tokens", "thinking", "signature", "data", "summary",
    "source", "image_url", "url", "media_type", "file",
}  # fmt: skip
"""Members within messages and tools that nothing can do without; of reasoning, all goes or none."""
SCHEMAS = ("parameters", "input_schema", "schema", "metadata")
"""Members with objects of the client's own."""
SHAPE = r"(?i)content|\bid\b|role|system|alternat|sequence|string|duplicate|nil|null|`text`"
REASONING = r"(?i)signature|thinking|thought|encrypted|reasoning"
_WORDS = frozenset({"tool_calls", "tool_call", "tool_call_id", "tool_use", "tool_result", "invalid_request_error"})
_LIST = re.compile(r"\[(?:(?:'\w+'|\d+)(?:, )?)+\]")
_PATH = re.compile(r"\w+(?:(?:\.|\[)\w+\]?)+")
_QUOTED = re.compile(r"['\"`‘“](\w+)['\"`’”]")


@dataclass(frozen=True, slots=True)
class Learned:
    """What an API refused."""

    dropped: frozenset[str] = frozenset()
    """Members of a request that are left out; of the answer's limit, its name."""
    inner: frozenset[str] = frozenset()
    """Members that are left out wherever a message, a tool or an option has them."""
    bare: bool = False
    """Nothing that answers carried is sent."""
    stand_ins: frozenset[str] = frozenset()
    """Members that each answer with calls must have."""
    careful: bool = False
    """Messages have the form that every API takes."""

    @property
    def guesses(self) -> tuple[bool, bool]:
        """What no refusal named."""
        return self.bare, self.careful


NOTHING = Learned()


def fit(
    row: ModelRow, dialect: Dialect, body: Mapping[str, Any], learned: Learned = NOTHING, volatile: int = 0
) -> Json:
    """Return the request as the model's API wants it. ``volatile``: messages at its end that no later one repeats."""
    row = careful(row) if learned.careful else row
    fitted = _parameters(row, dict(body), learned)
    match dialect:
        case "chat":
            fitted["messages"] = chat_messages(row, str(body["model"]), body["messages"], learned)
        case "messages":
            fitted["messages"] = _blocks(row, body["messages"], learned)
            fitted = _netted(row, fitted)
        case "responses" if learned.bare:
            fitted["input"] = [item for item in body["input"] if item.get("type") != "reasoning"]
    if dialect != "messages" and row.cache.mark not in learned.inner:
        fitted = marked(row, fitted, volatile)
    return {name: _without(value, learned.inner) for name, value in fitted.items()} if learned.inner else fitted


def learn(learned: Learned, body: Mapping[str, Any], told: str) -> Learned | None:
    """Return what is to be done without after a refusal; None if everything was tried.

    A member that the refusal names is left out, or stood in for where it is missing; otherwise nothing that earlier
    answers carried is sent.
    """
    words, sure = _named(told)
    if learned.bare and re.search(MISSING, told) and re.search(REASONING, told):
        return replace(learned, bare=False)
    if (absent := _absent(learned, body, words)) and re.search(MISSING, told) and not re.search(UNKNOWN, told):
        return replace(learned, stand_ins=learned.stand_ins | {min(absent)})
    if re.search(SEALED, told) and not re.search(UNKNOWN, told) and not learned.bare:
        return replace(learned, bare=True)
    if fewer := _without_named(learned, body, words, sure, is_unknown=bool(re.search(UNKNOWN, told))):
        return fewer
    if absent and re.search(MISSING, told):
        return replace(learned, stand_ins=learned.stand_ins | {min(absent)})
    is_shape = bool(re.search(SHAPE, told)) and not re.search(REASONING, told)
    if is_shape and not learned.careful:
        return replace(learned, careful=True)
    is_of_other = bool(re.search(FIELD, told)) and not re.search(REASONING, told)
    return None if learned.bare or is_of_other else replace(learned, bare=True)


def blames_form(body: Mapping[str, Any], told: str) -> bool:
    """Return whether a refusal is about a member of the request, not about what is asked."""
    words, sure = _named(told)
    named = any(name in words for name in body if name not in ESSENTIAL) or "tools" in words
    return named or bool(re.search(FIELD, told)) or bool(_inner_names(body) & sure)


def _named(told: str) -> tuple[set[str], set[str]]:
    """Return the names in a refusal, of a path the last one, and those of them that stand in a path or in quotes."""
    told = _LIST.sub(lambda found: ".".join(re.findall(r"\w+", found[0])), told)
    paths = [re.findall(r"[A-Za-z_]\w*", path) for path in _PATH.findall(told)]
    last = {path[-1] for path in paths if path}
    rest = _PATH.sub(" ", told)
    return last | set(re.findall(r"[A-Za-z_]\w*", rest)), last | set(_QUOTED.findall(rest))


def _absent(learned: Learned, body: Mapping[str, Any], words: set[str]) -> set[str]:
    """Return the words that name a member which some answer with calls does not have."""
    named = {word for word in words if re.fullmatch(r"reasoning|[a-z]+(_[a-z]+)+", word)} - learned.stand_ins - _WORDS
    messages = [message for message in body.get("messages") or [] if message.get("role") != "user"]
    sent = [set(message) for message in messages if message.get("tool_calls")]
    other = {name for message in messages for name in message}
    return {word for word in named if any(word not in one for one in sent) and (sent or word not in other)}


def _without_named(
    learned: Learned, body: Mapping[str, Any], words: set[str], sure: set[str], *, is_unknown: bool
) -> Learned | None:
    """Return what is learned of a refusal that names a member; of several, the ``sure`` ones count."""
    outer = {name for name in body if name not in ESSENTIAL and name in words} - learned.dropped
    inner = (_inner_names(body) & words) - learned.inner
    if outer & sure or (outer and not inner & sure):
        return replace(learned, dropped=learned.dropped | (outer & sure or outer))
    if inner & sure or (inner and is_unknown):
        return replace(learned, inner=learned.inner | (inner & sure or inner))
    return None


def _inner_names(value: Any, depth: int = 0) -> set[str]:
    """Return the names of the members within a request that can be left out."""
    if isinstance(value, list):
        return {name for item in value for name in _inner_names(item, depth)}
    if not isinstance(value, Mapping):
        return set()
    own = {name for name in value if depth and _can_go(name, value)}
    return own.union(*(_inner_names(item, depth + 1) for name, item in value.items() if name not in SCHEMAS))


def _can_go(name: str, owner: Mapping[str, Any]) -> bool:
    return "role" in owner if name == "name" else name not in NESTED


def _without(value: Any, names: frozenset[str]) -> Any:
    """Return a value without the members of these names, and without the objects that they leave empty."""
    if isinstance(value, list):
        return [_without(item, names) for item in value]
    if not isinstance(value, Mapping):
        return value
    kept = {
        name: item if name in SCHEMAS else _without(item, names)
        for name, item in value.items()
        if name not in names or not _can_go(name, value)
    }
    return {name: item for name, item in kept.items() if item != {} or value[name] == {}}


def careful(row: ModelRow) -> ModelRow:
    """Return a row with the form of messages that every API takes."""
    return replace(row, null=False, ids=row.ids or "[A-Za-z0-9]{9}", lists=("user",), system="one", developer=False,
        alternate=True)  # fmt: skip


# --- Parameters ------------------------------------------------------------------------------------------


def _parameters(row: ModelRow, body: Json, learned: Learned) -> Json:
    body = _limited(row, body, learned)
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
    options = body.get("prompt_cache_options")
    if isinstance(options, Mapping) and options.get("mode") == "explicit" and not marks_in(body):
        body["prompt_cache_options"] = {name: value for name, value in options.items() if name != "mode"}
    if row.unstreamed and not body.get("stream"):
        body |= row.unstreamed
    refused = learned.dropped if learned.dropped >= set(LIMITS) else learned.dropped - set(LIMITS)
    return {
        name: value
        for name, value in body.items()
        if name not in refused and (not row.parameters or name in row.parameters)
    }


def _limited(row: ModelRow, body: Json, learned: Learned) -> Json:
    """Return the body with the answer's limit under the name that the API takes."""
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


def marks_in(value: Any) -> bool:
    """Return whether a client marked any block for the prompt cache."""
    if isinstance(value, list):
        return any(map(marks_in, value))
    if isinstance(value, Mapping):
        return "prompt_cache_breakpoint" in value or any(
            marks_in(value.get(n)) for n in ("messages", "input", "content")
        )
    return False


# --- Chat Completions ------------------------------------------------------------------------------------


def marked(row: ModelRow, body: Json, volatile: int) -> Json:
    """Return a request with breakpoints for the prompt cache, where its API has no other way to reuse a prefix.

    They stand on the last message that the next request repeats: the last one, and where messages at the end are
    volatile (``volatile``), the one before them. Only the latter is marked then.
    """
    mark, place = row.cache.mark, "messages" if "messages" in body else "input"
    if row.cache.kind not in ("breakpoints", "marks") or not mark or marks_in(body):
        return body
    value = {"mode": "explicit"} if row.cache.kind == "breakpoints" else {"type": "ephemeral"}
    said = list(body[place])
    for at in range(len(said) - 1 - volatile, -1, -1):
        content = said[at].get("content")
        parts = [{"type": "text", "text": content}] if isinstance(content, str) and content else content
        if said[at].get("role") in ("user", "system", "tool") and isinstance(parts, list) and parts:
            if place == "input" and parts[-1]["type"] == "text":
                parts = [*parts[:-1], {**parts[-1], "type": "input_text"}]
            said[at] = {**said[at], "content": [*parts[:-1], {**parts[-1], mark: value}]}
            return {**body, place: said}
    return body


def chat_messages(
    row: ModelRow, model: str, messages: Sequence[Mapping[str, Any]], learned: Learned = NOTHING
) -> list[Json]:
    """Return messages in OpenAI form as the model's API wants them."""
    found = [
        _answer(row, model, message, learned, is_due=due) if message["role"] == "assistant" else dict(message)
        for message, due in zip(messages, _due(row, messages), strict=True)
    ]
    found = [_plain(row, message) for message in _placed(row, found)]
    found = [
        m for m in found if m["role"] != "assistant" or m.get("content") or m.get("tool_calls") or m.get("refusal")
    ]
    if row.alternate:
        found = _alternating(found)
    if row.user_needed and not any(message["role"] == "user" for message in found):
        found.append({"role": "user", "content": "…"})
    return _named_calls(row, found)


def _due(row: ModelRow, messages: Sequence[Mapping[str, Any]]) -> list[bool]:
    """Return which answers must have their reasoning."""
    calls = [bool(message.get("tool_calls")) for message in messages]
    if row.returned != "turns":
        return [has_calls and row.returned in ("first", "calls") for has_calls in calls]
    due, start = [False] * len(messages), 0
    for end in range(len(messages) + 1):
        if end == len(messages) or messages[end]["role"] == "user":
            due[start:end] = [any(calls[start:end])] * (end - start)
            start = end
    return due


def _answer(row: ModelRow, model: str, message: Mapping[str, Any], learned: Learned, *, is_due: bool) -> Json:
    """Return an answer with what it carried, where it goes back to the model that made it."""
    found = {name: value for name, value in message.items() if name != CARRIED}
    carried = sound_carried(message.get(CARRIED))
    is_own = carried is not None and carried["model"] == model and not learned.bare
    more: Json = carried["message"] if carried and is_own else {}
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
    """Return an answer with its reasoning where the row has it, or with what stands in."""
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
    """Return a message whose content has a form that the API takes."""
    content, role = message.get("content"), message["role"]
    if content is None and message.get("tool_calls") and not row.null:
        return {**message, "content": ""}
    if isinstance(content, list) and role not in row.lists and all(part.get("type") == "text" for part in content):
        return {**message, "content": "\n".join(part["text"] for part in content)}
    return message


def _placed(row: ModelRow, messages: Sequence[Json]) -> Iterator[Json]:
    """Yield the messages with roles that the API knows. A late system message is said by the user."""
    for at, message in enumerate(messages):
        if message["role"] in ("system", "developer") and row.system == "one" and at:
            yield {**message, "role": "user"}
        elif message["role"] == "developer" and not row.developer:
            yield {**message, "role": "system"}
        else:
            yield message


def _alternating(messages: Sequence[Json]) -> list[Json]:
    """Return the messages with neighbours of one role as one message."""
    found: list[Json] = []
    for message in messages:
        last = found[-1] if found else None
        alike = last is not None and last["role"] == message["role"] and message["role"] in ("user", "assistant")
        if last is None or not alike or last.get("tool_calls") or message.get("tool_calls"):
            found.append(message)
        else:
            found[-1] = {**last, "content": _both(last.get("content"), message.get("content"))}
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


def _blocks(row: ModelRow, messages: Sequence[Mapping[str, Any]], learned: Learned) -> list[Json]:
    loop = _loop(messages)
    ids = CallIds(row.ids)
    found: list[Json] = []
    for at, message in enumerate(messages):
        if not isinstance(message["content"], list):
            found.append(dict(message))
            continue
        content = [_with_block_id(block, ids) for block in message["content"]]
        if learned.bare or (row.bound and at < loop):
            content = [block for block in content if block["type"] not in THINKING]
        if _lacks_thinking(row, message["role"], content):
            content = [row.stand_in, *content]
        if content:
            found.append({**message, "content": content})
    return found


def _with_block_id(block: Json, ids: CallIds) -> Json:
    match block["type"]:
        case "tool_use":
            return {**block, "id": ids.call(block["id"])}
        case "tool_result":
            return {**block, "tool_use_id": ids.result(block["tool_use_id"])}
    return block


def _lacks_thinking(row: ModelRow, role: str, content: Sequence[Json]) -> bool:
    kinds = {block["type"] for block in content}
    return role == "assistant" and row.returned == "calls" and "tool_use" in kinds and kinds.isdisjoint(THINKING)


def _loop(messages: Sequence[Mapping[str, Any]]) -> int:
    """Return where the open tool loop begins: after the newest message in which the user says something."""
    for at in range(len(messages) - 1, -1, -1):
        content = messages[at]["content"]
        blocks = content if isinstance(content, list) else [{"type": "text"}]
        says = messages[at]["role"] == "user" and not any(block["type"] == "tool_result" for block in blocks)
        if says and (at < len(messages) - 1 or at == 0 or messages[at - 1]["role"] == "assistant"):
            return at
    return 0


def _netted(row: ModelRow, body: Json) -> Json:
    """Let an API that binds reasoning to what precedes it drop what is out of place, where it would refuse it."""
    thinking = body.get("thinking")
    kind = thinking.get("type") if isinstance(thinking, Mapping) else "adaptive"
    if not row.bound or kind != "adaptive":
        return body
    given = thinking if isinstance(thinking, Mapping) else {}
    net = {"prefix_mismatch_behavior": "drop_block"}
    return {**body, "thinking": {"type": "adaptive", **given, "block_binding": net}}
