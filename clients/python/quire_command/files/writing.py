"""Conversations as files of other tools: OpenAI's messages, and sessions of Claude Code.

Neither form has branches: a branch is a file of its own that begins with what it shares.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote
from uuid import NAMESPACE_URL, UUID, uuid5

from quire_command.files.values import Json

_OPENAI = ("role", "content", "name", "tool_calls", "tool_call_id", "refusal", "audio", "function_call")
"""Members of a message that OpenAI's API takes."""
_DERIVED = ("header", "end", "conversation", "message")


@dataclass(frozen=True, slots=True)
class Written:
    """Files by their paths, and how much of what the form has no place for."""

    files: Mapping[str, Any]
    left_out: Counter[str]


@dataclass(frozen=True, slots=True)
class _Line:
    """A conversation with all that its branch shows."""

    head: Json
    messages: Sequence[Json]

    @property
    def name(self) -> str:
        return str(self.head["id"])


def _lines(lines: Iterable[Json], left_out: Counter[str]) -> Iterator[_Line]:
    """Yield each conversation of an export."""
    heads: dict[str, Json] = {}
    said: dict[str, list[Json]] = {}
    for line in lines:
        if line["type"] == "conversation":
            heads[line["id"]] = line
        elif line["type"] == "message":
            said.setdefault(line["conversation_id"], []).append(line)
        elif line["type"] == "memory":
            left_out["memories"] += 1
    for name, head in heads.items():
        yield _Line(head, _whole(name, heads, said))


def _whole(name: str, heads: Mapping[str, Json], said: Mapping[str, list[Json]]) -> list[Json]:
    """Return a conversation's messages, those that it shares with its parents first."""
    found: list[Json] = []
    through: int | None = None
    passed: set[str] = set()
    at: Any = name
    while at in heads and at not in passed:
        passed.add(at)
        own = [line for line in said.get(at, ()) if through is None or line["seq"] <= through]
        found = own + found
        shared = int(heads[at].get("forked_after") or 0)
        through = shared if through is None else min(through, shared)
        at = heads[at].get("parent_id")
    return found


def openai(lines: Iterable[Json]) -> Written:
    """Return a file for each conversation: a request's `messages`, as Chat Completions takes them."""
    left_out: Counter[str] = Counter()
    files: dict[str, Any] = {}
    for one in _lines(lines, left_out):
        messages = [_openai(line["message"], left_out) for line in one.messages]
        if one.head.get("system"):
            messages.insert(0, {"role": "system", "content": one.head["system"]})
        files[f"{quote(one.name, safe='')}.json"] = {"messages": messages}
        left_out["titles"] += bool(one.head.get("title"))
    return Written(files, +left_out)


def _openai(message: Json, left_out: Counter[str]) -> Json:
    for name, what in (
        ("said_at", "times"),
        ("client_id", "ids"),
        ("reasoning_content", "thoughts"),
        ("is_error", "failures"),
    ):
        left_out[what] += bool(message.get(name))
    return {name: message[name] for name in _OPENAI if name in message}


def claude_code(lines: Iterable[Json]) -> Written:
    """Return a session's JSON lines for each conversation. System prompts have no place in it."""
    left_out: Counter[str] = Counter()
    files: dict[str, Any] = {}
    for one in _lines(lines, left_out):
        session = _uuid(one.name.removeprefix("claude-code:"))
        files[f"{session}.jsonl"] = list(_session(one, session, left_out))
    return Written(files, +left_out)


def _uuid(name: str) -> str:
    with suppress(ValueError):
        return str(UUID(name))
    return str(uuid5(NAMESPACE_URL, f"quire:{name}"))


def _session(one: _Line, session: str, left_out: Counter[str]) -> Iterator[Json]:
    before: str | None = None
    left_out["system prompts"] += bool(one.head.get("system"))
    parent = one.head.get("parent_id")
    for line in one.messages:
        message = line["message"]
        if message["role"] in ("system", "developer"):
            left_out["system prompts"] += 1
            continue
        key = _uuid(str(message.get("client_id") or f"{line['conversation_id']}#{line['seq']}"))
        role, content = _anthropic(message)
        fork = {"forkedFrom": {"sessionId": _uuid(str(parent).removeprefix("claude-code:")), "messageUuid": key}}
        yield {
            "type": role, "uuid": key, "parentUuid": before, "sessionId": session, "isSidechain": False,
            "timestamp": message.get("said_at") or line.get("created_at"), "userType": "external",
            "message": {"role": role, "content": content},
            **(fork if parent and line["conversation_id"] != one.name else {}),
        }  # fmt: skip
        before = key
        left_out["names"] += bool(message.get("name"))
    if one.head.get("title"):
        yield {"type": "custom-title", "customTitle": one.head["title"], "sessionId": session}


def _anthropic(message: Json) -> tuple[str, Any]:
    """Return the role and content of a message in Anthropic's form."""
    content = message.get("content")
    if message["role"] == "tool":
        failed = {"is_error": True} if message.get("is_error") else {}
        result = {
            "type": "tool_result",
            "tool_use_id": message.get("tool_call_id"),
            "content": _blocks(content),
            **failed,
        }
        return "user", [result]
    calls = message.get("tool_calls") or []
    thought = message.get("reasoning_content")
    if not calls and not thought:
        return message["role"], _blocks(content)
    blocks = _blocks(content)
    parts = [{"type": "thinking", "thinking": thought, "signature": ""}] if thought else []
    parts += [{"type": "text", "text": blocks}] if isinstance(blocks, str) and blocks else list(blocks or [])
    parts += [
        {
            "type": "tool_use",
            "id": one.get("id"),
            "name": function.get("name"),
            "input": _input(function.get("arguments")),
        }
        for one in calls
        for function in [one.get("function") or {}]
    ]
    return message["role"], parts


def _input(arguments: Any) -> Any:
    with suppress(ValueError, TypeError):
        found = json.loads(arguments)
        return found if isinstance(found, dict) else {"input": found}
    return {"input": arguments}


def _blocks(content: Any) -> Any:
    if not isinstance(content, list):
        return content or ""
    return [_block(part) for part in content]


def _block(part: Json) -> Json:
    url = (part.get("image_url") or {}).get("url", "") if part.get("type") == "image_url" else ""
    if url.startswith("data:") and ";base64," in url:
        kind, data = url[5:].split(";base64,", 1)
        return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}
    return {"type": "image", "source": {"type": "url", "url": url}} if url else part


FORMS: Mapping[str, Callable[[Iterable[Json]], Written]] = {"openai": openai, "claude-code": claude_code}
