"""Items of OpenAI's Responses API, as the Agents SDK and Codex store them, as messages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from quire_command.files.large import kept
from quire_command.files.reading import Document
from quire_command.files.values import (
    Found,
    Json,
    Said,
    Skipped,
    Talk,
    answered,
    call,
    content_of,
    dumps,
    ided,
    media_part,
    named,
    returned,
    role_of,
    text_part,
    time_of,
)

FAILED = "An error occurred while running the tool"
"""What the Agents SDK tells the model of a tool that failed."""
_CALLS = {
    "function_call",
    "custom_tool_call",
    "local_shell_call",
    "shell_call",
    "apply_patch_call",
    "computer_call",
    "mcp_call",
    "tool_search_call",
}


def spoken_items(items: Iterable[tuple[Json, str | None]]) -> Iterator[Said]:
    """Yield the messages of items, each with its time. Reasoning goes with what follows; calls follow their text."""
    yield from _joined(_spoken(items))


def _spoken(items: Iterable[tuple[Json, str | None]]) -> Iterator[Said]:
    thought: list[str] = []
    for item, time in items:
        kind = str(item.get("type") or ("message" if "role" in item else ""))
        if kind == "reasoning":
            thought += [str(part.get("text") or "") for part in item.get("summary") or [] if isinstance(part, dict)]
        elif kind == "message":
            message = _message(item)
            if message["role"] == "assistant" and thought:
                message["reasoning_content"], thought = "\n".join(thought), []
            yield message, time
        elif kind in _CALLS:
            calls = [
                call(
                    item.get("call_id") or item.get("id"),
                    item.get("name") or kind.removesuffix("_call"),
                    _arguments(item),
                )
            ]
            yield answered(None, calls, "\n".join(thought), **ided(item.get("id"))), time
            thought = []
            if kind == "mcp_call" and item.get("output") is not None:
                yield returned(calls[0]["id"], item["output"], failed=bool(item.get("error"))), time
        elif kind.endswith("_output"):
            yield _result(item), time


def _joined(found: Iterator[Said]) -> Iterator[Said]:
    """Join calls that one answer makes: neighbours with nothing between them."""
    if (last := next(found, None)) is None:
        return
    for message, time in found:
        before = last[0]
        is_more = message.get("tool_calls") and not message.get("content") and before.get("role") == "assistant"
        if is_more and (before.get("tool_calls") or before.get("content")):
            before["tool_calls"] = [*before.get("tool_calls", ()), *message["tool_calls"]]
        else:
            yield last
            last = message, time
    yield last


def _message(item: Mapping[str, Any]) -> Json:
    content = item.get("content")
    said = content if isinstance(content, str) else content_of([_part(p) for p in content or [] if isinstance(p, dict)])
    return {"role": role_of(item.get("role")), "content": said, **named(item.get("name")), **ided(item.get("id"))}


def _part(part: Mapping[str, Any]) -> Json:
    match part.get("type"):
        case "input_text" | "output_text" | "text" | "summary_text":
            return text_part(str(part.get("text") or ""))
        case "refusal":
            return text_part(str(part.get("refusal") or ""))
        case "input_image" if isinstance(part.get("image_url"), str):
            return media_part("image/png", part["image_url"])
        case "input_image":
            return text_part(f"[image: {part.get('file_id') or 'without a name'}]")
        case "input_file" | "input_audio":
            return text_part(f"[file: {part.get('filename') or part.get('file_id') or part['type']}]")
    return text_part(dict(part))


def _arguments(item: Mapping[str, Any]) -> Any:
    if item.get("type") == "custom_tool_call":
        return dumps({"input": item.get("input")})
    return item.get("arguments") or item.get("action") or item.get("operation") or "{}"


def _result(item: Mapping[str, Any]) -> Json:
    output = item.get("output")
    if isinstance(output, dict):
        output = output.get("content") if isinstance(output.get("content"), str | list) else dumps(output)
    if isinstance(output, list):
        output = content_of([_part(part) for part in output if isinstance(part, dict)])
    failed = item.get("status") == "failed" or (isinstance(output, str) and output.startswith(FAILED))
    return returned(item.get("call_id"), output, failed=failed, **ided(item.get("id")))


# --- The Agents SDK --------------------------------------------------------------------------------------


def knows_items(document: Document) -> bool:
    if "message_data" in (document.tables.get("agent_messages") or [{}])[0]:
        return True
    found = document.value if isinstance(document.value, list) else []
    kinds = {one.get("type") for one in found if isinstance(one, dict)}
    return bool(kinds & {"function_call", "function_call_output"}) or _has_items(found)


def _has_items(found: Iterable[Any]) -> bool:
    contents = (one.get("content") for one in found if isinstance(one, dict) and one.get("role"))
    parts = (part for content in contents if isinstance(content, list) for part in content if isinstance(part, dict))
    return any(part.get("type") in ("input_text", "output_text") for part in parts)


def agents_sdk(document: Document) -> Iterator[Found]:
    """Read a session's items, or the database of SQLiteSession, SQLAlchemySession and AdvancedSQLiteSession."""
    rows = document.tables.get("agent_messages")
    if rows is None:
        items = document.value if isinstance(document.value, list) else (document.value or {}).get("items")
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            raise ValueError("the file has no list of items")
        yield Talk(None, kept(spoken_items((item, None) for item in items)))
        return
    places: dict[Any, list[Json]] = {}
    for place in document.tables.get("message_structure", ()):
        places.setdefault((place["session_id"], place["branch_id"]), []).append(place)
    for session in dict.fromkeys(row["session_id"] for row in rows):
        own = {row["id"]: row for row in rows if row["session_id"] == session}
        for number, data in ((key, row["message_data"]) for key, row in own.items()):
            with suppress(ValueError):
                _loaded(data)
                continue
            yield Skipped(f"{document.name}, message {number}", "it is not JSON")
        branches = {branch: found for (name, branch), found in places.items() if name == session}
        yield from _branches(str(session), own, branches)


def _branches(session: str, own: Mapping[Any, Json], branches: dict[str, list[Json]]) -> Iterator[Talk]:
    name = f"openai-agents:{session}"[:110]
    main = sorted(branches.pop("main"), key=lambda row: row["sequence_number"]) if "main" in branches else []
    order = [row["message_id"] for row in main] or list(own)
    yield Talk(name, kept(spoken_items(_rows(order, own))))
    for branch, places in branches.items():
        ids = [row["message_id"] for row in sorted(places, key=lambda row: row["sequence_number"])]
        shared = 0
        while shared < min(len(ids), len(order)) and ids[shared] == order[shared]:
            shared += 1
        before = sum(1 for _ in spoken_items(_rows(order[:shared], own)))
        told = kept(spoken_items(_rows(ids[shared:], own)))
        yield Talk(f"{name}:{branch}"[:128], told, branch, parent=name, shared=before)


def _rows(ids: Iterable[Any], own: Mapping[Any, Json]) -> Iterator[tuple[Json, str | None]]:
    for key in ids:
        with suppress(ValueError, KeyError):
            item = _loaded(own[key]["message_data"])
            yield {**item, "id": item.get("id") or key}, time_of(own[key].get("created_at"))


def _loaded(data: Any) -> Json:
    found = json.loads(data) if isinstance(data, str | bytes) else data
    if not isinstance(found, dict):
        raise ValueError("it is no object")  # noqa: TRY004 - of a file, not of an argument
    return found
