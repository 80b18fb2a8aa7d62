"""The contents of another tool's file: conversations, memories, and what cannot be taken.

Messages are in OpenAI form. The functions below build them; a reader decides nothing but which one a row is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from quire_command.files.large import Large, has_objects

Json = dict[str, Any]
Said = tuple[Json, str | None]
"""A message, and when it was said (RFC 3339)."""
ROLES = ("system", "developer", "user", "assistant", "tool")
ID_MAX, NAME_MAX, TITLE_MAX = 128, 256, 500
NOT_IN_IDS = re.compile("[\x00-\x1f\x7f-\x9f\uffff]")
_FIRST = datetime(1970, 1, 1, tzinfo=UTC)
_SPOKEN = {
    "human": "user", "ai": "assistant", "model": "assistant", "bot": "assistant", "function": "tool", "norole": "user",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation."""

    id: str | None
    """None where the file does not name it."""
    said: Sequence[Said]
    title: str | None = None
    user: str | None = None
    """Whose it is, where the file says so."""
    summaries: Sequence[str] = ()
    """What another machine made of older messages."""
    metadata: Json = field(default_factory=dict)
    system: str | None = None
    parent: str | None = None
    """Of a branch: the conversation of the same file that it shares its first messages with."""
    shared: int = 0


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory that belongs to no conversation."""

    id: str
    text: str
    metadata: Json = field(default_factory=dict)
    at: str | None = None
    user: str | None = None
    keywords: Sequence[str] = ()
    expires: str | None = None
    more: Json = field(default_factory=dict)
    """Other members of its line."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A part that is not taken: where it stands, and why."""

    place: str
    reason: str


Found = Talk | Memory | Skipped


def dumps(value: Any) -> str:
    whole = value.whole() if isinstance(value, Large) else value
    return json.dumps(whole, ensure_ascii=False, separators=(",", ":"))


def time_of(value: Any) -> str | None:
    """Return a time as RFC 3339; None if it is none. A number counts seconds; a time without a zone is in UTC."""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return _dated(datetime.fromtimestamp(value, UTC))
        return _dated(datetime.fromisoformat(value)) if isinstance(value, str) else None
    except (ValueError, OverflowError, OSError):
        return None


def _dated(found: datetime) -> str | None:
    dated = found if found.tzinfo is not None else found.replace(tzinfo=UTC)
    return dated.isoformat() if dated >= _FIRST else None


def ided(name: Any) -> Json:
    """Return the member that keeps a message's id, if it can be one."""
    text = str(name) if isinstance(name, int | str) and not isinstance(name, bool) else ""
    return {"client_id": text} if 0 < len(text) <= ID_MAX and not NOT_IN_IDS.search(text) else {}


def named(name: Any) -> Json:
    """Return the member that names who speaks, if it is a name."""
    is_name = isinstance(name, str) and name.strip() and not NOT_IN_IDS.search(name)
    return {"name": name[:NAME_MAX]} if is_name else {}


def role_of(role: Any) -> str:
    """Return Quire's role for another tool's. Raises ValueError."""
    text = str(role).lower()
    found = _SPOKEN.get(text, text)
    if found not in ROLES:
        raise ValueError(f"a message has the role {str(role)[:40]!r}")
    return found


def titled(value: Any) -> str | None:
    return value.strip()[:TITLE_MAX] if isinstance(value, str) and value.strip() and "\x00" not in value else None


def text_part(text: Any) -> Json:
    return {"type": "text", "text": text if isinstance(text, str) else dumps(text)}


def media_part(kind: str, data: str, name: str | None = None) -> Json:
    """Return an image as a part that models see, another file by its name. ``data``: base64, or an address."""
    url = data if data.startswith(("data:", "http:", "https:")) else f"data:{kind};base64,{data}"
    if kind.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": url}}
    return text_part(f"[{kind.split('/', maxsplit=1)[0] or 'file'}: {name or kind}]")


def image_kind(data: str) -> str:
    """Return the type of an image by the beginning of its base64."""
    begun = {"iVBOR": "image/png", "/9j/": "image/jpeg", "R0lGO": "image/gif", "UklGR": "image/webp"}
    return next((kind for start, kind in begun.items() if data.startswith(start)), "image/png")


def content_of(parts: Sequence[Json]) -> Any:
    """Return content as text where it is nothing else."""
    if all(part.get("type") == "text" for part in parts):
        return "\n".join(part["text"] for part in parts)
    return list(parts)


def call(call_id: Any, name: Any, arguments: Any) -> Json:
    text = arguments if isinstance(arguments, str) else dumps({} if arguments is None else arguments)
    return {
        "id": str(call_id or ""),
        "type": "function",
        "function": {"name": str(name or "unnamed"), "arguments": text},
    }


def spoken(role: str, content: Any, **more: Any) -> Json:
    """Return a message that says something."""
    return {"role": role, "content": content, **more}


def answered(content: Any, calls: Sequence[Json], reasoning: str = "", **more: Any) -> Json:
    """Return an assistant's message with what it says, calls and thought."""
    thought = {"reasoning_content": reasoning} if reasoning else {}
    calling = {"tool_calls": list(calls)} if calls else {}
    return {"role": "assistant", "content": content or (None if calls else ""), **calling, **thought, **more}


def returned(call_id: Any, content: Any, *, failed: bool = False, **more: Any) -> Json:
    """Return the result of a call."""
    text = content if isinstance(content, str | list) else "" if content is None else dumps(content)
    return {
        "role": "tool",
        "tool_call_id": str(call_id or ""),
        "content": text,
        **({"is_error": True} if failed else {}),
        **more,
    }


@dataclass(slots=True)
class Turn:
    """One message while its parts are read: what it says, calls, thinks and returns."""

    parts: list[Json] = field(default_factory=list)
    calls: list[Json] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    results: list[Json] = field(default_factory=list)

    def said(self, role: str, time: str | None, **more: Any) -> Iterator[Said]:
        """Yield the results, and what is said beside them."""
        yield from ((result, time) for result in self.results)
        if role == "tool" or (self.results and not (self.parts or self.calls or self.thoughts)):
            return
        content = content_of(self.parts)
        is_answer = role == "assistant"
        yield (
            answered(content, self.calls, "\n".join(self.thoughts), **more)
            if is_answer
            else spoken(role, content, **more),
            time,
        )


Step = tuple[str, Any]
"""A part of an answer: ``text`` and a part, ``thought`` and words, or ``call`` and a call with its result, if any."""


def turns(key: str, steps: Iterable[Step], time: str | None) -> Iterator[Said]:
    """Yield an answer's messages, their ids made of ``key``: another begins where it goes on after its calls."""
    runs: list[dict[str, list[Any]]] = [{"text": [], "thought": [], "call": []}]
    for kind, value in steps:
        if kind != "call" and runs[-1]["call"]:
            runs.append({"text": [], "thought": [], "call": []})
        runs[-1][kind].append(value)
    number = 0
    for run in runs:
        answer = answered(content_of(run["text"]), [made for made, _ in run["call"]], "\n".join(run["thought"]))
        for message in (answer, *(result for _, result in run["call"] if result is not None)):
            if not is_empty(message):
                yield {**message, **ided(f"{key}:{number}" if number else key)}, time
                number += 1


def is_empty(message: Mapping[str, Any]) -> bool:
    """Return whether a message says nothing: no text, no call, no result, no thought."""
    if message.get("role") == "tool" or message.get("tool_calls") or message.get("reasoning_content"):
        return False
    return message.get("content") in (None, "", [])


def is_list_of(value: Any, *members: str) -> bool:
    """Return whether a value is a list of objects with these members, and not empty."""
    return has_objects(value) and (not members or all(set(members) <= one.keys() for one in value))


def function_calls(calls: Any) -> list[Json]:
    """Return calls in OpenAI form as they are written here."""
    found = [(one, one.get("function") or {}) for one in calls or []]
    return [call(one.get("id"), function.get("name"), function.get("arguments")) for one, function in found]


def rows_of(value: Any, what: str) -> list[Json]:
    """Return a list of objects, or an object as one. Raises ValueError."""
    found = [value] if isinstance(value, dict) else value
    if not has_objects(found):
        raise ValueError(f"the file has no list of {what}")
    rows: list[Json] = found
    return rows
