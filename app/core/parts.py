"""Content parts of every dialect, as those of Chat Completions and as blocks of Messages.

Both ways out go through here: windows and the proxy's requests. What came in an API's own dialect goes on whole, known
or not: parts of Chat Completions hold a member that is named like their type, blocks of Messages do not. A part of
another dialect is converted, or quoted by its name, never with what is encoded in it. ``is_quoted`` tells which.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from app.core.canonical import dumps
from app.core.messages import CARRIED, FILE_KINDS, ROLES, THINKING_PARTS, strings_of

Json = dict[str, Any]
QUOTED_MAX = 600
"""Characters of a part that is quoted as text."""
TEXTS = frozenset({"text", "input_text", "output_text", "summary_text"})
UNSAID = THINKING_PARTS | {"compaction"}
"""Parts that only the API which made them reads; nothing is lost where another one does not get them."""
THINKING_BLOCKS = frozenset({"thinking", "redacted_thinking", "compaction"})
FILES = frozenset({"image_url", "file", "input_audio"})
NOT_IN_NAMES = re.compile(r"[\s<|\\/>]+")
"""Characters that Chat Completions does not take in the name of a speaker."""
_MARKS = re.compile(r"[<>\[\]]+")
"""What frames and placeholders need: a name before a text must not be one."""
FAILED = "Error: "
SHORT_MAX = 2_000
"""Characters of a part that is quoted as JSON."""
_ENCODED = re.compile(r"[A-Za-z0-9+/_=-]{200,}")
_DATA_URL = re.compile(r"data:([^;,]*)(?:;[^,]*)?,", re.ASCII)

_MEMBERS: Mapping[str, tuple[str, ...]] = {
    "text": ("text", "citations"), "image": ("source", "transformations"), "thinking": ("thinking", "signature"),
    "document": ("source", "title", "context", "citations"), "redacted_thinking": ("data",),
    "search_result": ("source", "title", "content", "citations"), "tool_reference": ("tool_name",),
    "tool_use": ("id", "name", "input", "caller", "toolset_name"),
    "tool_result": ("tool_use_id", "content", "is_error", "toolset_name"),
}  # fmt: skip
"""All members of the blocks that every client knows: some frameworks add their own to these, which the API refuses."""


# --- Chat Completions ------------------------------------------------------------------------------------


def chat_parts(part: Mapping[str, Any]) -> list[Json]:
    """Return a part in Chat Completions' form; none for what is empty or another API's own reasoning."""
    kind = str(part.get("type"))
    if kind in UNSAID:
        return []
    if kind in _CHAT:
        return _CHAT[kind](part)
    return [dict(part)] if _is_chats(part) else _text(quoted(part))


def _is_chats(part: Mapping[str, Any]) -> bool:
    return part.get("type") in part


def as_chat(messages: Iterable[Mapping[str, Any]], kept: Collection[str] = ()) -> list[Json]:
    """Return messages whose every part is in Chat Completions' form, without an assistant's that say nothing.

    Parts of the types in ``kept`` stay as they are.

    Tool results are text there, so their other parts follow as a user message after the last result of the calls.
    """
    found: list[Json] = []
    beside: list[Json] = []
    for message in messages:
        if message["role"] != "tool" and beside:
            found.append({"role": "user", "content": beside})
            beside = []
        shown = _as_chat(message, beside, kept)
        if shown["role"] != "assistant" or any(
            shown.get(name) for name in ("content", "tool_calls", "refusal", CARRIED)
        ):
            found.append(shown)
    return [*found, {"role": "user", "content": beside}] if beside else found


def _as_chat(message: Mapping[str, Any], beside: list[Json], kept: Collection[str]) -> Json:
    shown = {name: value for name, value in message.items() if name != "is_error"}
    if isinstance(content := message.get("content"), list):
        role = message["role"]
        parts = [found for part in content for found in ([part] if part["type"] in kept else chat_parts(part))]
        if role == "tool":
            beside += [part for part in parts if part["type"] not in ("text", *kept)]
            parts = [part for part in parts if part["type"] in ("text", *kept)]
        elif role != "user":
            parts = [found for part in parts for found in (_text(quoted(part)) if part["type"] in FILES else [part])]
        else:
            parts = [{"type": "text", "text": part["refusal"]} if "refusal" in part else part for part in parts]
        shown["content"] = parts or (None if message.get("tool_calls") else "")
    if message.get("is_error"):
        shown["content"] = _failed(shown["content"])
    if isinstance(name := message.get("name"), str):
        shown["name"] = NOT_IN_NAMES.sub("_", name)[:NAME_LENGTH]
    if any(NOT_SENT.search(call["function"]["name"]) for call in message.get("tool_calls") or ()):
        shown["tool_calls"] = [_named_call(call) for call in message["tool_calls"]]
    return shown


def speaker(role: str, name: str | None) -> str:
    """Return who said a message. A name that imitates a role stands behind the true one."""
    if role not in ROLES or not name or name == role:
        return role
    return f"{role} ({name})" if name.casefold() in ROLES else name


def said_by(name: str | None, text: str) -> str:
    """Return a text after the name of its speaker; alone where there is neither."""
    return f"{speaker('user', _MARKS.sub('', name))}: {text}" if name and text else text


def spoken(message: Mapping[str, Any]) -> Json:
    """Return a user's message with its speaker before its text, for an API that has no member for the name."""
    name, content = message.get("name"), message.get("content")
    if message["role"] != "user" or not isinstance(name, str):
        return dict(message)
    if isinstance(content, str):
        content = said_by(name, content or " ")
    elif isinstance(content, list) and any(part["type"] != "tool_result" for part in content):
        content = [*_text(said_by(name, " ").strip()), *content]
    return {member: value for member, value in message.items() if member != "name"} | {"content": content}


def _failed(content: Any) -> Any:
    if isinstance(content, list):
        return [{"type": "text", "text": FAILED.strip()}, *content]
    return content if str(content).lower().startswith("error") else f"{FAILED}{content}"


def _named_call(call: Mapping[str, Any]) -> Json:
    return {**call, "function": {**call["function"], "name": mapped_name(call["function"]["name"])}}


def _text(text: Any) -> list[Json]:
    return [{"type": "text", "text": text}] if isinstance(text, str) and text else []


def _chat_image(part: Mapping[str, Any]) -> list[Json]:
    given, source = part.get("image_url"), _object(part.get("source"))
    url = given.get("url") if isinstance(given, Mapping) else given
    if source.get("type") in ("base64", "url"):
        url = source.get("url") or f"data:{source.get('media_type')};base64,{source.get('data')}"
    if not isinstance(url, str):
        return _text(quoted(part))
    detail = (given if isinstance(given, Mapping) else part).get("detail")
    return [{"type": "image_url", "image_url": {"url": url, **({"detail": detail} if detail else {})}}]


def _chat_file(part: Mapping[str, Any]) -> list[Json]:
    given = _object(part.get("file")) or part
    names = ("filename", "file_data", "file_id", "file_url")
    found = {name: given[name] for name in names if isinstance(given.get(name), str)}
    return [{"type": "file", "file": found}] if found.keys() - {"filename"} else _text(quoted(part))


def _chat_document(part: Mapping[str, Any]) -> list[Json]:
    source, title = _object(part.get("source")), str(part.get("title") or "document")
    match source.get("type"):
        case "text":
            return _text(f"{title}\n{source.get('data', '')}")
        case "base64":
            data = f"data:{source.get('media_type')};base64,{source.get('data')}"
            return [{"type": "file", "file": {"filename": title, "file_data": data}}]
        case "content" if isinstance(content := source.get("content"), str):
            return _text(f"{title}\n{content}")
        case "content" if isinstance(content := source.get("content"), list):
            return [found for inner in content if isinstance(inner, Mapping) for found in chat_parts(inner)]
    return _text(quoted(part))


def _found(part: Mapping[str, Any]) -> str:
    content = part.get("content")
    blocks = content if isinstance(content, list) else []
    texts = [block["text"] for block in blocks if isinstance(block, Mapping) and isinstance(block.get("text"), str)]
    return "\n".join([f"{part.get('title', '')} ({part.get('source', '')})", *texts])


# --- Messages --------------------------------------------------------------------------------------------


def message_blocks(part: Mapping[str, Any]) -> list[Json]:
    """Return a part as blocks of Messages; none for what is empty or another API's own reasoning.

    The caller's cache marks are left out: an API accepts four in total, and Quire sets them.
    """
    kind = str(part.get("type"))
    if kind in UNSAID - THINKING_BLOCKS:
        return []
    if kind in _BLOCKS:
        return _BLOCKS[kind](part)
    return _said(quoted(part)) if _is_chats(part) or kind in FILE_KINDS else [_whole(part)]


def _text_block(part: Mapping[str, Any]) -> list[Json]:
    if part.get("citations"):
        return [_whole(part)] if part["text"].strip() else []
    return _said(part.get("text"))


def _result_block(part: Mapping[str, Any]) -> list[Json]:
    if not isinstance(part.get("content"), list):
        return [_whole(part)]
    inner = [block for one in part["content"] if isinstance(one, Mapping) for block in message_blocks(one)]
    return [{**_whole(part), "content": inner}]


def _whole(part: Mapping[str, Any]) -> Json:
    known = _MEMBERS.get(str(part["type"]), part)
    return {n: part[n] for n in ("type", *known) if n != "cache_control" and part.get(n) is not None}


def _said(text: Any) -> list[Json]:
    return [{"type": "text", "text": text}] if isinstance(text, str) and text.strip() else []


def _image_block(part: Mapping[str, Any]) -> list[Json]:
    given = part.get("image_url")
    url = given.get("url") if isinstance(given, Mapping) else given
    if not isinstance(url, str):
        return _said(quoted(part))
    return [{"type": "image", "source": _source(url) or {"type": "url", "url": url}}]


def _source(url: str) -> Json | None:
    found = _DATA_URL.match(url) if ";base64," in url[:200] else None
    return {"type": "base64", "media_type": found[1], "data": url[found.end() :]} if found else None


def _file_block(part: Mapping[str, Any]) -> list[Json]:
    given = _object(part.get("file")) or part
    data, url = given.get("file_data"), given.get("file_url")
    title = {"title": given["filename"]} if isinstance(given.get("filename"), str) else {}
    source = _source(data) if isinstance(data, str) else None
    if source is not None and source["media_type"].startswith("image/"):
        return [{"type": "image", "source": source}]
    if source is not None and source["media_type"] == "application/pdf":
        return [{"type": "document", "source": source, **title}]
    if isinstance(url, str):
        return [{"type": "document", "source": {"type": "url", "url": url}, **title}]
    return _said(quoted(part))


_CHAT: Mapping[str, Callable[[Mapping[str, Any]], list[Json]]] = {
    **dict.fromkeys(TEXTS, lambda part: _text(part.get("text"))),
    **dict.fromkeys(("image_url", "image", "input_image"), _chat_image),
    **dict.fromkeys(("file", "input_file"), _chat_file),
    "document": _chat_document,
    "search_result": lambda part: _text(_found(part)),
    "refusal": lambda part: [{"type": "refusal", "refusal": part["refusal"]}] if part.get("refusal") else [],
    "input_audio": lambda part: [{"type": "input_audio", "input_audio": part.get("input_audio")}],
}
_BLOCKS: Mapping[str, Callable[[Mapping[str, Any]], list[Json]]] = {
    **dict.fromkeys(TEXTS, _text_block), **dict.fromkeys(("image_url", "input_image"), _image_block),
    **dict.fromkeys(("file", "input_file"), _file_block), "tool_result": _result_block,
    "refusal": lambda part: _said(part.get("refusal")),
    "thinking": lambda part: [_whole(part)] if part.get("signature") else [],
    **dict.fromkeys(("document", "redacted_thinking"), lambda part: [_whole(part)]),
}  # fmt: skip


# --- What has no counterpart -----------------------------------------------------------------------------


def is_translated(part: Mapping[str, Any]) -> bool:
    return part.get("type") in _CHAT


def is_quoted(part: Mapping[str, Any], dialect: str) -> bool:
    """Return whether the API of a dialect reads a part only by its name."""
    found = message_blocks(part) if dialect == "messages" else chat_parts(part)
    is_text = part.get("type") in TEXTS | {"refusal", "document", "search_result", "file", "input_file"}
    return bool(found) and found[0]["type"] == "text" and (not is_text or found[0]["text"] == quoted(part))


def quoted(part: Mapping[str, Any]) -> str:
    """Return a part in one line: as JSON if it is short and holds nothing encoded, else its kind and what names it."""
    kind = part.get("type", "part")
    size = 0
    for text in strings_of(part):
        size += len(text)
    if size < SHORT_MAX and not any(_ENCODED.search(text) for text in strings_of(part)):
        return dumps({name: value for name, value in part.items() if name != "cache_control"})
    told = [text for text in strings_of({n: v for n, v in part.items() if n != "type"}) if not _ENCODED.search(text)]
    return f"[{kind}: {', '.join(told)[:QUOTED_MAX]} ({size:,} characters)]"


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


# --- Ids and names of calls, in the form that an API takes ----------------------------------------------------

NOT_SENT = re.compile(r"[^A-Za-z0-9_-]")
NAME_LENGTH = 64
"""Of the names of functions that every API takes."""
ID_LENGTHS = (9, 12, 16, 24, 32, 40)
"""Tried in order, for an API's pattern of ids."""
BLOCK_IDS = "[A-Za-z0-9_-]{1,256}"
"""The ids of calls that Messages takes."""


def mapped_name(name: str) -> str:
    """Return a tool's name that every API takes, the same for the same one."""
    return NOT_SENT.sub("_", name)[:NAME_LENGTH] or "_"


def mapped_id(pattern: str, id_: str) -> str:
    if not pattern or re.fullmatch(pattern, id_):
        return id_
    hexadecimal = hashlib.sha256(id_.encode(errors="surrogatepass")).hexdigest()
    candidates = [f"{NOT_SENT.sub('_', id_)[:31]}_{hexadecimal[:32]}", *(hexadecimal[:n] for n in ID_LENGTHS)]
    return next((found for found in candidates if re.fullmatch(pattern, found)), id_)


class CallIds:
    """The ids of a list's calls, each mapped once; a result belongs to the latest call of its id."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._seen: Counter[str] = Counter()
        self._made: set[str] = set()
        self._latest: dict[str, str] = {}

    def call(self, id_: str) -> str:
        mapped = ""
        while not mapped or mapped in self._made:
            times = self._seen[id_]
            self._seen[id_] += 1
            mapped = mapped_id(self._pattern, id_ if not times else f"{id_}-{times}")
        self._made.add(mapped)
        self._latest[id_] = mapped
        return mapped

    def result(self, id_: str) -> str:
        return self._latest.get(id_) or mapped_id(self._pattern, id_)
