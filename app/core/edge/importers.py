"""Convert exports of other systems to the lines of an import. Pure functions of their JSON.

Most read one conversation: Redis agent-memory-server's working memory, the messages of a Letta agent or a Zep thread,
and a LangGraph checkpoint whose state has ``messages``. Everything that is not part of a conversation is skipped. Those
of TRANSCRIPTS read files that name their conversations; those of MEMORIES a user's memories, which belong to none.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, TypeVar
from uuid import NAMESPACE_URL, UUID, uuid5

from app.core.canonical import dumps
from app.core.edge.transcripts import ForeignTalk, chatgpt, claude_ai, claude_code, client_id, codex, messages, time_of
from app.core.messages import NAME_MAX, NOT_IN_IDS
from app.core.times import CLOCKS_DIFFER, SAID_FIRST, said_at, time_text

Json = dict[str, Any]
Found = Iterator[tuple[Json, str | None]]
"""Messages in OpenAI form, and when they were said."""
Read = TypeVar("Read")
NAMED_MAX = 6
"""Members that are named of a JSON object."""
_ROLES = {"human": "user", "ai": "assistant", "function": "tool", "norole": "user"}
_KNOWN = frozenset({"user", "assistant", "system", "developer"})


LOOKED_AT = 4096
"""Bytes of a file that tell what it is."""
_FIRST_BYTES = {
    b"PK": "is a ZIP archive: unpack it first",
    b"\x1f\x8b": "is compressed: unpack it first",
    b"<": "is XML or HTML",
}


def is_quires(beginning: bytes) -> bool:
    """Return whether a file begins with the header of Quire's own lines, or is empty."""
    first = beginning.lstrip().split(b"\n", 1)[0]
    return not first or b'"quire"' in first


def looks_like(content: bytes) -> str:
    """Return what a file looks like, to follow its name."""
    begun = content.lstrip()
    for first, said in _FIRST_BYTES.items():
        if begun.startswith(first):
            return said
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return _lines_or_text(begun)
    match value:
        case dict():
            names = ", ".join(list(value)[:NAMED_MAX]) or "no members"
            return f"is a JSON object with {names}"
        case [dict(first_item), *_]:
            return f"is a JSON list of {len(value)}, the first with {', '.join(list(first_item)[:NAMED_MAX])}"
        case list():
            return f"is a JSON list of {len(value)}"
    return "is a single JSON value"


def parsed(content: bytes) -> Any:
    """Return a file's JSON; of JSON lines their list, whose last may be cut. Raises ValueError or RecursionError."""
    try:
        return json.loads(content)
    except ValueError:
        *whole, last = [line for line in content.splitlines() if line.strip()] or [b""]
        found = [json.loads(line) for line in whole]
        with suppress(ValueError):
            found.append(json.loads(last))
        if not found:
            raise
        return found


def _lines_or_text(begun: bytes) -> str:
    first = begun.split(b"\n", 1)[0]
    try:
        value = json.loads(first)
    except (ValueError, RecursionError):
        return "is empty" if not first else "is JSON that ends too early" if first[:1] in b"{[" else "is text, not JSON"
    if isinstance(value, dict):
        return f"has a JSON object on each line, the first with {', '.join(list(value)[:NAMED_MAX])}"
    return "has JSON on each line"


def lines(source: str, value: Any, conversation_id: str, user_id: str) -> Iterator[str]:
    """Yield the lines of a conversation. Raises ValueError if the JSON is not of the source's shape."""
    yield dumps({"type": "header", "format": "quire", "version": 1, "conversation_id": conversation_id})
    yield from _conversation_lines(conversation_id, user_id, ForeignTalk(None, SOURCES[source](value)))


def transcript_lines(source: str, value: Any, user_id: str, conversation_id: str | None = None) -> Iterator[str]:
    """Yield the lines of a file's conversations. Raises ValueError if the JSON is not of the source's shape.

    ``conversation_id``: the id of the only one, instead of its own.
    """
    yield dumps({"type": "header", "format": "quire", "version": 1, "user_id": user_id})
    for number, found in enumerate(_shaped(TRANSCRIPTS[source](value), "conversations")):
        name = conversation_id or found.id
        if name is None or (conversation_id is not None and number):
            needs = "names no conversation; choose its id" if name is None else "has several; leave out the id"
            raise ValueError(f"the file {needs} with --conversation")
        yield from _conversation_lines(name, user_id, found)


def _conversation_lines(name: str, user_id: str, found: ForeignTalk) -> Iterator[str]:
    titled = {"title": found.title} if found.title else {}
    yield dumps({"type": "conversation", "id": name, "user_id": user_id, **titled})
    newest = SAID_FIRST
    for seq, (message, time) in enumerate(_shaped(iter(found.messages), "messages"), 1):
        said_time = _said_at(time, newest)
        newest = max(said_time or newest, newest)
        dated = {"said_at": said_time.isoformat()} if said_time else {}
        yield dumps({"type": "message", "conversation_id": name, "seq": seq, "message": {**message, **dated}})
    yield dumps({"type": "end", "conversation_id": name})


def memory_lines(source: str, value: Any, user_id: str) -> Iterator[str]:
    """Yield the lines of a user's memories. Raises ValueError if the JSON is not of the source's shape."""
    yield dumps({"type": "header", "format": "quire", "version": 1, "user_id": user_id})
    for memory in _shaped(MEMORIES[source](value), "memories"):
        yield dumps({"type": "memory", "user_id": user_id, "memory_type": "general", **memory})


def _shaped(found: Iterator[Read], what: str) -> Iterator[Read]:
    """Yield what is found. Raises ValueError, with the number read so far, where a member is missing or of another
    type.
    """
    number = 0
    try:
        for one in found:
            yield one
            number += 1
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"after {number} {what} comes one of another form") from error


def mem0(value: Any) -> Iterator[Json]:
    """Yield the memories that mem0's ``get_all`` returns. A memory keeps its id, so it is imported once."""
    found = value.get("results") if isinstance(value, Mapping) else value
    if not isinstance(found, list) or not all(isinstance(m, Mapping) and isinstance(m.get("id"), str) for m in found):
        raise ValueError("the file has no list of memories with ids")
    for memory in found:
        text = memory.get("memory")
        if not isinstance(text, str) or not text.strip():
            raise ValueError(f"the memory {memory['id'][:40]!r} has no text")
        own = memory.get("metadata")
        dated = {"created_at": time} if (time := _zoned(memory.get("created_at"))) else {}
        yield {"id": _uuid(memory["id"]), "content": text, "metadata": own if isinstance(own, Mapping) else {}, **dated}


def _uuid(name: str) -> str:
    try:
        return str(UUID(name))
    except ValueError:
        return str(uuid5(NAMESPACE_URL, f"mem0:{name}"))


def _zoned(value: Any) -> str | None:
    try:
        parsed = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return time_text(parsed.astimezone(UTC)) if parsed is not None and parsed.tzinfo is not None else None


def redis(value: Any) -> Found:
    for message in _messages(value):
        plain = _plain(message.get("role"), message.get("content"), message)
        yield {**plain, **client_id(message.get("id"))}, time_of(message.get("created_at"))


def zep(value: Any) -> Found:
    for message in _messages(value):
        role = message.get("role_type") or message.get("role")
        plain = _plain(role, message.get("content"), message)
        name = str(message.get("name") or (message.get("role") if message.get("role_type") else None) or "")
        is_name = name.strip() and name not in _KNOWN and not NOT_IN_IDS.search(name)
        named = {"name": name[:NAME_MAX]} if is_name else {}
        yield {**plain, **named, **client_id(message.get("uuid"))}, time_of(message.get("created_at"))


def letta(value: Any) -> Found:
    """Yield the messages of a Letta agent. Reasoning is skipped; a tool's return answers the call with its id."""
    for message in _messages(value):
        kind, time = message.get("message_type"), time_of(message.get("date"))
        match kind:
            case "user_message" | "assistant_message" | "system_message":
                yield _plain(str(kind).removesuffix("_message"), message.get("content"), message), time
            case "tool_call_message":
                calls = message.get("tool_calls") or [message.get("tool_call") or {}]
                yield _calling([(c["tool_call_id"], c["name"], c.get("arguments", "{}")) for c in calls]), time
            case "tool_return_message":
                returned = message.get("tool_return")
                text = returned if isinstance(returned, str) else dumps(returned)
                yield {"role": "tool", "tool_call_id": message["tool_call_id"], "content": text}, time
            case _:
                continue


def langgraph(value: Any) -> Found:
    """Yield messages given as dictionaries or in LangChain's serialised form (``kwargs``), without removals."""
    values = value.get("values", value.get("checkpoint", value)) if isinstance(value, Mapping) else value
    if isinstance(values, Mapping):
        values = values.get("channel_values", values)
    for message in _messages(values):
        fields = message.get("kwargs") or message.get("data") or message
        kind = fields.get("type") or message.get("type") or fields.get("role")
        if kind == "constructor":
            kind = str(message["id"][-1]).removesuffix("Chunk").removesuffix("Message").lower()
        role = _ROLES.get(str(kind), str(kind))
        if role == "remove":
            continue
        if role == "tool":
            yield {"role": "tool", "tool_call_id": fields["tool_call_id"], "content": _content(fields["content"])}, None
            continue
        calls = [(c.get("id"), c["name"], dumps(c.get("args") or {})) for c in fields.get("tool_calls") or []]
        if calls:
            yield _calling(calls, _content(fields.get("content")) or None), None
        else:
            yield {**_plain(role, fields.get("content"), fields), **client_id(fields.get("id"))}, None


SOURCES: Mapping[str, Callable[[Any], Found]] = {"redis": redis, "letta": letta, "zep": zep, "langgraph": langgraph}
TRANSCRIPTS: Mapping[str, Callable[[Any], Iterator[ForeignTalk]]] = {
    "chatgpt": chatgpt,
    "claude-ai": claude_ai,
    "claude-code": claude_code,
    "codex": codex,
    "messages": messages,
}
MEMORIES: Mapping[str, Callable[[Any], Iterator[Json]]] = {"mem0": mem0}
NAMES = sorted((*SOURCES, *TRANSCRIPTS, *MEMORIES))


def _messages(value: Any) -> Iterable[Json]:
    messages = value.get("messages") if isinstance(value, Mapping) else value
    if not isinstance(messages, list) or not all(isinstance(message, Mapping) for message in messages):
        raise ValueError("the file has no list of messages")
    return messages


def _plain(role: Any, content: Any, message: Mapping[str, Any]) -> Json:
    named = _ROLES.get(str(role).lower(), str(role).lower())
    if named == "tool" and isinstance(message.get("tool_call_id"), str):
        return {"role": "tool", "tool_call_id": message["tool_call_id"], "content": _content(content)}
    if named == "tool":  # without the call that it answers
        return {"role": "assistant", "content": _content(content)}
    if named not in _KNOWN:
        raise ValueError(f"a message has the role {str(role)[:40]!r}")
    return {"role": named, "content": _content(content)}


def _content(content: Any) -> Any:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [{"type": "text", "text": part} if isinstance(part, str) else part for part in content]
        return [part for part in parts if part.get("type") != "tool_use"]
    return dumps(content)


def _calling(calls: Sequence[tuple[str | None, str, str]], content: Any = None) -> Json:
    tool_calls = [
        {"id": i, "type": "function", "function": {"name": name, "arguments": text}} for i, name, text in calls
    ]
    return {"role": "assistant", "content": content, "tool_calls": tool_calls}


def _said_at(time: str | None, newest: datetime) -> datetime | None:
    """Return when a message was said; None if unknown, or earlier than the one before by more than clocks differ."""
    try:
        parsed = said_at(time)
    except ValueError:
        return None
    return parsed if parsed >= newest - CLOCKS_DIFFER or newest == SAID_FIRST else None
