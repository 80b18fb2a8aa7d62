"""Portable AI Memory 1.0: conversations as trees of messages, memories with where they are from and when they hold.

A message keeps its own form in `raw_metadata.quire`, and a memory what the format has no place for in
`metadata.quire`, so that what Quire wrote comes back whole.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

from quire_command.files.reading import Document
from quire_command.files.values import (
    Found,
    Json,
    Memory,
    Said,
    Skipped,
    Talk,
    answered,
    call,
    ided,
    is_list_of,
    spoken,
    text_part,
    time_of,
    titled,
)
from quire_command.files.writing import Written

VERSION = "1.0"
_TAG = re.compile(r"[a-z0-9][a-z0-9_-]*")
_METHODS = {"person": "explicit_user_input", "rule": "llm_inference", "llm": "llm_inference"}
_TYPES = ("fact", "preference")
_UNKNOWN = "1970-01-01T00:00:00Z"
"""The time of a message whose sender named none, and that no line dates."""


# --- Writing ---------------------------------------------------------------------------------------------


_LEFT_OUT = {"memory": "proposals", "memory_file": "files of the memory tool"}


def bundle(lines: Iterable[Json], user: str) -> Written:
    """Return the files of a bundle by their paths: the memories, and a file for each conversation with its branches.

    ``lines``: of an export. Proposals, and what Quire derived (pages, summaries), have no place in the format.
    """
    left_out: Counter[str] = Counter()
    heads: dict[str, Json] = {}
    said: dict[str, list[Json]] = {}
    memories: list[Json] = []
    for line in lines:
        if line["type"] == "conversation":
            heads[line["id"]] = line
        elif line["type"] == "message":
            said.setdefault(line["conversation_id"], []).append(line)
        elif line["type"] == "memory" and line.get("status", "held") == "held":
            memories.append(_memory(line))
        elif line["type"] not in ("header", "end"):
            left_out[_LEFT_OUT.get(line["type"], f"{line['type']} lines")] += 1
    whole: dict[str, list[Json]] = {}
    for name in heads:
        whole.setdefault(_root(name, heads), []).extend(_messages(name, heads, said))
    files: dict[str, Json] = {}
    index: list[Json] = []
    for name, messages in whole.items():
        _link(messages)
        path = f"conversations/{quote(name, safe='')}.json"
        files[path] = _conversation(heads[name], messages)
        index.append({
            "id": name, "platform": "quire", "message_count": len(messages), "temporal": files[path]["temporal"],
            "storage": {"type": "file", "ref": path},
        })  # fmt: skip
    files["memory-store.json"] = {
        "schema": "portable-ai-memory", "schema_version": VERSION, "owner": {"id": user}, "memories": memories,
        "conversations_index": index, "export_type": "full",
    }  # fmt: skip
    return Written(files, left_out)


def _root(name: str, heads: Mapping[str, Json]) -> str:
    passed: set[str] = set()
    while (parent := str(heads[name].get("parent_id") or "")) in heads and name not in passed:
        passed.add(name)
        name = parent
    return name


def _id(conversation: str, seq: int) -> str:
    return f"{conversation}#{seq}"


def _messages(name: str, heads: Mapping[str, Json], said: Mapping[str, list[Json]]) -> Iterator[Json]:
    head = heads[name]
    before: str | None = None
    owner, shared = str(head.get("parent_id") or ""), int(head.get("forked_after") or 0)
    while owner in heads and shared:  # the branch begins where another conversation has the last shared message
        if shared > int(heads[owner].get("forked_after") or 0):
            before = _id(owner, shared)
            break
        owner = str(heads[owner].get("parent_id") or "")
    for line in said.get(name, ()):
        message = line["message"]
        calls = [(one.get("id"), one.get("function") or {}) for one in message.get("tool_calls") or []]
        yield {
            "id": _id(name, line["seq"]), "role": {"developer": "system"}.get(message["role"], message["role"]),
            "content": _content(message.get("content")),
            "created_at": message.get("said_at") or line.get("created_at") or _UNKNOWN, "parent_id": before,
            "children_ids": [], "tool_calls": [
                {"id": call_id, "name": function.get("name") or "unnamed", "input": function.get("arguments")}
                for call_id, function in calls
            ],
            "raw_metadata": {"quire": {"conversation_id": name, "message": message}},
        }  # fmt: skip
        before = _id(name, line["seq"])


def _content(content: Any) -> Json | None:
    if content is None or isinstance(content, str):
        return {"type": "text", "text": content} if content else None
    parts = [part if part.get("type") == "text" else text_part(f"[{part.get('type')}]") for part in content]
    return {"type": "multipart", "parts": [{"type": "text", "text": part.get("text") or ""} for part in parts]}


def _link(messages: list[Json]) -> None:
    by_id = {message["id"]: message for message in messages}
    for message in messages:
        if message["parent_id"] in by_id:
            by_id[message["parent_id"]]["children_ids"].append(message["id"])
        else:
            message["parent_id"] = None


def _conversation(head: Json, messages: list[Json]) -> Json:
    times = [message["created_at"] for message in messages]
    created = head.get("created_at") or min(times, default=_UNKNOWN)
    return {
        "schema": "portable-ai-memory-conversation", "schema_version": VERSION, "id": head["id"],
        "provider": {"name": "quire", "conversation_id": head["id"]}, "title": head.get("title"),
        "temporal": {"created_at": created}, "messages": messages, "system_instruction": head.get("system"),
        "raw_metadata": {"quire": {"metadata": head.get("metadata") or {}}},
    }  # fmt: skip


def _memory(line: Json) -> Json:
    kind = line.get("memory_type")
    words = [str(word).lower() for word in line.get("keywords") or []]
    provenance = {
        "platform": "quire", "conversation_ref": line.get("conversation_id"),
        "extraction_method": _METHODS.get(str(line.get("source")), "api_export"), "extracted_at": line.get("learnt_at"),
    }  # fmt: skip
    return {
        "id": line["id"], "type": kind if kind in _TYPES else "custom",
        "custom_type": None if kind in _TYPES else str(kind), "content": line["content"],
        "content_hash": _hash(line["content"]), "tags": [word for word in words if _TAG.fullmatch(word)],
        "temporal": {
            "created_at": line.get("created_at") or _UNKNOWN, "valid_from": line.get("valid_from"),
            "valid_until": line.get("valid_to"),
        },
        "provenance": provenance, "metadata": {"quire": line},
    }  # fmt: skip


def _hash(content: str) -> str:
    normal = re.sub(r"\s+", " ", unicodedata.normalize("NFC", content.strip().lower()))
    return f"sha256:{hashlib.sha256(normal.encode()).hexdigest()}"


# --- Reading ---------------------------------------------------------------------------------------------


def knows_pam(document: Document) -> bool:
    value = document.value if isinstance(document.value, dict) else {}
    return str(value.get("schema") or "").startswith("portable-ai-memory")


def pam(document: Document) -> Iterator[Found]:
    """Read a conversation or a memory store. Of a tree the line of the newest message is the conversation."""
    value = document.value if isinstance(document.value, dict) else {}
    if is_list_of(value.get("memories")):
        owner = (value.get("owner") or {}).get("id")
        active = [memory for memory in value["memories"] if memory.get("status") in (None, "active")]
        yield from (_kept(memory, owner) for memory in active if not _is_learnt(memory))
        if learnt := sum(map(_is_learnt, active)):
            yield Skipped(document.name, f"{learnt} memories are learnt from their conversations again")
        return
    if not is_list_of(value.get("messages"), "id"):
        raise ValueError("the file has no list of messages or memories")
    found: dict[str, Json] = {message["id"]: message for message in value["messages"]}
    name, metadata = f"pam:{value.get('id')}"[:110], ((value.get("raw_metadata") or {}).get("quire") or {})
    inner = {message.get("parent_id") for message in found.values()}
    lines = [_line(found, leaf) for leaf in found if leaf not in inner]
    lines.sort(key=len, reverse=True)
    main = lines[0]
    title, about = titled(value.get("title")), metadata.get("metadata") or {}
    system = value.get("system_instruction")
    yield Talk(
        name,
        [_said(found[key]) for key in main],
        title,
        metadata=about,
        system=system if isinstance(system, str) else None,
    )
    for number, line in enumerate(lines[1:], 1):
        shared = next((at for at, key in enumerate(line) if main[at : at + 1] != [key]), len(line))
        yield Talk(
            f"{name}:branch-{number}", [_said(found[k]) for k in line[shared:]], title, parent=name, shared=shared
        )


def _line(found: Mapping[str, Json], leaf: str) -> list[str]:
    line: dict[str, None] = {}
    at: Any = leaf
    while at in found and at not in line:
        line[at] = None
        at = found[at].get("parent_id")
    return list(line)[::-1]


def _said(message: Json) -> Said:
    own = ((message.get("raw_metadata") or {}).get("quire") or {}).get("message")
    time = time_of(message.get("created_at")) if message.get("created_at") != _UNKNOWN else None
    if isinstance(own, dict):
        return {**ided(message["id"]), **{key: value for key, value in own.items() if key != "said_at"}}, time
    content = message.get("content") or {}
    parts = content.get("parts") or []
    text = content.get("text") or "\n".join(str(part.get("text") or part.get("ref") or "") for part in parts)
    calls = [call(one.get("id"), one.get("name"), one.get("input")) for one in message.get("tool_calls") or []]
    role, more = str(message.get("role")), ided(message["id"])
    if role == "assistant":
        return answered(text, calls, **more), time
    return spoken("assistant" if role == "tool" else role, text, **more), time


_MEMBERS = (
    "memory_type", "source", "key", "pinned", "quote", "valid_from", "valid_to", "learnt_at", "sensitive", "expires_at",
)  # fmt: skip


def _own(memory: Json) -> Json:
    """Return the line of a memory that Quire wrote."""
    line = (memory.get("metadata") or {}).get("quire")
    return line if isinstance(line, dict) else {}


def _is_learnt(memory: Json) -> bool:
    """Return whether Quire reads a memory out of a conversation that the bundle has, too."""
    return _own(memory).get("source") == "rule"


def _kept(memory: Json, owner: Any) -> Memory:
    line, temporal = _own(memory), memory.get("temporal") or {}
    is_theirs = (memory.get("provenance") or {}).get("extraction_method") == _METHODS["person"]
    by = {"source": "person" if is_theirs else "import"}
    more = {name: line[name] for name in _MEMBERS if line.get(name) is not None} or by
    until = None if line else time_of(temporal.get("valid_until"))
    return Memory(
        str(memory.get("id")), str(memory.get("content") or ""), line.get("metadata") or {},
        time_of(temporal.get("created_at")), owner if isinstance(owner, str) else None,
        line.get("keywords") or memory.get("tags") or [], until, more,
    )  # fmt: skip
