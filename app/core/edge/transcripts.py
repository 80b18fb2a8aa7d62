"""Transcripts that people have: ChatGPT's and Claude's exports, sessions of Claude Code and Codex, lists of messages.

Each reader yields conversations with their messages in a form that Quire stores, and when they were said. Of a tree
with several branches, the one that is shown is taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from app.core.canonical import dumps
from app.core.dialects.items import OPAQUE, messages_of
from app.core.messages import ID_MAX, NOT_IN_IDS, ROLES, TITLE_MAX, wrapped
from app.core.times import said_at

Json = dict[str, Any]
Message = tuple[Json, str | None]
"""A message, and when it was said."""


@dataclass(frozen=True, slots=True)
class ForeignTalk:
    id: str | None
    """None where the file does not name it."""
    messages: Iterable[Message]
    title: str | None = None


def client_id(name: Any) -> Json:
    """Return the member that keeps a message's id, if it can be one."""
    is_id = isinstance(name, str) and 0 < len(name) <= ID_MAX and not NOT_IN_IDS.search(name)
    return {"client_id": name} if is_id else {}


def time_of(value: Any) -> str | None:
    """Return a time as RFC 3339; None if it is none. A number counts seconds."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            value = datetime.fromtimestamp(value, UTC).isoformat()
        except (ValueError, OverflowError, OSError):
            return None
    try:
        return said_at(value).isoformat()
    except ValueError:
        return None


def _listed(value: Any, what: str) -> list[Json]:
    found = [value] if isinstance(value, dict) else value
    if not isinstance(found, list) or not found or not all(isinstance(one, dict) for one in found):
        raise ValueError(f"the file has no list of {what}")
    return found


def _titled(value: Any) -> str | None:
    return value.strip()[:TITLE_MAX] if isinstance(value, str) and value.strip() and "\x00" not in value else None


# --- ChatGPT ---------------------------------------------------------------------------------------------


def chatgpt(value: Any) -> Iterator[ForeignTalk]:
    """Read `conversations.json`: of each tree the branch that was shown last."""
    for found in _listed(value, "conversations"):
        mapping = found.get("mapping")
        if not mapping or not isinstance(mapping, dict):
            raise ValueError("a conversation has no `mapping`")
        name = str(found.get("conversation_id") or found.get("id") or "")
        if not name:
            raise ValueError("a conversation has no id")
        nodes = _branch(mapping, found.get("current_node"), name)
        yield ForeignTalk(f"chatgpt:{name}"[:ID_MAX], _of_nodes(nodes), _titled(found.get("title")))


def _branch(mapping: Mapping[str, Any], current: Any, name: str) -> list[Json]:
    """Return the nodes from the root to the one that is shown last. Raises ValueError for a tree with a cycle."""
    at = current if current in mapping else _newest(mapping)
    found: dict[str, Json] = {}
    while isinstance(at, str) and isinstance(node := mapping.get(at), dict):
        if at in found:
            raise ValueError(f"the conversation {name[:40]!r} has a cycle: the node {at[:40]!r} is its own ancestor")
        found[at] = node
        at = node.get("parent")
    return list(found.values())[::-1]


def _newest(mapping: Mapping[str, Any]) -> str | None:
    """Return the last leaf of a tree that does not name the node shown last."""
    leaves = [name for name, node in mapping.items() if isinstance(node, dict) and not node.get("children")]
    return leaves[-1] if leaves else next(iter(mapping), None)


def _of_nodes(nodes: Iterable[Json]) -> Iterator[Message]:
    called: str | None = None
    for node in nodes:
        message = node.get("message")
        if not isinstance(message, dict) or (message.get("metadata") or {}).get("is_visually_hidden_from_conversation"):
            continue
        role, content = (message.get("author") or {}).get("role"), _said(message.get("content"))
        if role not in ROLES or not content:
            continue
        name, time = str(message.get("id") or node.get("id")), time_of(message.get("create_time"))
        recipient = message.get("recipient") or "all"
        if role == "assistant" and recipient != "all":
            called = name
            function = {"name": str(recipient)[:64], "arguments": wrapped(_plain(content))}
            call = {"id": name, "type": "function", "function": function}
            yield {"role": "assistant", "content": None, "tool_calls": [call], **client_id(name)}, time
        elif role == "tool":
            yield {"role": "tool", "tool_call_id": called or name, "content": content, **client_id(name)}, time
            called = None
        else:
            yield {"role": role, "content": content, **client_id(name)}, time


def _said(content: Any) -> Any:
    if not isinstance(content, dict):
        return ""
    match content.get("content_type"):
        case "text" | "multimodal_text":
            parts = [_part(part) for part in content.get("parts") or [] if part]
            return parts[0] if len(parts) == 1 else "\n".join(parts)
        case "code" | "execution_output" | "tether_quote" | "system_error":
            return content.get("text") or ""
        case "tether_browsing_display":
            return content.get("result") or content.get("summary") or ""
    return ""


def _part(part: Any) -> str:
    if isinstance(part, str):
        return part
    kind = str(part.get("content_type", "part")).removesuffix("_asset_pointer") if isinstance(part, dict) else "part"
    named = part.get("text") or part.get("asset_pointer") if isinstance(part, dict) else part
    return f"[{kind}: {named}]" if kind != "audio_transcription" else str(named)


def _plain(content: Any) -> str:
    return content if isinstance(content, str) else dumps(content)


# --- Claude ----------------------------------------------------------------------------------------------


def claude_ai(value: Any) -> Iterator[ForeignTalk]:
    """Read the `conversations.json` of a Claude.ai export."""
    for found in _listed(value, "conversations"):
        said, uuid = found.get("chat_messages"), found.get("uuid")
        if said is None or not uuid:
            raise ValueError("a conversation has no `chat_messages` or no `uuid`")
        yield ForeignTalk(f"claude-ai:{uuid}"[:ID_MAX], _chat(said), _titled(found.get("name")))


def _chat(messages: Iterable[Json]) -> Iterator[Message]:
    for message in messages:
        role = {"human": "user", "assistant": "assistant"}.get(message["sender"])
        if role is None:
            raise ValueError(f"a message has the sender {str(message['sender'])[:40]!r}")
        time, more = time_of(message.get("created_at")), client_id(message.get("uuid"))
        for is_result, run in groupby(_blocks(message), key=lambda block: block["type"] == "tool_result"):
            if is_result:
                yield {"role": "user", "content": [_result(block) for block in run]}, time
            else:
                yield {"role": role, "content": [_block(block) for block in run], **more}, time
                more = {}


def _blocks(message: Json) -> Iterator[Json]:
    """Yield what a message says, its attachments first; older exports have its text alone."""
    for one in message.get("attachments") or []:
        if one.get("extracted_content"):
            yield {"type": "text", "text": f"{one.get('file_name') or 'attachment'}\n{one['extracted_content']}"}
    if not message.get("content") and message.get("text"):
        yield {"type": "text", "text": message["text"]}
    yield from (block for block in message.get("content") or [] if block["type"] != "thinking")


def _block(block: Json) -> Json:
    members = {"text": ("text",), "tool_use": ("id", "name", "input")}.get(block.get("type", ""))
    return {"type": block["type"], **{name: block.get(name) for name in members}} if members else block


def _result(block: Json) -> Json:
    content = block.get("content")
    return {"type": "tool_result", "tool_use_id": block.get("tool_use_id"), "content": content or ""}


def claude_code(value: Any) -> Iterator[ForeignTalk]:
    """Read a session's JSON lines, without what sub-agents said and prompts that were taken back."""
    lines = _listed(value, "lines")
    if not any(line.get("type") in ("user", "assistant") and isinstance(line.get("message"), dict) for line in lines):
        raise ValueError("the file has no lines with a user's or an assistant's `message`")
    session = next((line["sessionId"] for line in lines if isinstance(line.get("sessionId"), str)), None)
    title = next((line.get("summary") for line in lines if line.get("type") == "summary"), None)
    name = f"claude-code:{session}"[:ID_MAX] if session else None
    yield ForeignTalk(name, _session(lines), _titled(title))


def _session(lines: list[Json]) -> Iterator[Message]:
    spoken = [
        line
        for line in lines
        if line.get("type") in ("user", "assistant") and isinstance(line.get("message"), dict)
        and not line.get("isSidechain") and not line.get("isMeta")
    ]  # fmt: skip
    spoken = list({line.get("uuid", place): line for place, line in enumerate(spoken)}.values())
    newest = {line.get("parentUuid"): line.get("uuid") for line in spoken if _is_prompt(line)}
    gone: set[Any] = set()
    for line in spoken:
        was_edited = line.get("parentUuid") is not None and _is_prompt(line)
        if line.get("parentUuid") in gone or (was_edited and newest[line["parentUuid"]] != line.get("uuid")):
            gone.add(line.get("uuid"))
            continue
        message = line["message"]
        content = message.get("content")
        if content in (None, "", []):
            continue
        more = client_id(line.get("uuid"))
        yield {"role": message["role"], "content": content, **more}, time_of(line.get("timestamp"))


def _is_prompt(line: Json) -> bool:
    content = line["message"].get("content")
    parts = content if isinstance(content, list) else []
    return line["type"] == "user" and not any(part.get("type") == "tool_result" for part in parts)


# --- Codex -----------------------------------------------------------------------------------------------

_SAID = frozenset(
    {"message", "function_call", "custom_tool_call", "function_call_output", "custom_tool_call_output"}
)  # fmt: skip


def codex(value: Any) -> Iterator[ForeignTalk]:
    """Read a rollout's JSON lines: the items of the session, without its events and its encrypted reasoning."""
    lines = _listed(value, "lines")
    heads = [line.get("payload", line) for line in lines if line.get("type") in (None, "session_meta")]
    session = next((head["id"] for head in heads if isinstance(head, dict) and isinstance(head.get("id"), str)), None)
    items = [
        (line.get("payload") if line.get("type") == "response_item" else line, time_of(line.get("timestamp")))
        for line in lines
    ]
    said = [(item, time) for item, time in items if isinstance(item, dict) and item.get("type") in _SAID]
    if not said:
        raise ValueError("the file has no lines with items of a session")
    yield ForeignTalk(f"codex:{session}"[:ID_MAX] if session else None, _rollout(said))


def _rollout(items: Iterable[tuple[Json, str | None]]) -> Iterator[Message]:
    for item, time in items:
        sent = {**item, "output": _output(item["output"])} if "output" in item else item
        for message in messages_of([{name: v for name, v in sent.items() if name not in OPAQUE}]):
            yield message, time


def _output(output: Any) -> Any:
    """Return a call's output as its text or parts; older rollouts have an object."""
    if isinstance(output, dict):
        return output.get("content") if isinstance(output.get("content"), str | list) else dumps(output)
    return output


# --- Lists of messages -----------------------------------------------------------------------------------


def messages(value: Any) -> Iterator[ForeignTalk]:
    """Read a list of messages in OpenAI's or Anthropic's form, or a request's body with one."""
    body = value if isinstance(value, dict) else {}
    found = _listed(body.get("messages", value), "messages")
    if not all(message.get("role") in ROLES for message in found):
        roles = ", ".join(ROLES)
        raise ValueError(f"the file has no list of messages, each with a role of {roles}")
    yield ForeignTalk(None, _of_list(body.get("system"), found))


def _of_list(system: Any, found: Iterable[Json]) -> Iterator[Message]:
    if system:
        yield {"role": "system", "content": system}, None
    for message in found:
        said = {name: value for name, value in message.items() if name not in ("said_at", "created_at", "timestamp")}
        times = (message.get(name) for name in ("said_at", "created_at", "timestamp"))
        yield said, next((time for one in times if (time := time_of(one)) is not None), None)
