"""Read what callers send: chat messages in OpenAI or Anthropic form.

``read`` accepts both forms, message by message, and returns what Quire needs to know of each: its role, the calls it
makes, the results it carries, its plain text, and its form as OpenAI chat messages. The message itself is stored as it
was sent (its canonical JSON), so nothing is lost here.

Fields that only Quire sets (``seq``, ``page``, ``tenant_id`` ...) are refused; other unknown fields are stored and
returned, but no model sees them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, cast

from app.core.canonical import dumps
from app.core.encoded import marked
from app.core.model import Author, Role
from app.core.setting import Variable, setting
from app.core.times import said_at
from app.errors import FieldError, Invalid, PayloadTooLarge

ROLES: tuple[Role, ...] = ("system", "developer", "user", "assistant", "tool")
RESERVED = frozenset(
    {"tenant_id", "conversation_id", "user_id", "seq", "page", "tokens", "archived", "archive_id", "created_at"}
)
NOT_SENT = frozenset({"said_at", "author"})
"""Members that Quire keeps beside a message: they are no part of what a model reads."""
AUTHORS_OF: Mapping[Role, tuple[Author, ...]] = {
    "user": ("person", "participant", "sub-agent", "tool", "machine"),
    "assistant": ("assistant", "sub-agent", "tool", "machine"),
    "tool": ("tool", "machine"),
    "system": ("machine",),
    "developer": ("machine",),
}
ID_MAX = 128
NOT_IN_IDS = re.compile("[\x00-\x1f\x7f-\x9f\uffff]")
"""Control characters, and the one noncharacter that stands for a slash inside a path (see api.http.path_ids)."""
NAME_MAX = 256
CALL_ID_MAX = 8192
"""Characters of a call's id: some gateways put a signature into it."""
TITLE_MAX = 500
MODEL_MAX = 200
NOTE_MAX = 2000
METADATA_MAX = 16_384
"""Characters of a conversation's or a memory's metadata as JSON."""
KEYWORDS_MAX, KEYWORD_MAX = 20, 100
"""Keywords of a memory, and the characters of one."""
THINKING_PARTS = frozenset({"thinking", "redacted_thinking", "reasoning"})
ANTHROPIC_PARTS = frozenset({"tool_use", "tool_result", "thinking", "redacted_thinking"})
NO_ID = ""
"""The id of a result that came without one: it answers the first open call."""
REPEATED = "__"
"""Between the id that several calls of a message came with and the number of each but the first."""
THINKING_FIELDS = ("reasoning_content", "reasoning", "thinking")
CARRIED = "carried"
LATE = "late"
"""The member of a shown result that stands by itself, far behind its call: the name of the tool."""
"""What an answer had beside its text and its calls (``core.dialects.carried``)."""
SENT_FIELDS = ("role", "content", "name", "refusal", *THINKING_FIELDS, "tool_calls")
"""The fields of a message in OpenAI form that are sent to a model, in this order."""


@dataclass(frozen=True, slots=True)
class Limits:
    messages: int = setting(Variable("quire_messages_max", 1000, ge=1), "Maximum messages in one append.")
    listed: int = 20_000
    """Messages in a synced list; most of them are stored already."""
    message_chars: int = 1_000_000
    """Characters of text in one message that is not a tool result."""
    result_chars: int = 20_000_000
    """Characters of one tool result."""
    body_bytes: int = setting(Variable("quire_body_max_bytes", 33_554_432, ge=1024), "Maximum request body, in bytes.")


@dataclass(frozen=True, slots=True)
class Call:
    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Result:
    """One tool result; ``content`` is as sent (text or parts), ``text`` its plain text."""

    call_id: str
    content: Any
    text: str
    is_error: bool = False
    answers: str = ""
    """The id of its call in the store, where the list has another."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A message as read, before it has a place in a conversation."""

    role: Role
    original: dict[str, Any]
    """The message as sent, without `said_at`."""
    text: str
    """All its plain text, without thinking and tool results; files in it are marks."""
    client_id: str | None = None
    name: str | None = None
    calls: tuple[Call, ...] = ()
    results: tuple[Result, ...] = ()
    view: dict[str, Any] = field(default_factory=dict)
    """The message in OpenAI form, without its tool results; empty if it is nothing but results."""
    is_anthropic: bool = False
    said_at: datetime | None = None
    author: Author | None = None
    """As the sender says; see ``core.history.author``."""

    @property
    def contents(self) -> list[dict[str, Any]]:
        """Return the parts with content: the text and each result."""
        return [self.view, *({"content": result.content} for result in self.results)]

    def at_calls(self, ids: Mapping[str, str]) -> Draft:
        """Return the message with its results' call ids replaced by those in the store."""
        return replace(self, results=tuple(replace(one, answers=ids.get(one.call_id, "")) for one in self.results))


class _Problems(list[FieldError]):
    def at(self, loc: Sequence[str | int], msg: str) -> None:
        self.append({"loc": list(loc), "msg": msg})


def read(
    messages: Any,
    limits: Limits,
    loc: Sequence[str | int] = ("body", "messages"),
    *,
    ids_before: Sequence[str | None] = (),
) -> list[Draft]:
    """Return the drafts of a message list. Raises Invalid (or PayloadTooLarge) naming every broken rule's place.

    ``ids_before``: the client ids of the messages that come before these in the request's list.
    """
    problems = _Problems()
    if not isinstance(messages, list) or not messages:
        problems.at(loc, "must be a list of at least one message")
        raise Invalid(errors=problems)
    first = len(ids_before)
    if first + len(messages) > limits.messages:
        problems.at(loc, f"must have at most {limits.messages} messages, not {first + len(messages)}")
        raise Invalid(errors=problems)
    drafts = [_read_message(m, (*loc, i), problems) for i, m in enumerate(messages, first)]
    _check_client_ids(ids_before, drafts, loc, problems)
    if problems:
        raise Invalid(errors=problems)
    _check_sizes(drafts, limits, loc, first)
    return drafts


def _check_client_ids(
    before: Sequence[str | None], drafts: Sequence[Draft], loc: Sequence[str | int], problems: _Problems
) -> None:
    seen = set(before)
    for i, draft in enumerate(drafts, len(before)):
        if draft.client_id is not None and draft.client_id in seen:
            problems.at((*loc, i, "client_id"), "occurs twice in the request")
        seen.add(draft.client_id)


def _check_sizes(drafts: Sequence[Draft], limits: Limits, loc: Sequence[str | int], first: int) -> None:
    problems = _Problems()
    for i, draft in enumerate(drafts, first):
        size = len(draft.text) + sum(len(call.arguments) for call in draft.calls)
        if size > limits.message_chars:
            problems.at((*loc, i, "content"), f"must have at most {limits.message_chars} characters, not {size}")
        longest = max((len(result.text) for result in draft.results), default=0)
        if longest > limits.result_chars:
            problems.at((*loc, i, "content"), f"must have at most {limits.result_chars} characters in a tool result")
    if problems:
        raise PayloadTooLarge(errors=problems)


def _read_message(message: Any, loc: tuple[str | int, ...], problems: _Problems) -> Draft:
    if not isinstance(message, dict):
        problems.at(loc, "must be an object")
        return Draft("user", {}, "")
    for reserved in sorted(RESERVED & message.keys()):
        problems.at((*loc, reserved), "is set by Quire and cannot be sent")
    role = message.get("role")
    if role not in ROLES:
        hint = "; a function's result is tool, with tool_call_id" if role == "function" else ""
        problems.at((*loc, "role"), f"must be one of {', '.join(ROLES)}{hint}")
        return Draft("user", message, "")
    time = _said_at(message, loc, problems)
    author = _author(message, role, loc, problems)
    message = {name: value for name, value in message.items() if name not in NOT_SENT}
    client_id = _client_id(message, loc, problems)
    name = message.get("name")
    if name is not None and not _is_id(name, NAME_MAX):
        problems.at((*loc, "name"), f"must be a string with 1 to {NAME_MAX} characters and no control characters")
    parts = _parts(message, role, loc, problems)
    calls = _calls(message, parts, role, loc, problems)
    results = _results(message, parts, role, loc, problems)
    is_anthropic = role in ("user", "assistant") and any(p.get("type") in ANTHROPIC_PARTS for p in parts)
    if problems:
        return Draft(role, message, "", client_id)
    text = (
        "\n".join([p["text"] for p in parts if p.get("type") == "text"] + refusals(message)) if role != "tool" else ""
    )
    view = {} if role == "tool" else _view(message, parts, calls, is_anthropic)
    return Draft(role, message, marked(text), client_id, name, calls, results, view, is_anthropic, time, author)


def _said_at(message: dict[str, Any], loc: tuple[str | int, ...], problems: _Problems) -> datetime | None:
    value = message.get("said_at")
    if value is None:
        return None
    try:
        return said_at(value)
    except ValueError as error:
        problems.at((*loc, "said_at"), str(error))
        return None


def _author(message: dict[str, Any], role: Role, loc: tuple[str | int, ...], problems: _Problems) -> Author | None:
    """Return the author that a sender names, limited to authors that the role can speak for."""
    author = message.get("author")
    allowed = AUTHORS_OF[role]
    if author is None or author in allowed:
        return author
    problems.at((*loc, "author"), f"must be one of {', '.join(allowed)} in a message of the role {role}")
    return None


def _client_id(message: dict[str, Any], loc: tuple[str | int, ...], problems: _Problems) -> str | None:
    field_name = "client_id" if message.get("client_id") is not None else "id"
    value = message.get(field_name)
    if value is None:
        return None
    if not _is_id(value, ID_MAX):
        problems.at((*loc, field_name), f"must be a string with 1 to {ID_MAX} characters and no control characters")
        return None
    if message.get("id", value) not in (None, value):
        problems.at((*loc, "id"), "must equal `client_id` if both are sent")
    return cast(str, value)


def _is_id(value: Any, longest: int) -> bool:
    return isinstance(value, str) and 0 < len(value) <= longest and not NOT_IN_IDS.search(value)


def _parts(message: dict[str, Any], role: str, loc: tuple[str | int, ...], problems: _Problems) -> list[dict[str, Any]]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if content is None:
        audio = message.get("audio")
        if role == "assistant" and isinstance(audio, dict) and isinstance(said := audio.get("transcript"), str):
            return [{"type": "text", "text": said}]
        if role != "assistant":
            problems.at((*loc, "content"), "must be a string or a list of content parts")
        return []
    if not isinstance(content, list):
        problems.at((*loc, "content"), "must be a string or a list of content parts")
        return []
    return _typed_parts(content, (*loc, "content"), problems)


def _typed_parts(content: list[Any], loc: tuple[str | int, ...], problems: _Problems) -> list[dict[str, Any]]:
    parts = []
    for i, part in enumerate(content):
        if not isinstance(part, dict) or not isinstance(part.get("type"), str):
            problems.at((*loc, i), "must be an object with a `type`")
        elif part["type"] == "text" and not isinstance(part.get("text"), str):
            problems.at((*loc, i, "text"), "must be a string")
        else:
            parts.append(part)
    return parts


def _calls(
    message: dict[str, Any], parts: list[dict[str, Any]], role: str, loc: tuple[str | int, ...], problems: _Problems
) -> tuple[Call, ...]:
    given = message.get("tool_calls")
    if given is not None and not isinstance(given, list):
        problems.at((*loc, "tool_calls"), "must be a list")
        given = None
    blocks = [p for p in parts if p.get("type") == "tool_use"]
    if (given or blocks) and role != "assistant":
        problems.at((*loc, "tool_calls" if given else "content"), "must not call tools unless the role is assistant")
        return ()
    calls: list[Call] = []
    for i, call in enumerate(given or []):
        function = function_of(call) if isinstance(call, dict) else None
        calls += _call(call, i, function, "arguments", (*loc, "tool_calls", i), problems)
    for i, block in enumerate(blocks):
        calls += _call(block, i, block, "input", (*loc, "content"), problems)
    return _with_own_ids(calls)


def _with_own_ids(calls: Sequence[Call]) -> tuple[Call, ...]:
    """Number the calls of a message that share an id, as some gateways send them. The first one keeps its id."""
    given, used = {call.id for call in calls}, set[str]()
    numbers: Counter[str] = Counter()
    found = []
    for call in calls:
        id_ = call.id
        while id_ in used or (id_ != call.id and id_ in given):
            numbers[call.id] += 1
            id_ = f"{call.id}{REPEATED}{numbers[call.id]}"
        used.add(id_)
        found.append(replace(call, id=id_))
    return tuple(found)


def function_of(call: dict[str, Any]) -> Any:
    """Return name and arguments of a call. A custom tool's text is the argument ``input``."""
    custom = call.get("custom")
    if isinstance(custom, dict):
        return {"name": custom.get("name"), "arguments": wrapped(custom.get("input"))}
    return call.get("function", call)


def wrapped(text: Any) -> str:
    """Return a custom tool's input as a function's arguments."""
    return dumps({"input": text if isinstance(text, str) else ""})


def _call(
    call: Any, place: int, function: Any, field_name: str, loc: tuple[str | int, ...], problems: _Problems
) -> list[Call]:
    if not isinstance(call, dict) or not isinstance(function, dict):
        problems.at(loc, "must be an object with `id` and `function`")
        return []
    id_ = call.get("id") or f"call_{place}"  # some servers and exports give none
    if not _is_id(id_, CALL_ID_MAX):
        problems.at((*loc, "id"), f"must be a string with 1 to {CALL_ID_MAX} characters and no control characters")
        return []
    if not _is_id(function.get("name"), NAME_MAX):
        problems.at((*loc, "name"), f"must be a string with 1 to {NAME_MAX} characters and no control characters")
        return []
    arguments = function.get(field_name)
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, str | dict):
        problems.at((*loc, field_name), "must be a JSON string or an object")
        return []
    text = arguments if isinstance(arguments, str) else dumps(arguments)
    return [Call(id_, function["name"], text)]


def _results(
    message: dict[str, Any], parts: list[dict[str, Any]], role: str, loc: tuple[str | int, ...], problems: _Problems
) -> tuple[Result, ...]:
    if role == "tool":
        call_id = message.get("tool_call_id") or NO_ID
        if call_id != NO_ID and not _is_id(call_id, CALL_ID_MAX):
            rule = f"must be the id of the call that the message answers, of 1 to {CALL_ID_MAX} characters"
            problems.at((*loc, "tool_call_id"), rule)
            return ()
        failed = message.get("is_error") is True
        return (Result(cast(str, call_id), message.get("content"), _plain(parts), failed),)
    results = []
    for i, part in enumerate(parts):
        if part.get("type") != "tool_result":
            continue
        call_id = part.get("tool_use_id") or NO_ID
        if role != "user" or (call_id != NO_ID and not _is_id(call_id, CALL_ID_MAX)):
            rule = f"must be the id of the call that the result answers, of 1 to {CALL_ID_MAX} characters"
            problems.at((*loc, "content", i, "tool_use_id"), rule)
            continue
        content = part.get("content", "")
        if not isinstance(content, str | list):
            problems.at((*loc, "content", i, "content"), "must be a string or a list of content blocks")
            continue
        blocks = _typed_parts(content, (*loc, "content", i, "content"), problems) if isinstance(content, list) else []
        text = content if isinstance(content, str) else _plain(blocks)
        results.append(Result(call_id, content, text, part.get("is_error") is True))
    return tuple(results)


def _plain(parts: Sequence[dict[str, Any]]) -> str:
    return "\n".join(p["text"] for p in parts if p.get("type") == "text" and isinstance(p.get("text"), str))


def _view(
    message: dict[str, Any], parts: list[dict[str, Any]], calls: tuple[Call, ...], is_anthropic: bool
) -> dict[str, Any]:
    if not is_anthropic:
        view = {name: message[name] for name in SENT_FIELDS if message.get(name) is not None}
        if carried := sound_carried(message.get(CARRIED)):
            view[CARRIED] = carried
        if not view.get("content"):
            # No API takes an empty list, nor an assistant without both content and calls.
            said = "\n".join(part["text"] for part in parts if part.get("type") == "text")
            view = {**view, "role": message["role"], "content": said or (None if calls else "")}
    else:
        dropped = THINKING_PARTS | {"tool_use", "tool_result"}
        visible = [p for p in parts if p["type"] not in dropped]
        if any(p["type"] == "tool_result" for p in parts) and not any(_says(p) for p in visible):
            return {}
        texts = all(p["type"] == "text" for p in visible)
        view = {name: message[name] for name in ("role", "name") if message.get(name) is not None}
        view["content"] = "\n".join(p["text"] for p in visible) if texts else visible
    if calls:
        view["tool_calls"] = [
            {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}} for c in calls
        ]
    elif "tool_calls" in view:
        del view["tool_calls"]
    return view


def refusals(message: dict[str, Any]) -> list[str]:
    """Return the refusal texts that OpenAI's models send instead of an answer."""
    content = message.get("content")
    parts = [part for part in content if part.get("type") == "refusal"] if isinstance(content, list) else []
    texts = [holder.get("refusal") for holder in (*parts, message)]
    return [text for text in texts if isinstance(text, str) and text.strip()]


def _says(part: dict[str, Any]) -> bool:
    return part["type"] != "text" or bool(part["text"].strip())


def sound_carried(value: Any) -> dict[str, Any] | None:
    """Return a carried member in its proper form; None if it is malformed."""
    if not isinstance(value, dict) or not isinstance(value.get("model"), str):
        return None
    message, calls = value.get("message") or {}, value.get("calls") or {}
    if not isinstance(message, dict) or not isinstance(calls, dict):
        return None
    if not all(isinstance(more, dict) for more in calls.values()):
        return None
    return {"model": value["model"], "message": message, "calls": calls}


def has_thinking(view: dict[str, Any]) -> bool:
    content = view.get("content")
    return any(name in view for name in (*THINKING_FIELDS, CARRIED)) or (
        isinstance(content, list) and any(p["type"] in THINKING_PARTS for p in content)
    )


FRAME_TOKENS = 4
"""Tokens of a chat message's frame."""


FILE_KINDS = {
    **dict.fromkeys(("document", "file", "input_file"), "document"),
    **dict.fromkeys(("input_audio", "audio", "audio_url"), "audio"),
    **dict.fromkeys(("video", "video_url", "input_video"), "video"),
}
"""The kinds of files, by the types of their parts."""
NO_FILES: Mapping[str, int] = {}


def weigh(view: dict[str, Any], files: Mapping[str, int] = NO_FILES) -> tuple[list[str], int]:
    """Return a chat message's texts to count and the tokens of its structure. ``files``: the weights of kinds of files,
    in percent of the usual.

    OpenAI's models spend four tokens on a message's frame. Ids, names and JSON that only other vendors count are
    counted too, so that the sum errs on the side of the budget. In Anthropic form, a system message within the
    conversation and a blank user message are marked by an additional word.
    """
    texts: list[str] = []
    overhead = 12 if view["role"] in ("system", "developer") else FRAME_TOKENS
    content = view.get("content")
    if view["role"] == "user" and isinstance(content, str) and not content.strip():
        overhead = 8
    for name, value in view.items():
        if name == "role" or value is None:
            continue
        if name == "tool_calls":
            for call in value:
                texts += [call["id"], call["function"]["name"], call["function"]["arguments"]]
                overhead += 12
        elif isinstance(value, str):
            texts.append(value)
            overhead += 0 if name == "content" else 2
        elif name == "content" and isinstance(value, list):
            for part in value:
                more, extra = _weigh_part(part, files)
                texts += more
                overhead += extra
        else:
            texts.append(dumps(value))
    return texts, overhead


IMAGE_TOKENS = 1_600
"""Tokens counted for an image: no vendor's published formula gives more for the sizes they scale to."""
FILE_TOKENS_MIN, FILE_TOKENS_MAX = 500, 50_000
CHARACTERS_PER_FILE_TOKEN = 12
"""Characters of base64 for each token of a file, between the two bounds: about 9 bytes."""
CHARACTERS_PER_SEALED_TOKEN = 4
"""Of ciphertext: what is sealed is a text, which has a token for about four bytes; base64 adds a third."""
_IMAGES = frozenset({"image_url", "image", "input_image"})


def files_in(view: dict[str, Any]) -> list[tuple[str, int]]:
    """Return kind and usual tokens of each file in a chat message."""
    content = view.get("content")
    parts = content if isinstance(content, list) else []
    return [(FILE_KINDS[part["type"]], _size(part)) for part in parts if _is_file(part)]


def flat_tokens(view: dict[str, Any], files: Mapping[str, int] = NO_FILES) -> int:
    """Return the tokens of a chat message's images and files, which no tokenizer counts."""
    content = view.get("content")
    parts = content if isinstance(content, list) else []
    return sum(_weigh_part(part, files)[1] for part in parts if part.get("type") in _IMAGES or _is_file(part))


def _is_file(part: dict[str, Any]) -> bool:
    return part.get("type") in FILE_KINDS and not _is_text_source(part)


def _size(part: dict[str, Any]) -> int:
    size = sum(map(len, strings_of(part)))
    return min(FILE_TOKENS_MAX, max(FILE_TOKENS_MIN, size // CHARACTERS_PER_FILE_TOKEN))


def _weigh_part(part: dict[str, Any], files: Mapping[str, int]) -> tuple[list[str], int]:
    kind = part.get("type")
    if kind == "text":
        return [part["text"]], 3
    if kind in _IMAGES:
        return [], IMAGE_TOKENS
    if "call" in part:  # it stands in place of what is weighed beside it
        return [], 3
    if _is_file(part):
        return [], _size(part) * files.get(FILE_KINDS[part["type"]], 100) // 100
    text = dumps(part)
    read = marked(text)
    return [read], 3 + (len(text) - len(read)) // CHARACTERS_PER_SEALED_TOKEN


def _is_text_source(part: dict[str, Any]) -> bool:
    source = part.get("source") or {"type": part.get("source_type")}
    return isinstance(source, dict) and source.get("type") in ("text", "content")


def strings_of(value: Any) -> Iterator[str]:
    """Yield the texts in a JSON value, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from strings_of(inner)
