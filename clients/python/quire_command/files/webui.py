"""Exports and databases of chat interfaces: Open WebUI, LibreChat and LobeHub."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quire_command.files.chats import path_to, trees
from quire_command.files.items import spoken_items
from quire_command.files.reading import Document
from quire_command.files.values import (
    Found,
    Json,
    Said,
    Skipped,
    Step,
    Talk,
    answered,
    call,
    content_of,
    ided,
    is_list_of,
    media_part,
    named,
    returned,
    role_of,
    rows_of,
    spoken,
    text_part,
    time_of,
    titled,
    turns,
)


def _shown(
    leaves: Sequence[str], parents: Mapping[str, Any], base: Talk, said: Mapping[str, Sequence[Said]], last: Any
) -> Iterator[Talk]:
    """Yield the branch that ends in ``last``, or with the newest leaf, and the others."""
    leaf = last if last in parents else leaves[-1]
    shown = path_to(parents, leaf, str(base.id))
    others = [path_to(parents, one, str(base.id)) for one in leaves if one not in shown]
    yield from trees(base, shown, others, said)


def _tree(
    parents: Mapping[str, Any], base: Talk, said: Mapping[str, Sequence[Said]], last: Any = None
) -> Iterator[Talk]:
    inner = set(parents.values())
    leaves = [key for key in parents if key not in inner] or list(parents)[-1:]
    yield from _shown(leaves, parents, base, said, last)


# --- Open WebUI ------------------------------------------------------------------------------------------

_DETAILS = re.compile(r'<details\s+type="(\w+)"([^>]*)>\s*(?:<summary>.*?</summary>)?(.*?)</details>\s*', re.DOTALL)
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')


def _webui_rows(document: Document) -> list[Json]:
    rows: Any = document.tables.get("chat", []) if document.tables else document.value
    found: list[Json] = rows if isinstance(rows, list) else [rows]
    return [
        {**row, "chat": json.loads(row["chat"]) if isinstance(row.get("chat"), str) else row.get("chat")}
        for row in found
    ]


def knows_open_webui(document: Document) -> bool:
    rows = _webui_rows(document)
    return bool(rows) and all(isinstance((row["chat"].get("history") or {}).get("messages"), dict) for row in rows[:3])


def open_webui(document: Document) -> Iterator[Found]:
    """Read the chats of an export, or of `webui.db`."""
    for number, row in enumerate(_webui_rows(document), 1):
        chat = row["chat"]
        if not isinstance(chat, dict) or not isinstance((chat.get("history") or {}).get("messages"), dict):
            raise ValueError("a chat has no `history` with messages")  # noqa: TRY004 - of a file, not of an argument
        nodes = {key: one for key, one in chat["history"]["messages"].items() if isinstance(one, dict)}
        place = f"{document.name}, chat {number}"
        if not nodes:
            yield Skipped(place, "it is empty")
            continue
        name = row.get("id") or chat.get("id") or f"{document.stem}-{number}"
        owner = row.get("user_id")
        base = Talk(f"open-webui:{name}"[:110], (), titled(row.get("title") or chat.get("title")), owner)
        said = {key: list(_of_webui(key, node)) for key, node in nodes.items()}
        if silent := sum(not told for told in said.values()):
            yield Skipped(place, f"{silent} messages are empty")
        parents = {key: node.get("parentId") for key, node in nodes.items()}
        if prompt := (chat.get("params") or {}).get("system"):
            first = next((key for key, before in parents.items() if before not in parents), next(iter(said)))
            said[first] = [(spoken("system", prompt, **ided(f"{name}:system")), None), *said[first]]
        try:
            yield from _tree(parents, base, said, chat["history"].get("currentId"))
        except ValueError as error:
            yield Skipped(place, str(error))


def _of_webui(key: str, node: Json) -> Iterator[Said]:
    time, role = time_of(node.get("timestamp")), role_of(node.get("role"))
    if role == "assistant":
        for at, (message, _) in enumerate(_answer(node)):
            yield {**message, **ided(f"{key}:{at}" if at else key)}, time
        return
    content = node.get("content")
    parts = (
        [text_part(content)]
        if isinstance(content, str) and content
        else list(content or [])
        if isinstance(content, list)
        else []
    )
    for file in node.get("files") or []:
        about = file.get("file") or file
        kind = "image/*" if file.get("type") == "image" else "file"
        name = str(file.get("name") or about.get("filename") or about.get("id") or "without a name")
        is_data = kind == "image/*" and str(file.get("url") or "").startswith(("data:", "http"))
        parts.append(
            media_part(kind, str(file["url"]), name)
            if is_data
            else text_part(f"[{file.get('type') or 'file'}: {name}]")
        )
    if parts:
        yield spoken(role, content_of(parts), **ided(key)), time


def _answer(node: Json) -> Iterator[Said]:
    """Yield an answer's messages: from its items where it has them, else from the marks in its text."""
    if is_list_of(node.get("output"), "type"):
        yield from spoken_items((_with_text(item), None) for item in node["output"])
        return
    speaker = named(node.get("modelName") if node.get("models") else None)
    for message, time in turns("", _webui_steps(str(node.get("content") or "")), None):
        yield {**message, **(speaker if message["role"] == "assistant" else {})}, time


def _webui_steps(text: str) -> Iterator[Step]:
    """Yield the steps of an answer: what stands between its marks is said."""
    at = 0
    for found in _DETAILS.finditer(text):
        yield from _text_step(text[at : found.start()])
        at = found.end()
        kind, attributes, inner = found.groups()
        given = {name: html.unescape(value) for name, value in _ATTRIBUTE.findall(attributes)}
        if kind == "reasoning":
            yield "thought", re.sub(r"^> ?", "", html.unescape(inner.strip()), flags=re.MULTILINE)
        elif kind == "tool_calls" and given.get("name"):
            asked = call(given.get("id"), given["name"], given.get("arguments"))
            yield "call", (asked, returned(given.get("id"), _unquoted(given.get("result", ""))))
        else:  # code that was run, and what it printed
            yield from _text_step(f"{inner.strip()}\n\n{_unquoted(given.get('output', ''))}")
    yield from _text_step(text[at:])


def _text_step(text: str) -> Iterator[Step]:
    if text.strip():
        yield "text", text_part(text.strip())


def _with_text(item: Json) -> Json:
    """Return an item whose reasoning stands where Responses has it."""
    if item.get("type") != "reasoning" or item.get("summary"):
        return item
    return {**item, "summary": item.get("content")}


def _unquoted(text: str) -> str:
    try:
        found = json.loads(text)
    except ValueError:
        return text
    return found if isinstance(found, str) else text


# --- LibreChat -------------------------------------------------------------------------------------------


def knows_librechat(document: Document) -> bool:
    found = document.value if isinstance(document.value, list) else [document.value]
    return bool(found) and all("conversationId" in one and is_list_of(_librechat_list(one)) for one in found)


def _librechat_list(value: Json) -> Any:
    return value.get("messagesTree") or value.get("messages")


def librechat(document: Document) -> Iterator[Found]:
    """Read conversations as LibreChat exports them, as a tree or as a list. The newest branch is the one shown."""
    for found in rows_of(document.value, "conversations"):
        name = found.get("conversationId")
        if not name or not is_list_of(_librechat_list(found)):
            raise ValueError("a conversation has no `conversationId` or no messages")
        nodes = {str(one.get("messageId") or at): one for at, one in enumerate(_flat(_librechat_list(found)))}
        before: str | None = None
        parents: dict[str, Any] = {}
        for key, node in nodes.items():
            link = node.get("parentMessageId", before)
            parents[key], before = (link if link in nodes else None), key
        said = {key: list(_of_librechat(key, node)) for key, node in nodes.items()}
        if prompt := (found.get("options") or {}).get("promptPrefix"):
            first = next((key for key in nodes if parents[key] is None), next(iter(nodes)))
            said[first] = [(spoken("system", prompt, **ided(f"{name}:system")), None), *said[first]]
        owner = next((node["user"] for node in nodes.values() if isinstance(node.get("user"), str)), None)
        yield from _tree(parents, Talk(f"librechat:{name}"[:110], (), titled(found.get("title")), owner), said)


def _flat(messages: Sequence[Json]) -> Iterator[Json]:
    """Yield a tree's messages, each before those that follow it."""
    waiting = list(messages)[::-1]
    while waiting:
        message = waiting.pop()
        yield message
        waiting += (message.get("children") or [])[::-1]


def _of_librechat(key: str, node: Json) -> Iterator[Said]:
    time = time_of(node.get("createdAt"))
    is_users = node.get("isCreatedByUser", str(node.get("sender")).lower() == "user")
    text, parts = node.get("text"), node.get("content")
    if is_users or not isinstance(parts, list):
        files = [text_part(f"[file: {one.get('filename') or one.get('file_id')}]") for one in node.get("files") or []]
        said = [*([text_part(text)] if text else []), *files]
        if said:
            role = "user" if is_users else "assistant"
            yield {"role": role, "content": content_of(said), **ided(key)}, time
        return
    yield from turns(key, filter(None, map(_librechat_step, parts)), time)


def _librechat_step(part: Json) -> Step | None:
    match part.get("type"):
        case "tool_call":
            made = part.get("tool_call") or {}
            made = {**made, **(made.get("function") or {})}
            asked = call(made.get("id"), made.get("name"), made.get("args") or made.get("arguments"))
            output = made.get("output")
            return "call", (asked, returned(made.get("id"), output) if output is not None else None)
        case "think":
            return "thought", str(part.get("think") or "")
        case "text":
            text = part.get("text")
            return "text", text_part(text.get("value") if isinstance(text, dict) else text or "")
        case "error" | None:
            return None
    return "text", text_part(f"[{part.get('type')}]")


# --- LobeHub ---------------------------------------------------------------------------------------------


def _lobe_tables(document: Document) -> Mapping[str, Any]:
    if document.tables:
        return document.tables
    value = document.value if isinstance(document.value, dict) else {}
    found = value.get("data") or value.get("state") or {}
    return found if isinstance(found, dict) else {}


def knows_lobehub(document: Document) -> bool:
    tables = _lobe_tables(document)
    return is_list_of(tables.get("messages"), "id", "role", "content") and bool({"topics", "sessions"} & tables.keys())


def _either(row: Json, name: str) -> Any:
    """Return a member that exports write `likeThis` and the database `like_this`."""
    return row.get(name, row.get(re.sub("([A-Z])", lambda found: f"_{found[1].lower()}", name)))


def lobehub(document: Document) -> Iterator[Found]:
    """Read an export of LobeHub: a conversation for each topic, and for what a session has without one."""
    tables = _lobe_tables(document)
    if not is_list_of(tables.get("messages"), "id", "role"):
        raise ValueError("the file has no list of messages")
    plugins = {row["id"]: row for row in tables.get("messagePlugins") or tables.get("message_plugins") or ()}
    titles = {row["id"]: row.get("title") for row in tables.get("topics") or ()}
    names = {
        row["id"]: row.get("title") or (row.get("meta") or {}).get("title") for row in tables.get("sessions") or ()
    }
    talks: dict[str, list[Json]] = {}
    for row in sorted(tables["messages"], key=lambda row: str(_either(row, "createdAt") or "")):
        talks.setdefault(str(_either(row, "topicId") or _either(row, "sessionId") or "inbox"), []).append(row)
    for name, rows in talks.items():
        parents = _lobe_parents(rows)
        said = {str(row["id"]): list(_of_lobe({**row, **_plugin(plugins.get(row["id"]))})) for row in rows}
        owner = next((user for row in rows if isinstance(user := _either(row, "userId"), str)), None)
        base = Talk(f"lobehub:{name}"[:110], (), titled(titles.get(name) or names.get(name)), owner)
        yield from _tree(parents, base, said)


def _plugin(row: Json | None) -> Json:
    return {"toolCallId": _either(row, "toolCallId"), "failed": bool(row.get("error"))} if row else {}


def _lobe_parents(rows: Sequence[Json]) -> dict[str, str | None]:
    """Return what each message follows: the one before it, but an answer again follows the same question."""
    parents: dict[str, str | None] = {}
    answers: set[str] = set()
    users = {str(row["id"]) for row in rows if row["role"] == "user"}
    before: str | None = None
    for row in rows:
        key, link = str(row["id"]), str(_either(row, "parentId") or "")
        is_again = row["role"] == "assistant" and link in answers
        parents[key] = link if is_again else before
        if row["role"] == "assistant" and link in users:
            answers.add(link)
        before = key
    return parents


def _of_lobe(row: Json) -> Iterator[Said]:
    stamp = _either(row, "createdAt")
    time, more = time_of(stamp / 1000 if isinstance(stamp, int | float) else stamp), ided(row["id"])
    role, content = role_of(row["role"]), row.get("content") or ""
    if role == "tool":
        yield (
            returned(row.get("toolCallId") or row.get("tool_call_id"), content, failed=bool(row.get("failed")), **more),
            time,
        )
    elif role == "assistant":
        thought = (row.get("reasoning") or {}).get("content") if isinstance(row.get("reasoning"), dict) else ""
        calls = [call(one.get("id"), one.get("apiName"), one.get("arguments")) for one in row.get("tools") or []]
        if content or calls:
            yield answered(content, calls, str(thought or ""), **more), time
    elif content:
        yield spoken(role, content, **more), time
