"""Stores of Microsoft's frameworks: Agent Framework, Semantic Kernel and AutoGen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from quire_command.files.reading import Document
from quire_command.files.values import (
    Found,
    Json,
    Said,
    Talk,
    Turn,
    answered,
    call,
    content_of,
    dumps,
    ided,
    image_kind,
    is_list_of,
    media_part,
    named,
    returned,
    role_of,
    rows_of,
    spoken,
    text_part,
    time_of,
)

# --- Agent Framework -------------------------------------------------------------------------------------


def knows_agent_framework(document: Document) -> bool:
    return next(_lists(document.value), None) is not None


def agent_framework(document: Document) -> Iterator[Found]:
    """Read a session, or the JSON lines of a file that keeps one. What was left out of view was said all the same."""
    found = list(_lists(document.value))
    if not found:
        raise ValueError("the file has no session with messages")
    session = document.value.get("session_id") if isinstance(document.value, dict) else None
    for provider, messages in found:
        name = session if isinstance(session, str) else document.stem
        more = f":{provider}" if len(found) > 1 else ""
        summaries = [_agent_text(m) for m in messages if _is_summary(m)]
        said = [one for m in messages if not _is_summary(m) for one in _of_agent(m)]
        users = {m.get("author_name") for m in messages if m.get("role") == "user" and m.get("author_name")}
        user = users.pop() if len(users) == 1 else None
        yield Talk(f"agent-framework:{name}{more}"[:128], said, user=user, summaries=summaries)


def _lists(value: Any) -> Iterator[tuple[str, list[Json]]]:
    """Yield the lists of messages in a session's state, by the provider that keeps them."""
    if isinstance(value, list):
        if is_list_of(value, "role", "contents"):
            yield "", value
        return
    state = value.get("state") or value if isinstance(value, dict) else {}
    for provider, kept in state.items() if isinstance(state, dict) else ():
        messages = kept.get("messages") if isinstance(kept, dict) else kept if provider == "messages" else None
        if isinstance(messages, list):
            yield from ((str(provider), one) for _, one in _lists(messages))


def _group(message: Json) -> Json:
    found = (message.get("additional_properties") or {}).get("_group")
    return found if isinstance(found, dict) else {}


def _is_summary(message: Json) -> bool:
    return "_summary_of_message_ids" in _group(message)


def _agent_text(message: Json) -> str:
    return "\n".join(str(part.get("text") or "") for part in message["contents"] if part.get("type") == "text")


def _of_agent(message: Json) -> Iterator[Said]:
    role = role_of(message["role"]["value"] if isinstance(message["role"], dict) else message["role"])
    more = {**named(message.get("author_name")), **ided(message.get("message_id"))}
    time = time_of(message.get("created_at"))
    turn = Turn()
    for part in message["contents"]:
        match part.get("type"):
            case "function_call":
                turn.calls.append(call(part.get("call_id"), part.get("name"), part.get("arguments")))
            case "function_result":
                failed = bool(part.get("exception"))
                turn.results.append(returned(part.get("call_id"), part.get("result"), failed=failed))
            case "text_reasoning":
                turn.thoughts.append(str(part.get("text") or ""))
            case "text":
                turn.parts.append(text_part(part.get("text") or ""))
            case "data" | "uri":
                turn.parts.append(media_part(str(part.get("media_type") or ""), str(part.get("uri") or "")))
            case "usage" | "function_approval_request" | "function_approval_response":
                continue
            case _:
                turn.parts.append(text_part(part))
    yield from turn.said(role, time, **more)


# --- Semantic Kernel -------------------------------------------------------------------------------------


def knows_semantic_kernel(document: Document) -> bool:
    found = document.value.get("messages") if isinstance(document.value, dict) else document.value
    return isinstance(found, list) and any(
        isinstance(m, dict) and isinstance(m.get("items"), list) and "role" in m for m in found
    )


def semantic_kernel(document: Document) -> Iterator[Found]:
    """Read a `ChatHistory` as it serialises itself."""
    value = document.value
    found = rows_of(value.get("messages", value) if isinstance(value, dict) else value, "messages")
    users = {m.get("name") for m in found if m.get("role") == "user" and m.get("name")}
    yield Talk(None, [one for m in found for one in _of_kernel(m)], user=users.pop() if len(users) == 1 else None)


def _of_kernel(message: Json) -> Iterator[Said]:
    role, more = role_of(message.get("role")), named(message.get("name"))
    time = time_of((message.get("metadata") or {}).get("created_at"))
    turn = Turn()
    for item in message["items"]:
        match item.get("content_type"):
            case "function_call":
                name = item.get("name") or item.get("function_name")
                turn.calls.append(call(item.get("id"), name, item.get("arguments")))
            case "function_result":
                failed = bool((item.get("metadata") or {}).get("exception"))
                turn.results.append(returned(item.get("id") or item.get("call_id"), item.get("result"), failed=failed))
            case "reasoning":
                turn.thoughts.append(str(item.get("text") or ""))
            case "text" | "streaming_text":
                turn.parts.append(text_part(item.get("text") or ""))
            case "image" | "audio" | "binary" | "file_reference" as kind:
                turn.parts.append(_kernel_media(item, kind))
            case _:
                turn.parts.append(text_part(item.get("text") or item))
    yield from turn.said(role, time, **more)


def _kernel_media(item: Json, kind: str) -> Json:
    uri = str(item.get("data_uri") or item.get("uri") or item.get("file_id") or "")
    form = uri[5:].split(";", maxsplit=1)[0] if uri.startswith("data:") else f"{kind}/*"
    return media_part(form, uri) if uri else text_part(f"[{kind}]")


# --- AutoGen ---------------------------------------------------------------------------------------------


def knows_autogen(document: Document) -> bool:
    value = document.value if isinstance(document.value, dict) else {}
    return "llm_context" in value or "agent_states" in value or "message_thread" in value


def autogen(document: Document) -> Iterator[Found]:
    """Read the state of an agent or a team."""
    states = _states(document.value)
    if not states:
        raise ValueError("the file has no state with messages")
    thread = next(
        (s["message_thread"] for s in states if isinstance(s.get("message_thread"), list) and s["message_thread"]), None
    )
    contexts = [
        (s["llm_context"] or {}).get("messages") or [] for s in states if isinstance(s.get("llm_context"), dict)
    ]
    longest: list[Json] = max(contexts, key=len, default=[])
    said = list(_of_team(thread, contexts)) if thread else [one for m in longest for one in _of_context(m)]
    assistants = {m.get("source") for context in contexts for m in context if m.get("type") == "AssistantMessage"}
    users = {m.get("source") for m in longest if m.get("type") == "UserMessage"} - assistants - {None}
    yield Talk(None, said, user=users.pop() if len(users) == 1 else None)


def _states(value: Any) -> list[Json]:
    """Return a state and all within it."""
    if not isinstance(value, dict):
        return []
    inner = [*(value.get("agent_states") or {}).values(), value.get("agent_state")]
    return [value, *(one for state in inner for one in _states(state))]


def _of_context(message: Json) -> Iterator[Said]:
    more = named(message.get("source"))
    content = message.get("content")
    match message.get("type"):
        case "SystemMessage":
            yield spoken("system", content), None
        case "UserMessage":
            yield spoken("user", _said(content), **more), None
        case "AssistantMessage" if isinstance(content, list):
            calls = [call(one.get("id"), one.get("name"), one.get("arguments")) for one in content]
            yield answered(message.get("thought") or None, calls, **more), None
        case "AssistantMessage":
            yield answered(content, (), str(message.get("thought") or ""), **more), None
        case "FunctionExecutionResultMessage":
            for result in content if isinstance(content, list) else ():
                yield returned(result.get("call_id"), result.get("content"), failed=bool(result.get("is_error"))), None


def _said(content: Any) -> Any:
    if isinstance(content, str):
        return content
    parts = [
        text_part(part) if isinstance(part, str) else media_part(image_kind(part["data"]), part["data"])
        for part in content or []
        if isinstance(part, str) or (isinstance(part, dict) and isinstance(part.get("data"), str))
    ]
    return content_of(parts)


def _of_team(thread: Iterable[Json], contexts: Iterable[Iterable[Json]]) -> Iterator[Said]:
    """Yield what a team said, in the order of its thread, and what stands in an agent's own context alone."""
    agents = {m.get("source") for context in contexts for m in context if m.get("type") == "AssistantMessage"}
    spoken_texts = {dumps(message.get("content")) for message in thread}
    notes = [_notes(context, spoken_texts) for context in contexts]
    placed = {key: system for note in notes for key, system in note}
    thought: str | None = None
    for message in thread:
        content, source, time = message.get("content"), message.get("source"), time_of(message.get("created_at"))
        more = {**named(source), **ided(message.get("id"))}
        for system in placed.pop(dumps(content), ()):
            yield spoken("system", system), None
        match message.get("type"):
            case "ThoughtEvent":
                thought = str(content or "")
                continue
            case "ToolCallRequestEvent":
                calls = [call(one.get("id"), one.get("name"), one.get("arguments")) for one in content or []]
                yield answered(thought, calls, **more), time
            case "ToolCallExecutionEvent":
                for result in content or []:
                    yield (
                        returned(result.get("call_id"), result.get("content"), failed=bool(result.get("is_error"))),
                        time,
                    )
            case "TextMessage" | "MultiModalMessage" | "StopMessage" | "ToolCallSummaryMessage" | "StructuredMessage":
                yield (spoken("assistant" if source in agents else "user", _said(content), **more)), time
        thought = None


def _notes(context: Iterable[Json], texts: set[str]) -> list[tuple[str, list[Any]]]:
    """Return an agent's system messages by the content of the message of the thread that follows them."""
    found: list[tuple[str, list[Any]]] = []
    waiting: list[Any] = []
    for message in context:
        key = dumps(message.get("content"))
        if message.get("type") == "SystemMessage":
            waiting.append(message.get("content"))
        elif waiting and key in texts:
            found.append((key, waiting))
            waiting = []
    return found
