"""Stores of agent frameworks: pydantic-ai, strands, agno, Google's ADK and LlamaIndex."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from quire_command.files.large import kept, only
from quire_command.files.reading import Document
from quire_command.files.values import (
    Found,
    Json,
    Said,
    Skipped,
    Talk,
    Turn,
    answered,
    call,
    content_of,
    dumps,
    function_calls,
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
)


def member(found: Mapping[str, Any], name: str) -> Any:
    """Return a member that is written `like_this` or `likeThis`."""
    first, *rest = name.split("_")
    return found.get(name, found.get(first + "".join(part.capitalize() for part in rest)))


def loaded(value: Any) -> Any:
    """Return the JSON of a text that a column holds; a value that is none as it is."""
    try:
        return json.loads(value) if isinstance(value, str | bytes) else value
    except ValueError:
        return value


# --- pydantic-ai -----------------------------------------------------------------------------------------


def knows_pydantic_ai(document: Document) -> bool:
    found = document.value if isinstance(document.value, list) else []
    return bool(found) and all(
        isinstance(m, dict) and m.get("kind") in ("request", "response") and "parts" in m for m in found
    )


def pydantic_ai(document: Document) -> Iterator[Found]:
    """Read a list of model messages as `ModelMessagesTypeAdapter` writes it."""
    found = rows_of(document.value, "messages")
    talks: dict[str | None, list[int]] = {}
    summaries: dict[str | None, list[str]] = {}
    name = next((m["conversation_id"] for m in found if m.get("conversation_id")), None)
    for place, message in enumerate(found):
        name = message.get("conversation_id") or name
        talks.setdefault(name, []).append(place)
        parts = (part for part in message["parts"] if part.get("part_kind") == "compaction")
        summaries.setdefault(name, []).extend(str(part["content"]) for part in parts if part.get("content"))
    for name, places in talks.items():
        own = only(found, places)
        said = kept(one for m in own for one in (_response(m) if m["kind"] == "response" else _request(m)))
        yield Talk(f"pydantic-ai:{name}"[:128] if name else None, said, summaries=summaries[name])


def _request(message: Json) -> Iterator[Said]:
    for part in message["parts"]:
        time = time_of(part.get("timestamp") or message.get("timestamp"))
        match part.get("part_kind"):
            case "system-prompt":
                yield spoken("system", part.get("content") or ""), time
            case "user-prompt":
                yield spoken("user", _prompt(part.get("content"))), time
            case "tool-return":
                failed = part.get("outcome") not in (None, "success")
                yield returned(part.get("tool_call_id"), part.get("content"), failed=failed), time
            case "retry-prompt" if part.get("tool_name"):
                yield returned(part.get("tool_call_id"), part.get("content"), failed=True), time
            case "retry-prompt":
                yield spoken("user", _text(part.get("content"))), time


def _text(content: Any) -> str:
    return content if isinstance(content, str) else dumps(content)


def _prompt(content: Any) -> Any:
    if isinstance(content, str):
        return content
    parts = []
    for part in content or []:
        if isinstance(part, str):
            parts.append(text_part(part))
        elif part.get("kind") == "binary":
            parts.append(
                media_part(str(part.get("media_type") or ""), str(part.get("data") or ""), part.get("identifier"))
            )
        elif part.get("url"):
            kind = (
                "image/*" if part.get("kind") == "image-url" else str(part.get("kind") or "file").removesuffix("-url")
            )
            parts.append(media_part(kind, str(part["url"]), str(part["url"])))
        else:
            parts.append(text_part(part.get("content") or part))
    return content_of(parts)


def _response(message: Json) -> Iterator[Said]:
    time = time_of(message.get("timestamp"))
    parts: Sequence[Json] = message["parts"]
    texts = [text_part(part.get("content") or "") for part in parts if part.get("part_kind") == "text"]
    thoughts = [str(part.get("content") or "") for part in parts if part.get("part_kind") == "thinking"]
    calls = [
        call(part.get("tool_call_id"), part.get("tool_name"), part.get("args"))
        for part in parts
        if part.get("part_kind") in ("tool-call", "builtin-tool-call")
    ]
    yield answered(content_of(texts), calls, "\n".join(thoughts)), time
    for part in parts:
        if part.get("part_kind") == "builtin-tool-return":
            yield returned(part.get("tool_call_id"), part.get("content")), time


# --- strands ---------------------------------------------------------------------------------------------


def strands_folders(documents: Sequence[Document]) -> Iterator[Document]:
    """Yield a document for each session: the files of its folder, by their paths within it."""
    heads = [d.name for d in documents if d.name.split("/")[-1] == "session.json"]
    for head in heads:
        folder = head[: -len("session.json")]
        yield Document(head, files={d.name[len(folder) :]: d.value for d in documents if d.name.startswith(folder)})


def knows_strands(document: Document) -> bool:
    return "session.json" in document.files


def strands(document: Document) -> Iterator[Found]:
    """Read the folder of a `FileSessionManager`: a conversation for each agent."""
    session = str((document.files["session.json"] or {}).get("session_id"))
    agents = sorted(name for name in document.files if name.endswith("/agent.json"))
    for name in agents:
        agent, folder = document.files[name], name[: -len("agent.json")]
        rows = [
            v for path, v in document.files.items() if path.startswith(f"{folder}messages/") and isinstance(v, dict)
        ]
        rows.sort(key=lambda row: int(row.get("message_id") or 0))
        kept = (agent.get("conversation_manager_state") or {}).get("summary_message")
        summaries = [_block_text(kept)] if isinstance(kept, dict) else []
        user = (agent.get("state") or {}).get("user_id") or (agent.get("state") or {}).get("user")
        more = f":{agent.get('agent_id')}" if len(agents) > 1 else ""
        said = [one for row in rows for one in _of_strands(row)]
        yield Talk(
            f"strands:{session}{more}"[:128], said, user=user if isinstance(user, str) else None, summaries=summaries
        )


def _block_text(message: Json) -> str:
    return "\n".join(str(block["text"]) for block in message.get("content") or [] if "text" in block)


def _of_strands(row: Json) -> Iterator[Said]:
    message = row.get("redact_message") or row["message"]
    turn = Turn()
    for block in message.get("content") or []:
        if "text" in block:
            turn.parts.append(text_part(block["text"]))
        elif "toolUse" in block:
            use = block["toolUse"]
            turn.calls.append(call(use.get("toolUseId"), use.get("name"), use.get("input")))
        elif "toolResult" in block:
            result = block["toolResult"]
            content = content_of([_strands_part(one) for one in result.get("content") or []])
            turn.results.append(returned(result.get("toolUseId"), content, failed=result.get("status") == "error"))
        elif "reasoningContent" in block:
            turn.thoughts.append(str((block["reasoningContent"].get("reasoningText") or {}).get("text") or ""))
        elif not block.keys() & {"cachePoint", "guardContent"}:
            turn.parts.append(_strands_part(block))
    yield from turn.said(role_of(message["role"]), time_of(row.get("created_at")), **ided(message.get("tracking_id")))


def _strands_part(block: Json) -> Json:
    if "text" in block:
        return text_part(block["text"])
    if "json" in block:
        return text_part(dumps(block["json"]))
    for kind in ("image", "document", "video"):
        if isinstance(block.get(kind), dict):
            media = block[kind]
            data = (media.get("source") or {}).get("bytes")
            data = data.get("data") if isinstance(data, dict) else data
            form = f"{kind}/{media.get('format') or 'png'}"
            return media_part(form, str(data), media.get("name")) if data else text_part(f"[{kind}]")
    return text_part(block)


# --- agno ------------------------------------------------------------------------------------------------


def _agno(document: Document, name: str) -> list[Json]:
    """Return the rows of one of agno's tables: of an own name, or of a JSON file."""
    tables: Mapping[str, Any] = document.tables
    if not tables and is_list_of(document.value):
        tables = {document.stem: document.value}
    rows = [row for table, found in tables.items() if table.endswith(name) for row in found]
    return [{key: loaded(value) for key, value in row.items()} for row in rows]


def knows_agno(document: Document) -> bool:
    return any("session_type" in row for row in _agno(document, "sessions"))


def agno(document: Document) -> Iterator[Found]:
    """Read sessions with their runs. A run repeats the history and its system prompt; they were said once."""
    runs = _agno(document, "runs")
    for session in _agno(document, "sessions"):
        own = sorted(
            (r for r in runs if r.get("session_id") == session["session_id"]), key=lambda r: r.get("run_index") or 0
        )
        data = [run["run_data"] for run in own if isinstance(run.get("run_data"), dict)] or session.get("runs") or []
        state = (session.get("session_data") or {}).get("session_state") or {}
        title = (session.get("session_data") or {}).get("session_name") or state.get("topic")
        summary = (session.get("summary") or {}).get("summary")
        parents = [run for run in data if isinstance(run, dict) and not run.get("parent_run_id")]
        yield Talk(
            f"agno:{session['session_id']}"[:128],
            list(_of_runs(parents)),
            titled(title),
            session.get("user_id"),
            [summary] if summary else [],
            {"state": state} if state else {},
        )


def _of_runs(runs: Iterable[Json]) -> Iterator[Said]:
    seen: set[str] = set()
    for run in runs:
        messages = run.get("messages") or []
        for place, message in enumerate(messages):
            key = str(message.get("id") or id(message))
            if message.get("from_history") or key in seen or message.get("role") is None:
                continue
            seen.add(key)
            if place == 0 and message["role"] in ("system", "developer"):
                continue
            yield from _of_agno(message)


def _of_agno(message: Json) -> Iterator[Said]:
    role, time, more = role_of(message["role"]), time_of(message.get("created_at")), ided(message.get("id"))
    content = message.get("content")
    parts = [text_part(content)] if content not in (None, "") else []
    for kind in ("images", "audio", "videos", "files"):
        for media in message.get(kind) or [] if isinstance(message.get(kind), list) else []:
            form = str(media.get("mime_type") or f"{kind.removesuffix('s')}/*")
            data = media.get("content") or media.get("url")
            parts.append(media_part(form, str(data), media.get("filename")) if data else text_part(f"[{kind}]"))
    if role == "tool":
        failed = bool(message.get("tool_call_error"))
        yield returned(message.get("tool_call_id"), content_of(parts), failed=failed, **more), time
    elif role == "assistant":
        calls = [
            call(c.get("id"), (c.get("function") or {}).get("name"), (c.get("function") or {}).get("arguments"))
            for c in message.get("tool_calls") or []
        ]
        yield answered(content_of(parts), calls, str(message.get("reasoning_content") or ""), **more), time
    else:
        yield spoken(role, content_of(parts), **more), time


# --- Google's ADK ----------------------------------------------------------------------------------------


def knows_adk(document: Document) -> bool:
    value = document.value if isinstance(document.value, dict) else {}
    is_session = isinstance(value.get("events"), list) and bool({"appName", "app_name"} & set(value))
    return is_session or {"sessions", "events"} <= set(document.tables)


def google_adk(document: Document) -> Iterator[Found]:
    """Read a session, or the database of a `DatabaseSessionService`. What was rewound is left out."""
    if not document.tables:
        yield from _adk_session(document, document.value)
        return
    tables = {name: [{k: loaded(v) for k, v in row.items()} for row in rows] for name, rows in document.tables.items()}
    of_app = {row["app_name"]: row["state"] for row in tables.get("app_states", ())}
    of_user = {(row["app_name"], row["user_id"]): row["state"] for row in tables.get("user_states", ())}
    for row in tables["sessions"]:
        whose = row["app_name"], row["user_id"]
        own = [e for e in tables["events"] if (e["app_name"], e["user_id"], e["session_id"]) == (*whose, row["id"])]
        own.sort(key=lambda event: str(event.get("timestamp")))
        state = {
            **(row.get("state") or {}),
            **{f"app:{key}": value for key, value in (of_app.get(whose[0]) or {}).items()},
            **{f"user:{key}": value for key, value in (of_user.get(whose) or {}).items()},
        }
        events = [e["event_data"] if isinstance(e.get("event_data"), dict) else e for e in own]
        yield from _adk_session(document, {**row, "state": state, "events": events})


def _adk_session(document: Document, session: Json) -> Iterator[Found]:
    events = _not_rewound([event for event in session["events"] if isinstance(event, dict)])
    if len(events) < len(session["events"]):
        yield Skipped(
            f"{document.name}, session {session.get('id')}",
            f"{len(session['events']) - len(events)} events were rewound",
        )
    compactions = [member(event.get("actions") or {}, "compaction") for event in events]
    summaries = [
        "\n".join(str(part.get("text") or "") for part in (member(found, "compacted_content") or {}).get("parts") or [])
        for found in compactions
        if isinstance(found, dict)
    ]
    said = [one for event in events for one in _of_event(event)]
    state = session.get("state") or {}
    name = f"google-adk:{session.get('id')}"[:128]
    yield Talk(
        name, said, user=member(session, "user_id"), summaries=summaries, metadata={"state": state} if state else {}
    )


def _not_rewound(events: Sequence[Json]) -> list[Json]:
    kept: list[Json] = []
    for event in events:
        back_to = member(event.get("actions") or {}, "rewind_before_invocation_id")
        if back_to:
            places = [place for place, one in enumerate(kept) if member(one, "invocation_id") == back_to]
            kept = kept[: places[0]] if places else kept
        elif not event.get("partial"):
            kept.append(event)
    return kept


def _of_event(event: Json) -> Iterator[Said]:
    author, time, more = event.get("author"), time_of(event.get("timestamp")), ided(event.get("id"))
    turn = Turn()
    for part in (event.get("content") or {}).get("parts") or []:
        if (called := member(part, "function_call")) is not None:
            turn.calls.append(call(called.get("id"), called.get("name"), called.get("args")))
        elif (result := member(part, "function_response")) is not None:
            text, failed = _response_text(result.get("response"))
            turn.results.append(returned(result.get("id"), text, failed=failed))
        elif (media := member(part, "inline_data")) is not None:
            turn.parts.append(_adk_media(media, media.get("data")))
        elif (file := member(part, "file_data")) is not None:
            turn.parts.append(_adk_media(file, member(file, "file_uri")))
        elif part.get("thought"):
            turn.thoughts.append(str(part.get("text") or ""))
        elif part.get("text"):
            turn.parts.append(text_part(part["text"]))
    if turn == Turn():
        return
    if author in ("user", "system"):
        yield from turn.said(str(author), time, **more)
    else:
        yield from turn.said("assistant", time, **named(author), **more)


def _adk_media(media: Json, data: Any) -> Json:
    return media_part(str(member(media, "mime_type") or ""), str(data or ""), member(media, "display_name"))


def _response_text(response: Any) -> tuple[str, bool]:
    """Return what a tool gave back, without the object that ADK puts it in; and whether it failed."""
    if not isinstance(response, dict):
        return ("" if response is None else response if isinstance(response, str) else dumps(response)), False
    error = response.get("error_message") or response.get("error")
    failed = response.get("status") == "error" or error is not None
    bare = (
        error
        if failed and error is not None
        else response.get("result", response)
        if set(response) <= {"result", "status"}
        else response
    )
    return ("" if bare is None else bare if isinstance(bare, str) else dumps(bare)), failed


# --- LlamaIndex ------------------------------------------------------------------------------------------


def knows_llama_index(document: Document) -> bool:
    if any(_is_llama_table(rows) for rows in document.tables.values()):
        return True
    value = document.value
    if isinstance(value, dict):
        store = value.get("chat_store", value)
        return isinstance(store, dict) and isinstance(store.get("store"), dict)
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(m, dict) and isinstance(m.get("blocks"), list) for m in value)
    )


def _is_llama_table(rows: Sequence[Json]) -> bool:
    return bool(rows) and {"key", "role", "data", "status"} <= set(rows[0])


def llama_index(document: Document) -> Iterator[Found]:
    """Read a chat store, a memory buffer that has one, or the database of a SQL chat store."""
    lists: dict[Any, list[Json]] = {}
    for rows in document.tables.values():
        for row in rows if _is_llama_table(rows) else ():
            lists.setdefault(row["key"], []).append({**loaded(row["data"]), "id": row.get("id")})
    if not document.tables:
        value = document.value
        store = value.get("chat_store", value).get("store") if isinstance(value, dict) else {None: value}
        if not isinstance(store, dict):
            raise ValueError("the file has no list of messages")
        lists = {key: rows_of(messages, "messages") for key, messages in store.items() if messages}
    for key, messages in lists.items():
        said = [one for message in messages for one in _of_llama(message)]
        users = {(m.get("additional_kwargs") or {}).get("name") for m in messages if m.get("role") == "user"} - {None}
        name = f"llama-index:{key}"[:128] if key else None
        yield Talk(name, said, user=users.pop() if len(users) == 1 else None)


def _of_llama(message: Json) -> Iterator[Said]:
    role, kept = role_of(message.get("role")), message.get("additional_kwargs") or {}
    turn = Turn(calls=function_calls(kept.get("tool_calls")))
    blocks = message.get("blocks")
    if blocks is None:
        blocks = [{"block_type": "text", "text": message.get("content") or ""}]
    for block in blocks:
        match block.get("block_type"):
            case "text":
                turn.parts.append(text_part(block.get("text") or ""))
            case "thinking":
                turn.thoughts.append(str(block.get("content") or ""))
            case "tool_call":
                turn.calls.append(call(block.get("tool_call_id"), block.get("tool_name"), block.get("tool_kwargs")))
            case "image" | "audio" | "video" | "document" as kind:
                turn.parts.append(_llama_media(block, kind))
            case "cache_point" | "cached":
                continue
            case _:
                turn.parts.append(text_part(block))
    more = ided(message.get("id"))
    if role == "tool":
        text = content_of(turn.parts)
        failed = isinstance(text, str) and text.startswith("Encountered error:")
        yield returned(kept.get("tool_call_id"), text, failed=failed, **more), None
        return
    if role == "assistant":
        turn.parts = [part for part in turn.parts if part.get("text") != ""]
    yield from turn.said(role, None, **named(kept.get("name")), **more)


def _llama_media(block: Json, kind: str) -> Json:
    data = block.get(kind) or block.get("data") or block.get("url")
    form = str(block.get("image_mimetype") or block.get("document_mimetype") or f"{kind}/*")
    name = block.get("title") or block.get("path")
    return media_part(form, str(data), name) if data else text_part(f"[{kind}: {name}]")
