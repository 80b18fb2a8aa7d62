"""Exports of chat services, and lists of messages: ChatGPT, Claude.ai, OpenAI's and Anthropic's forms.

Of a tree the branch that is shown is the conversation; the others are branches of it, each from where it differs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import accumulate, groupby
from typing import Any

from quire_command.files.large import LargeObject, kept
from quire_command.files.reading import Document
from quire_command.files.values import (
    ROLES,
    Found,
    Json,
    Memory,
    Said,
    Skipped,
    Talk,
    call,
    dumps,
    ided,
    returned,
    rows_of,
    text_part,
    time_of,
    titled,
)

# --- Trees -----------------------------------------------------------------------------------------------


def trees(
    base: Talk, shown: Sequence[str], paths: Sequence[Sequence[str]], said: Mapping[str, Sequence[Said]]
) -> Iterator[Talk]:
    """Yield a conversation of the nodes that are shown, and a branch for each other path through its tree."""
    counts = accumulate(len(said[node]) for node in shown)
    owner = {node: (base.id, count) for node, count in zip(shown, counts, strict=True)}
    yield _with(base, kept(one for node in shown for one in said[node]))
    for number, path in enumerate(paths, 1):
        fresh = [node for node in path if node not in owner]
        before = path[: len(path) - len(fresh)]
        parent, shared = owner[before[-1]] if before else (base.id, 0)
        name = f"{base.id}:branch-{number}"
        messages = kept(one for node in fresh for one in said[node])
        if messages:
            yield _with(Talk(name, (), base.title, base.user, parent=parent, shared=shared), messages)
            count = shared
            for node in fresh:
                count += len(said[node])
                owner[node] = (name, count)


def _with(talk: Talk, said: Sequence[Said]) -> Talk:
    return replace(talk, said=said)


class OnAsking(Mapping[str, Sequence[Said]]):
    """Messages by node, made when they are asked for: those of a large conversation are not held."""

    def __init__(self, nodes: Mapping[str, Any], made: Callable[[str], Sequence[Said]]) -> None:
        self._nodes, self._made = nodes, made

    def __getitem__(self, node: str) -> Sequence[Said]:
        return self._made(node)

    def __iter__(self) -> Iterator[str]:
        return iter(self._nodes)

    def __len__(self) -> int:
        return len(self._nodes)


def path_to(parents: Mapping[str, Any], leaf: str | None, name: str) -> list[str]:
    """Return the nodes from the root to a leaf. Raises ValueError for a cycle."""
    found: dict[str, None] = {}
    at: Any = leaf
    while isinstance(at, str) and at in parents:
        if at in found:
            raise ValueError(f"the conversation {name[:40]!r} has a cycle: the node {at[:40]!r} is its own ancestor")
        found[at] = None
        at = parents[at]
    return list(found)[::-1]


# --- ChatGPT ---------------------------------------------------------------------------------------------


def knows_chatgpt(document: Document) -> bool:
    first = document.value[0] if isinstance(document.value, list) and document.value else document.value
    return isinstance(first, dict) and isinstance(first.get("mapping"), dict)


def chatgpt(document: Document) -> Iterator[Found]:
    """Read `conversations.json`; propose the newest custom instructions, and what ChatGPT remembered, as memories."""
    instructions: dict[str, tuple[float, str]] = {}
    for number, found in enumerate(rows_of(document.value, "conversations"), 1):
        mapping = found.get("mapping")
        name = str(found.get("conversation_id") or found.get("id") or _begun(found, mapping))
        place = f"{document.name}, conversation {number}"
        if not isinstance(mapping, dict):
            raise ValueError("a conversation has no `mapping`")  # noqa: TRY004 - of a file, not of an argument
        if not mapping or found.get("is_do_not_remember") is True:
            yield Skipped(place, "ChatGPT was told not to remember it" if mapping else "it is empty")
            continue
        instructions |= _newer(instructions, found, mapping)
        try:
            yield from _chatgpt_talk(found, mapping, name)
        except ValueError as error:
            yield Skipped(place, str(error))
    _, listed = instructions.pop(_REMEMBERED, (0.0, ""))
    for about, (time, text) in instructions.items():
        yield _proposed(f"ChatGPT: {about}", text, time_of(time or None), by="person")
    for day, text in _NUMBERED.findall(listed):
        yield _proposed(f"ChatGPT: {_REMEMBERED}", text, time_of(day))


_PINNED_MAX = 2_000
"""Characters of a memory that is always in view."""


def _proposed(source: str, text: str, at: str | None, *, by: str = "import") -> Memory:
    """Return what another tool keeps in mind: the person is asked whether it holds here, too.

    Only what they wrote themselves is theirs and to be pinned, not what a model wrote about them.
    """
    pinned = by == "person" and len(text) <= _PINNED_MAX
    key = f"{source.lower().replace(': ', ':')}:{sha256(text.encode('utf-8', 'replace')).hexdigest()[:24]}"
    return Memory(key, text, {"from": source}, at, more={"status": "proposed", "pinned": pinned, "source": by})


_INSTRUCTIONS = {
    "about the user": ("about_user_message", "user_profile"),
    "how to answer": ("about_model_message", "user_instructions"),
}
"""Where a text stands alone, and where in a fence within ChatGPT's own words: newer exports have only that."""
_FENCED = re.compile(r"```(?:[a-z]*\n)?(.*?)```", re.DOTALL)
_REMEMBERED = "what it remembered"
_NUMBERED = re.compile(
    r"^\s*\d+\. *(?:\[(\d{4}-\d\d-\d\d)\]\.)? *(\S.*?)\s*(?=^\s*\d+\. |\Z)", re.MULTILINE | re.DOTALL
)


def _newer(known: Mapping[str, tuple[float, str]], found: Json, mapping: Mapping[str, Any]) -> dict[str, Any]:
    """Return the custom instructions of a conversation that is not older than those known."""
    begun = found.get("create_time")
    time = float(begun) if isinstance(begun, int | float) else 0.0
    newer: dict[str, tuple[float, str]] = {}
    for node in mapping.values():
        message = node.get("message") if isinstance(node, dict) else None
        content = message.get("content") if isinstance(message, dict) else None
        if not isinstance(message, dict) or not isinstance(content, dict):
            continue
        for about, text in _in_mind(content, message.get("metadata") or {}):
            if isinstance(text, str) and text.strip() and time >= known.get(about, (0.0, ""))[0]:
                newer[about] = time, text.strip()
    return newer


def _in_mind(content: Json, metadata: Json) -> Iterator[tuple[str, Any]]:
    match content.get("content_type"):
        case "user_editable_context":
            told = metadata.get("user_context_message_data") or {}
            for about, (alone, within) in _INSTRUCTIONS.items():
                fenced = _FENCED.search(str(content.get(within) or ""))
                yield about, told.get(alone) or (fenced and fenced[1])
        case "model_editable_context":
            yield _REMEMBERED, content.get("model_set_context")


def _begun(found: Json, mapping: Any) -> str:
    """Return what names a conversation of the oldest exports, which have no ids: its first node and when it began."""
    return f"{next(iter(mapping))}:{found.get('create_time')}" if mapping else ""


def _chatgpt_talk(found: Json, mapping: Mapping[str, Any], name: str) -> Iterator[Talk]:
    parents: dict[str, Any] = {}
    called: dict[str, str] = {}
    for key, node in mapping.items():
        if not isinstance(node, dict):
            continue
        parents[key] = node.get("parent")
        message = node.get("message") or {}
        if str(message.get("recipient") or "all") != "all":
            called[key] = str(message.get("id") or key)
    has_children = set(parents.values())
    leaves = [key for key in parents if key not in has_children] or list(parents)[-1:]
    current = found.get("current_node")
    shown = path_to(parents, current if current in parents else leaves[-1], name)
    asked = OnAsking(parents, lambda key: list(_of_node(key, mapping[key], parents, called)))
    said = asked if isinstance(mapping, LargeObject) else dict(asked)
    others = [path_to(parents, leaf, name) for leaf in leaves if leaf not in shown]
    base = Talk(f"chatgpt:{name}"[:120], (), titled(found.get("title")))
    yield from trees(base, shown, others, said)


def _of_node(key: str, node: Json, parents: Mapping[str, Any], called: Mapping[str, str]) -> Iterator[Said]:
    message = node.get("message")
    if not isinstance(message, dict) or (message.get("metadata") or {}).get("is_visually_hidden_from_conversation"):
        return
    role, content = (message.get("author") or {}).get("role"), _chatgpt_text(message.get("content"))
    if role not in ROLES or not content:
        return
    time, more = time_of(message.get("create_time")), ided(message.get("id") or key)
    if role == "assistant" and key in called:
        arguments = content if content.lstrip()[:1] == "{" else dumps({"input": content})
        yield (
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [call(called[key], str(message["recipient"])[:64], arguments)],
                **more,
            },
            time,
        )
    elif role == "tool":
        at = parents.get(key)
        while isinstance(at, str) and at not in called and at in parents and at != parents[at]:
            at = parents[at]
        yield returned(called.get(str(at), key), content, **more), time
    else:
        yield {"role": role, "content": content, **more}, time


def _chatgpt_text(content: Any) -> str:
    if not isinstance(content, dict):
        return ""
    match content.get("content_type"):
        case "text" | "multimodal_text":
            return "\n".join(filter(None, map(_chatgpt_part, content.get("parts") or [])))
        case "code" | "execution_output" | "tether_quote" | "system_error":
            return str(content.get("text") or "")
        case "tether_browsing_display":
            return str(content.get("result") or content.get("summary") or "")
    return ""


_MARKED = re.compile(
    "( ?)\ue200([a-z_]+)(?:\ue202([^\ue200-\ue202]*))?[^\ue200\ue201]*\ue201|[\ue200-\ue204]| ?【[0-9:]+†[^】]*】"
)
"""A citation, card, picture or link, with its kind and words, between private characters; older citations have none."""


def _shown(marked: re.Match[str]) -> str:
    """Return the words that a person read there: of a citation, none."""
    match marked[2]:
        case "entity":  # a list of its kind, its name and more
            return marked[1] + "".join(re.findall(r'"([^"]*)"', marked[3] or "")[1:2])
        case "url" | "link_title":
            return marked[1] + (marked[3] or "")
    return ""


def _chatgpt_part(part: Any) -> str:
    if isinstance(part, str):
        return _MARKED.sub(_shown, part)
    if not isinstance(part, dict):
        return ""
    kind = str(part.get("content_type", "part")).removesuffix("_asset_pointer")
    if kind == "audio_transcription":
        return str(part.get("text") or "")
    where = part.get("text") or part.get("asset_pointer")
    return f"[{kind}: {where}]" if where and "audio" not in kind else ""


# --- Claude.ai -------------------------------------------------------------------------------------------

_ROOT = "00000000-0000-4000-8000-000000000000"


def knows_claude_ai(document: Document) -> bool:
    first = document.value[0] if isinstance(document.value, list) and document.value else document.value
    return isinstance(first, dict) and any(name in first for name in ("chat_messages", *_BESIDE_CHATS))


def claude_ai(document: Document) -> Iterator[Found]:
    """Read a Claude.ai export: its conversations, projects, or what Claude remembered, which is proposed as memories.

    The newest message is the end of what is shown.
    """
    value = document.value  # since August 2026 each project, and what Claude remembered, is in no list
    is_alone = isinstance(value, dict) and any(name in value for name in _BESIDE_CHATS)
    for number, found in enumerate([value] if is_alone else rows_of(value, "conversations"), 1):
        messages, uuid = found.get("chat_messages"), found.get("uuid")
        if read := next((read for name, read in _BESIDE_CHATS.items() if name in found), None):
            yield from read(found)
            continue
        if messages is None or not uuid:
            raise ValueError("a conversation has no `chat_messages` or no `uuid`")
        if not messages:
            yield Skipped(f"{document.name}, conversation {number}", "it is empty")
            continue
        base = Talk(f"claude-ai:{uuid}"[:120], (), titled(found.get("name")))
        said = {str(m.get("uuid") or i): list(_chat(m)) for i, m in enumerate(messages)}
        keys = list(said)
        links = [m.get("parent_message_uuid") for m in messages]
        before: list[str | None] = [None, *keys[:-1]]
        parents = {
            key: (link if link != _ROOT else None) if isinstance(link, str) else previous
            for key, link, previous in zip(keys, links, before, strict=True)
        }
        leaves = [key for key in keys if key not in set(parents.values())] or keys[-1:]
        shown = path_to(parents, leaves[-1], str(uuid))
        others = [path_to(parents, leaf, str(uuid)) for leaf in leaves[:-1]]
        yield from trees(base, shown, others, said)


def _claude_memories(found: Json) -> Iterator[Memory]:
    """Yield what Claude remembered of all conversations, of each project, and in files: a memory for each heading."""
    told = [("conversations", found.get("conversations_memory"), None)]
    told += [(f"project {uuid}", text, None) for uuid, text in (found.get("project_memories") or {}).items()]
    told += [(str(f.get("path")), f.get("content"), f.get("updated_at")) for f in found.get("memory_files") or []]
    for about, text, at in told:
        for part in re.split(r"\n(?=#|\*\*[^*\n]+\*\*\s*\n)", text or ""):
            if part.strip():
                yield _proposed(f"Claude.ai: {about}", part.strip(), time_of(at))


def _claude_project(found: Json) -> Iterator[Found]:
    """Yield a project's files, and its instructions, which held in it alone: they are proposed and not pinned."""
    about, told = f"Claude.ai: project {found.get('name') or found.get('uuid')}", found["prompt_template"]
    documents = [one for one in found.get("docs") or [] if one.get("content")]
    if found.get("is_starter_project") or not (told or documents):
        yield Skipped(about, "it has no instructions and no files of its person")
        return
    if told:
        yield _proposed(about, told.strip(), time_of(found.get("updated_at")))
    for one in documents:
        name, at = str(one.get("filename") or one["uuid"]), time_of(one.get("created_at"))
        text = f"{name}\n{one['content']}"
        yield Memory(f"claude-ai:{one['uuid']}", text, {"from": about}, at, more={"source": "import"})


_BESIDE_CHATS: Mapping[str, Callable[[Json], Iterator[Found]]] = {
    "conversations_memory": _claude_memories, "prompt_template": _claude_project,
}  # fmt: skip
"""The readers of what an export has beside conversations, by a member that only it has."""


def _chat(message: Json) -> Iterator[Said]:
    role = {"human": "user", "assistant": "assistant"}.get(message["sender"])
    if role is None:
        raise ValueError(f"a message has the sender {str(message['sender'])[:40]!r}")
    time, more = time_of(message.get("created_at")), ided(message.get("uuid"))
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
            yield text_part(f"{one.get('file_name') or 'attachment'}\n{one['extracted_content']}")
    for one in (message.get("files") or []) + (message.get("files_v2") or []):
        yield text_part(f"[file: {one.get('file_name') or one.get('file_uuid') or 'without a name'}]")
    if not message.get("content") and message.get("text"):
        yield text_part(message["text"])
    for block in message.get("content") or []:
        if block["type"] not in ("thinking", "text", "token_budget", "flag") or block.get("text"):
            yield block


def _block(block: Json) -> Json:
    members = {"text": ("text",), "tool_use": ("id", "name", "input")}.get(block.get("type", ""))
    return {"type": block["type"], **{name: block.get(name) for name in members}} if members else block


def _result(block: Json) -> Json:
    failed = {"is_error": True} if block.get("is_error") else {}
    content = block.get("content") or ""
    if isinstance(content, list):
        content = [one if one.get("type") in ("text", "image") else text_part(one) for one in content]
    return {"type": "tool_result", "tool_use_id": block.get("tool_use_id"), "content": content, **failed}


# --- Lists of messages -----------------------------------------------------------------------------------


def knows_messages(document: Document) -> bool:
    body = document.value if isinstance(document.value, dict) else {}
    found = body.get("messages", document.value)
    return (
        isinstance(found, list) and bool(found) and all(isinstance(m, dict) and m.get("role") in ROLES for m in found)
    )


def messages(document: Document) -> Iterator[Found]:
    """Read a list of messages in OpenAI's or Anthropic's form, or a request's body with one."""
    body = document.value if isinstance(document.value, dict) else {}
    found = rows_of(body.get("messages", document.value), "messages")
    if not all(message.get("role") in ROLES for message in found):
        raise ValueError(f"the file has no list of messages, each with a role of {', '.join(ROLES)}")
    yield Talk(None, kept(_of_list(body.get("system"), found)))


_TIMES = ("said_at", "created_at", "timestamp")


def _of_list(system: Any, found: Sequence[Json]) -> Iterator[Said]:
    if system:
        yield {"role": "system", "content": system}, None
    for message in found:
        said = {name: value for name, value in message.items() if name not in _TIMES}
        times = (time_of(message.get(name)) for name in _TIMES)
        yield said, next(filter(None, times), None)
