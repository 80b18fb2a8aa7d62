"""What others export, as lines that an import takes. Pure functions of their JSON.

Each reads one conversation: Redis agent-memory-server's working memory, the messages of a Letta agent or a Zep
thread, and a LangGraph checkpoint whose state has ``messages``. What has no place in a conversation is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from app.core.canonical import dumps
from app.core.times import SAID_FIRST, said_at, time_text

Json = dict[str, Any]
Found = Iterator[tuple[Json, str | None]]
"""Messages in OpenAI form, and when they were said."""
_ROLES = {"human": "user", "ai": "assistant", "function": "tool", "norole": "user"}
_KNOWN = frozenset({"user", "assistant", "system", "developer"})


def lines(source: str, value: Any, conversation_id: str, user_id: str) -> Iterator[str]:
    """The lines of a conversation. Raises ValueError if the JSON is not of the source's shape."""
    yield dumps({"type": "header", "format": "quire", "version": 1, "conversation_id": conversation_id})
    yield dumps({"type": "conversation", "id": conversation_id, "user_id": user_id})
    found = list(SOURCES[source](value))
    newest = SAID_FIRST
    for seq, (message, time) in enumerate(found, 1):
        dated = {"created_at": time} if time else {}
        said = _said_at(time, newest)
        newest = said or newest
        told = {**message, "said_at": time_text(said)} if said else message
        yield dumps({"type": "message", "conversation_id": conversation_id, "seq": seq, **dated, "message": told})
    yield dumps({"type": "end", "conversation_id": conversation_id})


def redis(value: Any) -> Found:
    for message in _messages(value):
        said = _plain(message.get("role"), message.get("content"), message)
        yield {**said, **_client(message.get("id"))}, _time(message.get("created_at"))


def zep(value: Any) -> Found:
    for message in _messages(value):
        role = message.get("role_type") or message.get("role")
        said = _plain(role, message.get("content"), message)
        name = message.get("name") or (message.get("role") if message.get("role_type") else None)
        named = {"name": name} if isinstance(name, str) and name.strip() and name not in _KNOWN else {}
        yield {**said, **named, **_client(message.get("uuid"))}, _time(message.get("created_at"))


def letta(value: Any) -> Found:
    """Reasoning is left out; a tool's return answers the call of its id."""
    for message in _messages(value):
        kind, time = message.get("message_type"), _time(message.get("date"))
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
    """Messages as dictionaries, or as LangChain serialises its objects (``kwargs``)."""
    values = value.get("checkpoint", value) if isinstance(value, Mapping) else value
    if isinstance(values, Mapping):
        values = values.get("channel_values", values.get("values", values))
    for message in _messages(values):
        found = message.get("kwargs") or message.get("data") or message
        kind = found.get("type") or message.get("type") or found.get("role")
        if kind == "constructor":
            kind = str(message["id"][-1]).removesuffix("Chunk").removesuffix("Message").lower()
        role = _ROLES.get(str(kind), str(kind))
        if role == "tool":
            yield {"role": "tool", "tool_call_id": found["tool_call_id"], "content": _content(found["content"])}, None
            continue
        calls = [(c["id"], c["name"], dumps(c.get("args") or {})) for c in found.get("tool_calls") or []]
        if calls:
            yield _calling(calls, _content(found.get("content")) or None), None
        else:
            yield {**_plain(role, found.get("content"), found), **_client(found.get("id"))}, None


SOURCES: Mapping[str, Callable[[Any], Found]] = {"redis": redis, "letta": letta, "zep": zep, "langgraph": langgraph}


def _messages(value: Any) -> Iterable[Json]:
    """The list itself, or that of an object that has one."""
    found = value.get("messages") if isinstance(value, Mapping) else value
    if not isinstance(found, list) or not all(isinstance(message, Mapping) for message in found):
        raise ValueError("the file has no list of messages")
    return found


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


def _calling(calls: Sequence[tuple[str, str, str]], content: Any = None) -> Json:
    found = [{"id": i, "type": "function", "function": {"name": name, "arguments": text}} for i, name, text in calls]
    return {"role": "assistant", "content": content, "tool_calls": found}


def _client(name: Any) -> Json:
    return {"client_id": name} if isinstance(name, str) and 0 < len(name) <= 128 else {}


def _said_at(time: str | None, newest: datetime) -> datetime | None:
    """When a message was said; None where that is not known, or before what precedes it."""
    try:
        found = said_at(time)
    except ValueError:
        return None
    return found if found >= newest else None


def _time(value: Any) -> str | None:
    """Only what says its zone."""
    return value if isinstance(value, str) and value[10:11] == "T" and value[-1:] in ("Z", "0") else None
