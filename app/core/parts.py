"""Content parts of every dialect, as those of Chat Completions and as blocks of Messages.

Windows and the proxy's requests both use it. A part in the API's own dialect is passed on whole, known or not: parts of
Chat Completions have a member named like their type, blocks of Messages do not. A part of another dialect is converted
or quoted by its name, never with its encoded data. ``is_quoted`` tells which.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from app.core.canonical import dumps
from app.core.messages import CARRIED, FILE_KINDS, ROLES, THINKING_PARTS, strings_of

Json = dict[str, Any]
QUOTED_MAX = 600
"""Characters of a part that is quoted as text."""
TEXTS = frozenset({"text", "input_text", "output_text", "summary_text", "text-plain"})
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
_UNREAD = re.compile("type|url|title|(encrypted|signature).*|.*_(id|type|age|at)|id|citations")
"""Members of a hosted tool's result that say nothing to another API's model, or stand in a line already."""
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
    """Return a part in Chat Completions' form; none if it is empty or another API's reasoning."""
    kind = str(part.get("type"))
    if kind in UNSAID:
        return []
    if kind in _CHAT:
        return _CHAT[kind](part)
    return [dict(part)] if _is_chats(part) else _text(quoted(part))


def _is_chats(part: Mapping[str, Any]) -> bool:
    return part.get("type") in part


def as_chat(messages: Iterable[Mapping[str, Any]], kept: Collection[str] = ()) -> list[Json]:
    """Return messages with all parts in Chat Completions' form, without empty messages of the assistant.

    Parts of the types in ``kept`` stay as they are.

    Tool results are text there, so their other parts follow in a user message after the last result.
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
    """Return the speaker of a message. A name that imitates a role is put behind the true role."""
    if role not in ROLES or not name or name == role:
        return role
    return f"{role} ({name})" if name.casefold() in ROLES else name


def said_by(name: str | None, text: str) -> str:
    """Return a text with its speaker's name in front, if there are both."""
    return f"{speaker('user', _MARKS.sub('', name))}: {text}" if name and text else text


def spoken(message: Mapping[str, Any]) -> Json:
    """Return a user's message with the speaker in front of its text, for APIs without a member for the name."""
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


def _chat_file(part: Mapping[str, Any]) -> list[Json]:
    """Return the part for an image, recording or file in the form of OpenAI, Anthropic or any LangChain."""
    inner = [part[name] for name in ("image_url", "file", "source") if part.get(name)]
    holder = inner[0] if inner and isinstance(inner[0], Mapping) else part

    def first(*names: str) -> str:
        return next((holder[name] for name in names if isinstance(holder.get(name), str)), "")

    kind = next((kind for kind in ("image", "audio") if kind in str(part["type"])), "file")
    data, given = first("file_data", "base64", "data"), first("media_type", "mime_type")
    if data and given and not data.startswith("data:"):
        data = f"data:{given};base64,{data}"
    if isinstance(part.get("text"), str):
        return _text(part["text"])
    if kind == "image" and (url := data or first("url", "image_url")):
        detail = {"detail": first("detail")} if first("detail") else {}
        return [{"type": "image_url", "image_url": {"url": url, **detail}}]
    if kind == "audio" and data.startswith("data:"):
        sound = given.rpartition("/")[2]
        said = {"data": data.partition(",")[2], "format": {"mpeg": "mp3", "x-wav": "wav"}.get(sound, sound)}
        return [{"type": "input_audio", "input_audio": said}]
    place = {"file_data": data, "file_id": first("file_id") or _own_id(part), "file_url": first("url", "file_url")}
    if kind != "file" or not any(place.values()):
        return _text(quoted(part))
    named = {"filename": first("filename") or str(part.get("title") or ""), **place}
    return [{"type": "file", "file": {name: value for name, value in named.items() if value}}]


def _own_id(part: Mapping[str, Any]) -> str:
    """Return the id of LangChain's file, which belongs to the API that gets the part."""
    id_ = part.get("id") if part.get("source_type") == "id" else part.get("file_id")
    return id_ if isinstance(id_, str) and part["type"] in ("image", "file") else ""


def _chat_document(part: Mapping[str, Any]) -> list[Json]:
    source, title = _object(part.get("source")), str(part.get("title") or "document")
    content = source.get("data" if source.get("type") == "text" else "content")
    if isinstance(content, str) and source.get("type") in ("text", "content"):
        return _text(f"{title}\n{content}")
    if isinstance(content, list):
        return [found for inner in content if isinstance(inner, Mapping) for found in chat_parts(inner)]
    return _chat_file({**part, "title": title}) if source.get("type") == "base64" else _text(quoted(part))


def _search_result_text(part: Mapping[str, Any]) -> str:
    content = part.get("content")
    blocks = content if isinstance(content, list) else []
    texts = [block["text"] for block in blocks if isinstance(block, Mapping) and isinstance(block.get("text"), str)]
    return "\n".join([f"{part.get('title', '')} ({part.get('source', '')})", *texts])


# --- Messages --------------------------------------------------------------------------------------------


def message_blocks(part: Mapping[str, Any]) -> list[Json]:
    """Return a part as blocks of Messages; none if it is empty or another API's reasoning.

    The caller's cache marks are left out, because an API accepts four in total and Quire sets them.
    """
    kind = str(part.get("type"))
    if kind in UNSAID - THINKING_BLOCKS:
        return []
    if kind in _BLOCKS:
        return _BLOCKS[kind](part)
    return _text_blocks(quoted(part)) if _is_chats(part) or kind in FILE_KINDS else [_whole(part)]


def _text_block(part: Mapping[str, Any]) -> list[Json]:
    if part.get("citations"):
        return [_whole(part)] if part["text"].strip() else []
    return _text_blocks(part.get("text"))


def _result_block(part: Mapping[str, Any]) -> list[Json]:
    if not isinstance(part.get("content"), list):
        return [_whole(part)]
    inner = [block for one in part["content"] if isinstance(one, Mapping) for block in message_blocks(one)]
    return [{**_whole(part), "content": inner}]


def _whole(part: Mapping[str, Any]) -> Json:
    known = _MEMBERS.get(str(part["type"]), part)
    return {n: part[n] for n in ("type", *known) if n != "cache_control" and part.get(n) is not None}


def _text_blocks(text: Any) -> list[Json]:
    return [{"type": "text", "text": text}] if isinstance(text, str) and text.strip() else []


def _source(url: str) -> Json | None:
    found = _DATA_URL.match(url) if ";base64," in url[:200] else None
    return {"type": "base64", "media_type": found[1], "data": url[found.end() :]} if found else None


def _file_block(part: Mapping[str, Any]) -> list[Json]:
    if "source" in part:
        return [_whole(part)]
    if isinstance(part.get("text"), str):
        return _text_blocks(part["text"])
    found = _chat_file(part)[0]
    given = found.get("image_url") or found.get("file") or {}
    encoded = _source(given.get("url") or given.get("file_data") or "")
    url = given.get("file_url") or (not encoded and given.get("url"))
    source = encoded or ({"type": "url", "url": url} if url else None)
    if id_ := _own_id(part):
        source = {"type": "file", "file_id": id_}
    if "image" in part["type"] or (encoded and encoded["media_type"].startswith("image/")):
        return [{"type": "image", "source": source}] if source else _text_blocks(quoted(part))
    if source is None or (encoded and encoded["media_type"] != "application/pdf"):
        return _text_blocks(quoted(part))
    return [{"type": "document", "source": source, **({"title": given["filename"]} if "filename" in given else {})}]


_CHAT: Mapping[str, Callable[[Mapping[str, Any]], list[Json]]] = {
    **dict.fromkeys(TEXTS, lambda part: _text(part.get("text"))),
    **dict.fromkeys(("image_url", "image", "input_image", "file", "input_file", "audio"), _chat_file),
    "input_audio": lambda part: [{"type": "input_audio", "input_audio": part.get("input_audio")}],
    "document": _chat_document,
    "search_result": lambda part: _text(_search_result_text(part)),
    "refusal": lambda part: [{"type": "refusal", "refusal": part["refusal"]}] if part.get("refusal") else [],
}
_BLOCKS: Mapping[str, Callable[[Mapping[str, Any]], list[Json]]] = {
    **dict.fromkeys(TEXTS, _text_block), "tool_result": _result_block,
    **dict.fromkeys(("image_url", "image", "input_image", "file", "input_file", "audio"), _file_block),
    "refusal": lambda part: _text_blocks(part.get("refusal")),
    "thinking": lambda part: [_whole(part)] if part.get("signature") else [],
    **dict.fromkeys(("document", "redacted_thinking"), lambda part: [_whole(part)]),
}  # fmt: skip


# --- What has no counterpart -----------------------------------------------------------------------------


def is_translated(part: Mapping[str, Any]) -> bool:
    return part.get("type") in _CHAT


def is_quoted(part: Mapping[str, Any], dialect: str) -> bool:
    """Return whether an API of a dialect gets only the name of a part."""
    found = message_blocks(part) if dialect == "messages" else chat_parts(part)
    is_text = str(part.get("type")) in TEXTS | {"refusal", "document", "search_result", "file", "input_file"}
    return bool(found) and found[0]["type"] == "text" and (not is_text or found[0]["text"] == quoted(part))


def quoted(part: Mapping[str, Any]) -> str:
    """Return a part in one line: as JSON if it is short and without encoded data, else its kind and name.

    The result of an API's own tool becomes its titles, addresses and texts, line by line, as a model reads them.
    """
    kind = part.get("type", "part")
    if str(kind).endswith("_tool_result"):
        return "\n".join([f"[{kind}]", *dict.fromkeys(_read_of(part.get("content")))])
    size = 0
    for text in strings_of(part):
        size += len(text)
    if size < SHORT_MAX and not any(_ENCODED.search(text) for text in strings_of(part)):
        return dumps({name: value for name, value in part.items() if name != "cache_control"})
    told = [text for text in strings_of({n: v for n, v in part.items() if n != "type"}) if not _ENCODED.search(text)]
    return f"[{kind}: {', '.join(told)[:QUOTED_MAX]} ({size:,} characters)]"


def _read_of(value: Any) -> Iterator[str]:
    if isinstance(value, str) and value.strip() and not _ENCODED.search(value):
        yield value
    elif isinstance(value, list):
        yield from (line for inner in value for line in _read_of(inner))
    elif isinstance(value, Mapping):
        url, title = value.get("url"), value.get("title")
        yield from [f"{title} ({url})"] if url and title else filter(None, (url, title))
        yield from (line for name, inner in value.items() if not _UNREAD.fullmatch(name) for line in _read_of(inner))


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
    """Return a tool's name in a form that every API accepts; equal names give equal forms."""
    return NOT_SENT.sub("_", name)[:NAME_LENGTH] or "_"


def mapped_id(pattern: str, id_: str) -> str:
    if not pattern or re.fullmatch(pattern, id_):
        return id_
    hexadecimal = hashlib.sha256(id_.encode(errors="surrogatepass")).hexdigest()
    candidates = [f"{NOT_SENT.sub('_', id_)[:31]}_{hexadecimal[:32]}", *(hexadecimal[:n] for n in ID_LENGTHS)]
    return next((found for found in candidates if re.fullmatch(pattern, found)), id_)


class CallIds:
    """Maps the call ids of a list. A result belongs to the latest call with its id."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._seen: Counter[str] = Counter()
        self._made: set[str] = set()
        self._latest: dict[str, str] = {}

    def copy(self) -> CallIds:
        other = CallIds(self._pattern)
        other._seen, other._made, other._latest = self._seen.copy(), self._made.copy(), self._latest.copy()
        return other

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
