"""Messages of LangChain, and what LangGraph keeps: states, checkpoints, and the tables of its checkpointers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from quire_command.files.large import kept
from quire_command.files.packed import unpacked
from quire_command.files.reading import Document
from quire_command.files.values import (
    Found,
    Json,
    Said,
    Talk,
    answered,
    call,
    content_of,
    dumps,
    ided,
    image_kind,
    is_list_of,
    media_part,
    named,
    returned,
    role_of,
    rows_of,
    spoken,
    text_part,
)

KINDS = frozenset({"human", "ai", "system", "tool", "function", "chat", "developer", "remove"})


def knows_langchain(document: Document) -> bool:
    found: Any = document.value.get("messages") if isinstance(document.value, dict) else document.value
    return is_list_of(found) and all(_kind(message) is not None for message in found)


def langchain(document: Document) -> Iterator[Found]:
    """Read a list of messages as `messages_to_dict` or `dumpd` write it."""
    value = document.value
    found = rows_of(value.get("messages", value) if isinstance(value, dict) else value, "messages")
    yield Talk(None, kept(_messages(found)))


def knows_langgraph(document: Document) -> bool:
    if {"checkpoints", "checkpoint_blobs"} & set(document.tables):
        return True
    value = document.value if isinstance(document.value, dict) else {}
    return (
        "channel_values" in value
        or ("checkpoint" in value and bool({"values", "metadata"} & set(value)))
        or (isinstance(value.get("values"), dict) and "messages" in value["values"])
    )


def langgraph(document: Document) -> Iterator[Found]:
    """Read a thread's state or checkpoint, or the tables of a checkpointer (SQLite, a dump of PostgreSQL)."""
    if document.tables:
        yield from _threads(document)
        return
    value = document.value
    values = value.get("values", value.get("checkpoint", value)) if isinstance(value, Mapping) else value
    if isinstance(values, Mapping):
        values = values.get("channel_values", values)
    found = rows_of(values.get("messages") if isinstance(values, Mapping) else values, "messages")
    about = value if isinstance(value, Mapping) else {}
    metadata = about.get("metadata") or {}
    thread = (about.get("checkpoint") or {}).get("thread_id") or metadata.get("thread_id")
    name = f"langgraph:{thread}"[:128] if isinstance(thread, str) else None
    yield Talk(name, kept(_messages(found)), user=_user(metadata))


def _user(metadata: Any) -> str | None:
    found = metadata.get("user_id") if isinstance(metadata, Mapping) else None
    return found if isinstance(found, str) and found else None


# --- Checkpointers ---------------------------------------------------------------------------------------


def _threads(document: Document) -> Iterator[Found]:
    """Yield a conversation for each thread: the messages of every checkpoint that led to its newest.

    A checkpoint holds what the agent still had in view; what was summarised or removed since stands in those before.
    """
    rows = [row for row in document.tables.get("checkpoints", ()) if not row.get("checkpoint_ns")]
    names = list(dict.fromkeys(row["thread_id"] for row in rows))
    for thread in names:
        own = {row["checkpoint_id"]: row for row in rows if row["thread_id"] == thread}
        parents = {row.get("parent_checkpoint_id") for row in own.values()}
        lines = [_messages_of(document, _line(own, leaf)) for leaf in own if leaf not in parents] or [{}]
        lines.sort(key=len, reverse=True)
        yield from _talks(f"langgraph:{thread}"[:110], lines, next(filter(None, map(_owner, own.values())), None))


def _owner(row: Json) -> str | None:
    return _user(_json(row.get("metadata")))


def _talks(name: str, lines: Sequence[Mapping[str, Json]], user: str | None) -> Iterator[Talk]:
    """Yield the longest line of a thread as its conversation, and what others have of their own as branches of it."""
    summaries = list(dict.fromkeys(_text(_fields(m)) for line in lines for m in line.values() if _is_summary(m)))
    told = [{key: message for key, message in line.items() if not _is_summary(message)} for line in lines]
    main = list(told[0])
    yield Talk(name, list(_messages(told[0].values())), user=user, summaries=summaries)
    for line in told[1:]:
        keys = list(line)
        shared = next((at for at, key in enumerate(keys) if main[at : at + 1] != [key]), len(keys))
        rest = [line[key] for key in keys[shared:]]
        if rest:
            branch = str(_fields(rest[0]).get("id") or shared)
            yield Talk(f"{name}:{branch}"[:128], list(_messages(rest)), user=user, parent=name, shared=shared)


def _messages_of(document: Document, line: Iterable[Json]) -> dict[str, Json]:
    """Return the messages of checkpoints that follow each other, by their ids, each as it was last."""
    messages: dict[str, Json] = {}
    for row in line:
        for message in _of_checkpoint(document, row):
            messages[str(_fields(message).get("id") or dumps(message))] = message
    return messages


def _line(own: Mapping[str, Json], leaf: str) -> list[Json]:
    """Return the checkpoints from the first to one that none follows."""
    found: dict[str, Json] = {}
    at: Any = leaf
    while at in own and at not in found:
        found[at] = own[at]
        at = own[at].get("parent_checkpoint_id")
    return list(found.values())[::-1]


def _of_checkpoint(document: Document, row: Json) -> Iterator[Json]:
    """Yield the messages in view at a checkpoint, and those that its step wrote."""
    checkpoint = _value(row.get("type"), row.get("checkpoint"))
    values = checkpoint.get("channel_values") if isinstance(checkpoint, Mapping) else None
    yield from _listed(values.get("messages") if isinstance(values, Mapping) else None)
    version = (checkpoint.get("channel_versions") or {}).get("messages") if isinstance(checkpoint, Mapping) else None
    for blob in document.tables.get("checkpoint_blobs", ()):
        if blob["thread_id"] == row["thread_id"] and blob["channel"] == "messages" and blob["version"] == version:
            yield from _listed(_value(blob.get("type"), blob.get("blob")))
    writes = document.tables.get("writes", document.tables.get("checkpoint_writes", ()))
    for write in writes:
        if (
            write["checkpoint_id"] == row["checkpoint_id"]
            and write["thread_id"] == row["thread_id"]
            and write["channel"] == "messages"
        ):
            yield from _listed(_value(write.get("type"), write.get("value", write.get("blob"))))


def _listed(value: Any) -> Iterator[Json]:
    """Yield the messages of a channel, in which a node can have put lists of them."""
    if isinstance(value, list):
        for one in value:
            yield from _listed(one)
    elif isinstance(value, dict) and _kind(value) not in (None, "remove"):
        yield value


def _value(kind: Any, stored: Any) -> Any:
    if isinstance(stored, bytes) and kind in ("msgpack", "json", None):
        return unpacked(stored) if kind == "msgpack" else _json(stored)
    return _json(stored)


def _json(value: Any) -> Any:
    if isinstance(value, str | bytes):
        try:
            return json.loads(value)
        except ValueError:
            return {}
    return value if value is not None else {}


# --- Messages --------------------------------------------------------------------------------------------


def _fields(message: Json) -> Json:
    found = message.get("kwargs") or message.get("data") or message
    return found if isinstance(found, dict) else message


def _kind(message: Json) -> str | None:
    """Return a message's type as LangChain names it, or None for what is no message of LangChain."""
    fields = _fields(message)
    kind = fields.get("type") or message.get("type")
    if message.get("type") == "constructor" and isinstance(message.get("id"), list) and message["id"]:
        kind = message["id"][-1]
    plain = kind.removesuffix("Chunk").removesuffix("Message").lower() if isinstance(kind, str) else ""
    return plain if plain in KINDS and ("content" in fields or plain == "remove") else None


def _is_summary(message: Json) -> bool:
    more = _fields(message).get("additional_kwargs")
    return isinstance(more, dict) and more.get("lc_source") == "summarization"


def _text(fields: Json) -> str:
    content = _content(fields.get("content"))
    return content if isinstance(content, str) else dumps(content)


def _messages(found: Iterable[Json]) -> Iterator[Said]:
    for message in found:
        fields, kind = _fields(message), _kind(message) or str(message.get("role") or message.get("type"))
        if kind == "remove":
            continue
        role = role_of(fields.get("role") if kind == "chat" else kind)
        more = {**named(fields.get("name")), **ided(fields.get("id"))}
        content = _content(fields.get("content"))
        if role == "tool":
            failed = fields.get("status") == "error"
            yield returned(fields.get("tool_call_id") or fields.get("name"), content, failed=failed, **more), None
        elif role == "assistant":
            yield answered(content, list(_calls(fields)), _reasoning(fields.get("content")), **more), None
        else:
            yield spoken(role, content, **more), None


def _calls(fields: Json) -> Iterator[Json]:
    calls = [*(fields.get("tool_calls") or []), *(fields.get("invalid_tool_calls") or [])]
    for one in calls:
        yield call(one.get("id"), one["name"], one.get("args"))
    if not calls:
        for one in (fields.get("additional_kwargs") or {}).get("tool_calls") or []:
            function = one.get("function") or {}
            yield call(one.get("id"), function.get("name"), function.get("arguments"))


def _content(content: Any) -> Any:
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        return dumps(content)
    return content_of([part for one in content for part in _parts(one)])


def _parts(part: Any) -> Iterator[Json]:
    if isinstance(part, str):
        yield text_part(part)
        return
    match part.get("type"):
        case "text" | "text-plain":
            yield text_part(part.get("text") or "")
        case "image_url":
            url = part.get("image_url")
            yield {"type": "image_url", "image_url": url if isinstance(url, dict) else {"url": url}}
        case "image" | "audio" | "video" | "file":
            yield _media(part)
        case "tool_use" | "tool_call" | "tool_call_chunk" | "input_json_delta" | "function_call":
            return
        case "reasoning" | "thinking" | "redacted_thinking" | "reasoning_content":
            return
        case _:
            yield text_part(part)


def _media(part: Json) -> Json:
    given = part.get("source")
    source: Json = given if isinstance(given, dict) else {}
    data = part.get("base64") or part.get("data") or part.get("url") or source.get("data") or source.get("url") or ""
    kind = (
        part.get("mime_type")
        or source.get("media_type")
        or (image_kind(data) if part["type"] == "image" else part["type"])
    )
    return media_part(str(kind), str(data), part.get("filename")) if data else text_part(f"[{part['type']}]")


def _reasoning(content: Any) -> str:
    parts: Sequence[Any] = content if isinstance(content, list) else ()
    thoughts = (p.get("reasoning") or p.get("thinking") for p in parts if isinstance(p, dict))
    return "\n".join(text for text in thoughts if isinstance(text, str))
