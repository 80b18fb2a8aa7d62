"""Sessions of agents in terminals and editors: Gemini CLI, OpenCode, Cline and Roo Code, Copilot CLI."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

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
    returned,
    role_of,
    spoken,
    text_part,
    time_of,
    titled,
    turns,
)

# --- Gemini CLI ------------------------------------------------------------------------------------------

_CONTEXT = ("<session_context>", "<hook_context>", "This is the Gemini CLI.")


def _gemini_records(document: Document) -> list[Json]:
    found = document.value if isinstance(document.value, list) else [document.value]
    return [record for record in found if isinstance(record, dict)]


def knows_gemini(document: Document) -> bool:
    records = _gemini_records(document)
    return any({"sessionId", "projectHash"} <= record.keys() for record in records) or _is_history(document.value)


def _is_history(value: Any) -> bool:
    found: Any = value.get("history") if isinstance(value, dict) else value
    return is_list_of(found, "role", "parts") and all(isinstance(one["parts"], list) for one in found)


def gemini_cli(document: Document) -> Iterator[Found]:
    """Read a session (JSON, or JSON lines of records), or the list of contents that `/chat save` writes."""
    if _is_history(document.value):
        value = document.value
        found = value["history"] if isinstance(value, dict) else value
        yield Talk(None, [one for content in found for one in _content(content)])
        return
    head: Json = {}
    messages: dict[str, Json] = {}
    rewound = 0
    for record in _gemini_records(document):
        if isinstance(record.get("$rewindTo"), str):
            keys = list(messages)
            at = keys.index(record["$rewindTo"]) if record["$rewindTo"] in messages else 0
            rewound += sum(messages.pop(key).get("type") in ("user", "gemini") for key in keys[at:])
            continue
        more = record["$set"] if isinstance(record.get("$set"), dict) else record
        if "sessionId" in more or "$set" in record:
            head |= {name: value for name, value in more.items() if name != "messages"}
            if isinstance(more.get("messages"), list):
                messages = {str(one["id"]): one for one in more["messages"] if "id" in one}
        elif "id" in record:
            messages[str(record["id"])] = record
    if "sessionId" not in head:
        raise ValueError("the file has no session with messages")
    if rewound:
        yield Skipped(document.name, f"{rewound} messages were taken back by their person")
    name = f"gemini-cli:{head['sessionId']}"
    folder = document.name.split("/")[-2] if "/" in document.name else None
    about: Json = {"agent": str(head["sessionId"]), "parent": f"gemini-cli:{folder}"}
    said = [one for message in messages.values() for one in _of_gemini(message)]
    is_agent = head.get("kind") == "subagent"
    yield Talk(name[:128], said, titled(head.get("summary")), metadata=about if is_agent else {})


def _of_gemini(message: Json) -> Iterator[Said]:
    time, key = time_of(message.get("timestamp")), str(message["id"])
    content = _gemini_content(message.get("content"))
    if message.get("type") == "user":
        if content and not (isinstance(content, str) and content.lstrip().startswith(_CONTEXT)):
            yield spoken("user", content, **ided(key)), time
    elif message.get("type") == "gemini":
        thoughts = [(one.get("subject"), one.get("description")) for one in message.get("thoughts") or []]
        steps: list[Step] = [("thought", "\n".join(filter(None, thought))) for thought in thoughts]
        steps += [("text", part) for part in _gemini_parts(message.get("content"))]
        steps += [("call", _gemini_call(one)) for one in message.get("toolCalls") or []]
        yield from turns(key, steps, time)


def _gemini_call(one: Json) -> tuple[Json, Json | None]:
    made = call(one.get("id"), one.get("name"), one.get("args"))
    if one.get("result") is None:
        return made, None
    failed = one.get("status") in ("error", "cancelled")
    return made, returned(one.get("id"), _gemini_content(one["result"]), failed=failed)


def _gemini_parts(content: Any) -> list[Json]:
    """Return the parts of one part, of a list of them, or of a text."""
    parts = [_gemini_part(part) for part in (content if isinstance(content, list) else [content]) if part]
    return [part for part in parts if part.get("text") != ""]


def _gemini_content(content: Any) -> Any:
    return content_of(_gemini_parts(content))


def _gemini_part(part: Any) -> Json:
    if isinstance(part, str) or "text" in part:
        return text_part(part if isinstance(part, str) else part["text"])
    for name in ("inlineData", "fileData"):
        if isinstance(media := part.get(name), dict):
            kind = str(media.get("mimeType") or "")
            return media_part(kind, str(media.get("data") or media.get("fileUri") or ""), media.get("displayName"))
    if isinstance(part.get("functionResponse"), dict):
        answer = part["functionResponse"].get("response") or {}
        return text_part(answer.get("output", answer.get("error", answer)))
    return text_part(part)


def _content(content: Json) -> Iterator[Said]:
    """Yield the messages of a `Content` of Google's API."""
    parts = [part for part in content["parts"] if isinstance(part, dict)]
    for part in parts:
        if isinstance(result := part.get("functionResponse"), dict):
            failed = "error" in (result.get("response") or {})
            yield returned(result.get("id") or result.get("name"), _gemini_content(part), failed=failed), None
    calls = [part["functionCall"] for part in parts if isinstance(part.get("functionCall"), dict)]
    thought = "\n".join(str(part.get("text") or "") for part in parts if part.get("thought"))
    said = [p for p in parts if not p.get("thought") and not p.keys() & {"functionCall", "functionResponse"}]
    text = _gemini_content(said)
    if role_of(content["role"]) == "assistant":
        made = [call(one.get("id") or one.get("name"), one.get("name"), one.get("args")) for one in calls]
        yield answered(text, made, thought), None
    elif text and not (isinstance(text, str) and text.lstrip().startswith(_CONTEXT)):
        yield spoken("user", text), None


# --- OpenCode --------------------------------------------------------------------------------------------

_STORED = re.compile(r"(?:.*/)?(session|message|part)/([^/]+)/([^/]+)\.json")


def is_stored(document: Document) -> bool:
    """Return whether a document is a session, a message or a part of OpenCode's storage folder."""
    place, value = _STORED.fullmatch(document.name), document.value
    return place is not None and isinstance(value, dict) and value.get("id") == place[3]


def opencode_folder(documents: Sequence[Document]) -> Document | None:
    """Return the files of a storage folder as the tables that newer versions have; None if there are none."""
    owners = {"session": "project_id", "message": "session_id", "part": "message_id"}
    rows: dict[str, list[Json]] = {table: [] for table in owners}
    for document in filter(is_stored, documents):
        table, owner, key = document.name.removesuffix(".json").split("/")[-3:]
        rows[table].append({"id": key, owners[table]: owner, "data": document.value})
    return Document("storage", tables=rows) if rows["session"] and rows["message"] else None


def knows_opencode(document: Document) -> bool:
    if document.tables:
        return {"session", "message", "part"} <= document.tables.keys() and "data" in (
            document.tables["message"] or [{}]
        )[0]
    value = document.value if isinstance(document.value, dict) else {}
    return isinstance(value.get("info"), dict) and is_list_of(value.get("messages"), "info", "parts")


def opencode(document: Document) -> Iterator[Found]:
    """Read what `opencode export` writes, or its database or folder: a conversation for each session."""
    if not document.tables:
        value = document.value if isinstance(document.value, dict) else {}
        if not isinstance(value.get("info"), dict) or not isinstance(value.get("messages"), list):
            raise ValueError("the file has no session with messages")
        yield from _opencode_session(document, value["info"], value["messages"])
        return
    parts: dict[Any, list[Json]] = {}
    for row in sorted(document.tables["part"], key=lambda row: str(row["id"])):
        parts.setdefault(row["message_id"], []).append({**_data(row), "id": row["id"]})
    for session in document.tables["session"]:
        own = [row for row in document.tables["message"] if row["session_id"] == session["id"]]
        own.sort(key=lambda row: (row.get("time_created") or 0, str(row["id"])))
        messages: list[Json] = [
            {"info": {**_data(row), "id": row["id"]}, "parts": parts.get(row["id"], [])} for row in own
        ]
        yield from _opencode_session(document, {**session, **_data(session)}, messages)


def _data(row: Json) -> Json:
    found = json.loads(row["data"]) if isinstance(row.get("data"), str) else row.get("data")
    return found if isinstance(found, dict) else {}


def _opencode_session(document: Document, info: Json, messages: Sequence[Json]) -> Iterator[Found]:
    revert = info.get("revert")
    revert = json.loads(revert) if isinstance(revert, str) else revert or {}
    first = str(revert.get("messageID") or "")
    kept = [one for one in messages if not first or str(one["info"]["id"]) < first]
    if len(kept) < len(messages):
        yield Skipped(document.name, f"{len(messages) - len(kept)} messages were taken back by their person")
    name, parent = f"opencode:{info['id']}"[:128], info.get("parentID") or info.get("parent_id")
    about: Json = {"parent": f"opencode:{parent}", "agent": str(info.get("agent") or info["id"])} if parent else {}
    summaries = [_texts(one["parts"]) for one in kept if one["info"].get("summary") is True]
    said = [said for one in kept if one["info"].get("summary") is not True for said in _of_opencode(one)]
    if said or not parent:
        yield Talk(name, said, titled(info.get("title")), summaries=list(filter(None, summaries)), metadata=about)


def _texts(parts: Iterable[Json]) -> str:
    return "\n".join(str(part.get("text") or "") for part in parts if part.get("type") == "text")


def _of_opencode(message: Json) -> Iterator[Said]:
    info, parts = message["info"], [part for part in message["parts"] if not part.get("synthetic")]
    key, created = str(info["id"]), (info.get("time") or {}).get("created")
    time = time_of(created / 1000) if isinstance(created, int | float) else None
    if info.get("role") == "user":
        said = [part for part in map(_opencode_part, parts) if part is not None]
        if said:
            yield spoken("user", content_of(said), **ided(key)), time
        return
    yield from turns(key, filter(None, map(_opencode_step, parts)), time)


def _opencode_step(part: Json) -> Step | None:
    if part.get("type") == "reasoning":
        return "thought", str(part.get("text") or "")
    if part.get("type") == "tool":
        return "call", _opencode_call(part)
    shown = _opencode_part(part)
    return ("text", shown) if shown is not None else None


def _opencode_part(part: Json) -> Json | None:
    if part.get("type") == "text":
        return text_part(part["text"]) if part.get("text") and not part.get("ignored") else None
    if part.get("type") == "file":
        return media_part(str(part.get("mime") or ""), str(part.get("url") or ""), part.get("filename"))
    return None


def _opencode_call(part: Json) -> tuple[Json, Json | None]:
    state = part.get("state") or {}
    made = call(part.get("callID"), part.get("tool"), state.get("input"))
    if state.get("status") not in ("completed", "error"):
        return made, None
    failed = state["status"] == "error"
    return made, returned(part.get("callID"), state.get("error" if failed else "output"), failed=failed)


# --- Cline and Roo Code ----------------------------------------------------------------------------------

CLINE_FILE = "api_conversation_history.json"
_WRAPPED = re.compile(r"<(task|feedback|user_message|answer|user_input)(?: [^>]*)?>\n?(.*?)\n?</\1>", re.DOTALL)


def _cline_list(document: Document) -> Any:
    value = document.value
    return value.get("messages") if isinstance(value, dict) and {"sessionId", "agent"} <= value.keys() else value


def knows_cline(document: Document) -> bool:
    messages = _cline_list(document)
    if not is_list_of(messages, "role", "content"):
        return False
    texts = (part for message in messages for part in _cline_parts(message) if part.get("type") == "text")
    is_named = document.name.endswith(CLINE_FILE) or isinstance(document.value, dict)
    return is_named or any(_is_environment(part) for part in texts)


def _is_environment(part: Json) -> bool:
    return str(part.get("text") or "").lstrip().startswith("<environment_details>")


def _cline_parts(message: Json) -> list[Json]:
    content = message.get("content")
    if isinstance(content, str):
        return [text_part(content)] if content else []
    return [part for part in content or [] if isinstance(part, dict)]


def cline(document: Document) -> Iterator[Found]:
    """Read a task's `api_conversation_history.json`, or a session's `.messages.json` of newer versions.

    What the editor adds to a person's words is left out.
    """
    messages = _cline_list(document)
    if not is_list_of(messages, "role", "content"):
        raise ValueError("the file has no list of messages")
    folder = document.name.split("/")[-2] if "/" in document.name else None
    name = str(document.value["sessionId"]) if isinstance(document.value, dict) else folder
    said: list[Said] = []
    summaries: list[str] = []
    for number, message in enumerate(messages):
        parts = _cline_parts(message)
        if message.get("isSummary"):
            summaries.append(_texts(parts))
        elif not message.get("isTruncationMarker"):
            said += _of_cline(message, parts, str(message.get("id") or message.get("ts") or number))
    yield Talk(f"cline:{name}"[:128] if name else None, said, summaries=list(filter(None, summaries)))


def _of_cline(message: Json, parts: Sequence[Json], key: str) -> Iterator[Said]:
    stamp, role = message.get("ts"), role_of(message["role"])
    time = time_of(stamp / 1000) if isinstance(stamp, int | float) else None
    kept = [part for part in parts if not (role == "user" and part.get("type") == "text" and _is_environment(part))]
    shown = [part for part in (_cline_block(part, role) for part in kept) if part.get("text") != ""]
    if shown:
        is_text = all(part.get("type") == "text" for part in shown)
        yield spoken(role, content_of(shown) if is_text else shown, **ided(key)), time


_BLOCK = frozenset(("id", "name", "input", "content", "is_error", "source", "thinking", "signature", "tool_use_id"))
"""Members of a block of Anthropic's API beside its type; editors add others."""


def _cline_block(part: Json, role: str) -> Json:
    if part.get("type") == "text":
        text = str(part.get("text") or "").strip()
        found = _WRAPPED.fullmatch(text) if role == "user" else None
        return text_part(found[2] if found is not None else text)
    block = {name: value for name, value in part.items() if name in _BLOCK}
    content = part.get("content")
    if part.get("type") == "tool_result":
        block.pop("name", None)  # newer versions say which tool it was; Anthropic's API does not
        if isinstance(content, list):
            block["content"] = [
                one if "type" in one else text_part(one.get("result", one.get("error", one))) for one in content
            ]
            failed = [one.get("success") is False for one in content]
            block |= {"is_error": True} if failed and all(failed) else {}
    return {"type": part.get("type"), **block}


# --- Copilot CLI -----------------------------------------------------------------------------------------


def knows_copilot(document: Document) -> bool:
    lines = document.value if isinstance(document.value, list) else []
    kinds = {line.get("type") for line in lines if isinstance(line, dict) and isinstance(line.get("data"), dict)}
    return bool(kinds & {"session.start", "user.message", "assistant.message"})


def copilot(document: Document) -> Iterator[Found]:
    """Read a session's `events.jsonl`: a conversation, and one for each sub-agent."""
    events = [line for line in document.value if isinstance(line, dict) and isinstance(line.get("data"), dict)]
    start: Json = next((line["data"] for line in events if line.get("type") == "session.start"), {})
    session = start.get("sessionId") or (document.name.split("/")[-2] if "/" in document.name else None)
    name = f"copilot-cli:{session}"[:128] if session else None
    kept = _not_rewound(events)
    if (
        gone := sum(one.get("type") in _SPOKEN for one in events) - sum(one.get("type") in _SPOKEN for one in kept)
    ) > 0:
        yield Skipped(document.name, f"{gone} messages were taken back by their person")
    agents = {
        str(line.get("agentId") or line["data"].get("toolCallId")): str(line["data"].get("agentName") or "sub-agent")
        for line in kept if line.get("type") == "subagent.started"
    }  # fmt: skip
    lines: dict[str, list[Json]] = {"": []}
    for line in kept:
        lines.setdefault(str(line["data"].get("parentToolCallId") or line.get("agentId") or ""), []).append(line)
    titles = [line["data"].get("title") for line in kept if line.get("type") == "session.title_changed"]
    summaries = [
        line["data"].get("summaryContent") for line in kept if line.get("type") == "session.compaction_complete"
    ]
    said = list(_of_copilot(lines.pop("")))
    yield Talk(name, said, titled(titles[-1]) if titles else None, summaries=[str(one) for one in summaries if one])
    for agent, own in lines.items():
        about: Json = {"parent": name, "agent": agents.get(agent, agent)}
        if told := list(_of_copilot(own)):
            yield Talk(
                f"{name or 'copilot-cli'}:agent-{agent}"[:128], told, f"Sub-agent {about['agent']}", metadata=about
            )


_SPOKEN = ("user.message", "assistant.message")


def _not_rewound(events: Sequence[Json]) -> list[Json]:
    kept: list[Json] = []
    for event in events:
        kept.append(event)
        if event.get("type") == "session.snapshot_rewind":
            data = event["data"]
            gone = set(data.get("eventIds") or ())
            first = next((at for at, one in enumerate(kept) if one.get("id") == data.get("upToEventId")), len(kept))
            kept = [one for at, one in enumerate(kept) if at < first and one.get("id") not in gone]
    return kept


def _of_copilot(events: Iterable[Json]) -> Iterator[Said]:
    for event in events:
        data, time, key = event["data"], time_of(event.get("timestamp")), ided(event.get("id"))
        match event.get("type"):
            case "user.message" if data.get("source") in (None, "user") and not data.get("isAutopilotContinuation"):
                files = [
                    text_part(f"[file: {one.get('displayName') or one.get('path')}]")
                    for one in data.get("attachments") or []
                ]
                said = [*([text_part(data["content"])] if data.get("content") else []), *files]
                if said:
                    yield spoken("user", content_of(said), **key), time
            case "assistant.message":
                calls = [
                    call(one.get("toolCallId"), one.get("name"), one.get("arguments"))
                    for one in data.get("toolRequests") or []
                ]
                if data.get("content") or calls:
                    yield answered(data.get("content"), calls, str(data.get("reasoningText") or ""), **key), time
            case "tool.execution_complete":
                result = data.get("result") or data.get("error") or {}
                text = result.get("content") if "content" in result else result.get("message")
                yield returned(data.get("toolCallId"), text, failed=data.get("success") is False, **key), time
