"""Exports of memory services: Letta, Zep, Redis agent-memory-server, Hindsight, Graphiti, mem0 and CrewAI."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from quire_command.files.large import kept
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
    content_of,
    dumps,
    ided,
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

# --- Letta -----------------------------------------------------------------------------------------------


def knows_letta(document: Document) -> bool:
    value = document.value
    if isinstance(value, dict):
        return bool(_letta_agents(value)) or knows_letta_list(value.get("messages"))
    return knows_letta_list(value)


def _letta_agents(value: Any) -> list[Json]:
    """Return the agents of a file; older files hold one and nothing else."""
    if not isinstance(value, dict):
        return []
    is_one = "agent_type" in value and isinstance(value.get("messages"), list)
    found = [value] if is_one else value.get("agents")
    return found if isinstance(found, list) else []


def knows_letta_list(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(m, dict) and "message_type" in m for m in value)


def letta(document: Document) -> Iterator[Found]:
    """Read an agent file (`.af`), or the list of messages that the API answers, which begins with the newest."""
    value = document.value
    if agents := _letta_agents(value):
        blocks = {block.get("id"): block for block in value.get("blocks") or []}
        for agent in agents:
            yield from _agent(agent, blocks)
        return
    found = rows_of(value.get("messages", value) if isinstance(value, dict) else value, "messages")
    times = [str(message.get("date") or "") for message in found]
    ordered = found[::-1] if times[0] > times[-1] else found
    summaries = [str(m["summary"]) for m in found if m.get("message_type") == "summary_message" and m.get("summary")]
    yield Talk(None, kept(_listed(ordered)), summaries=summaries)


def _listed(found: Sequence[Json]) -> Iterator[Said]:
    for message in found:
        kind, time = message.get("message_type"), time_of(message.get("date"))
        more = {**named(message.get("name")), **ided(message.get("id"))}
        match kind:
            case "user_message" | "system_message":
                role, content = _unwrapped(str(kind).removesuffix("_message"), _content(message.get("content")))
                if role:
                    yield spoken(role, content, **more), time
            case "assistant_message":
                yield answered(_content(message.get("content")), (), **more), time
            case "tool_call_message" | "approval_request_message":
                calls = message.get("tool_calls") or [message.get("tool_call") or {}]
                made = [call(c["tool_call_id"], c["name"], c.get("arguments", "{}")) for c in calls]
                yield answered(None, made, **ided(message.get("id"))), time
            case "tool_return_message":
                for one in message.get("tool_returns") or [message]:
                    failed = one.get("status") == "error"
                    yield returned(one["tool_call_id"], one.get("tool_return"), failed=failed), time


def _content(content: Any) -> Any:
    if not isinstance(content, list):
        return content if isinstance(content, str) else "" if content is None else dumps(content)
    parts = []
    for part in content:
        source = part.get("source") or {}
        if part.get("type") in ("text", "omitted_text"):
            parts.append(text_part(part.get("text") or ""))
        elif part.get("type") == "image":
            parts.append(
                media_part(
                    str(source.get("media_type") or "image/*"), str(source.get("data") or source.get("url") or "")
                )
            )
        elif part.get("type") not in (
            "reasoning",
            "redacted_reasoning",
            "omitted_reasoning",
            "summarized_reasoning",
            "tool_call",
            "tool_return",
        ):
            parts.append(text_part(part))
    return content_of(parts)


def _unwrapped(role: str, content: Any) -> tuple[str, Any]:
    """Return who says what: older agents wrap it in an object. A login and a heartbeat are nobody's words ("")."""
    if isinstance(content, list):
        unwrapped = [_unwrapped(role, part["text"]) if part.get("type") == "text" else (role, part) for part in content]
        said = [text_part(found) if isinstance(found, str) else found for who, found in unwrapped if who]
        return (next((who for who, _ in unwrapped if who), ""), content_of(said)) if said else ("", "")
    try:
        found = json.loads(content) if isinstance(content, str) and content.startswith("{") else None
    except ValueError:
        found = None
    if not isinstance(found, dict) or not isinstance(found.get("type"), str):
        return role, content
    match found["type"]:
        case "user_message":
            return "user", str(found.get("message") or "")
        case "system_alert":
            return "system", str(found.get("message") or "")
        case "login" | "heartbeat":
            return "", ""
    return role, content


def _agent(agent: Json, blocks: Mapping[Any, Json]) -> Iterator[Found]:
    sent: set[str] = set()
    said = kept(one for message in agent.get("messages") or [] for one in _kept(message, sent))
    own = [blocks[name] for name in agent.get("block_ids") or [] if name in blocks] + (agent.get("memory_blocks") or [])
    own += agent.get("core_memory") or []
    held = [{"label": block.get("label"), "value": block.get("value")} for block in own if block.get("value")]
    users = {m.get("name") for m in agent.get("messages") or [] if m.get("role") == "user"} - {None}
    metadata = {"memory_blocks": held} if held else {}
    yield Talk(
        f"letta:{agent.get('name') or agent.get('id')}"[:128],
        said,
        titled(agent.get("description")),
        users.pop() if len(users) == 1 else None,
        metadata=metadata,
    )


def _kept(message: Json, sent: set[str]) -> Iterator[Said]:
    """Yield the messages of a stored one. What an agent sends by `send_message` is what it says."""
    role, time = str(message.get("role")), time_of(message.get("created_at"))
    more = {**named(message.get("name")), **ided(message.get("id"))}
    content = _content(message.get("content"))
    if role in ("tool", "function"):
        own = {"tool_call_id": message.get("tool_call_id"), "func_response": content}
        for found in message.get("tool_returns") or [{}]:
            one = {**own, **{name: value for name, value in found.items() if value is not None}}
            if one.get("tool_call_id") not in sent:
                text, failed = _packaged(one.get("func_response"))
                yield returned(one.get("tool_call_id"), text, failed=failed or one.get("status") == "error"), time
    elif role in ("assistant", "approval"):
        calls = [one for one in message.get("tool_calls") or [] if not _sends(one)]
        words = [w for w in (content, *map(_sent, filter(_sends, message.get("tool_calls") or []))) if w]
        sent |= {str(one.get("id")) for one in filter(_sends, message.get("tool_calls") or [])}
        made = [
            call(c.get("id"), (c.get("function") or {}).get("name"), (c.get("function") or {}).get("arguments"))
            for c in calls
        ]
        if words or made:
            yield answered(words[0] if len(words) == 1 else "\n".join(map(str, words)), made, **more), time
    else:
        who, text = _unwrapped(role_of(role), content)
        if who:
            yield spoken(who, text, **more), time


def _sends(one: Json) -> bool:
    return (one.get("function") or {}).get("name") == "send_message"


def _sent(one: Json) -> str:
    try:
        return str(json.loads(one["function"].get("arguments") or "{}").get("message") or "")
    except (ValueError, AttributeError):
        return ""


def _packaged(response: Any) -> tuple[Any, bool]:
    """Return a result without the object that older agents put it in; and whether it failed."""
    try:
        found = json.loads(response) if isinstance(response, str) and response.startswith("{") else None
    except ValueError:
        found = None
    if isinstance(found, dict) and {"status", "message", "time"} == set(found):
        return found["message"], found["status"] != "OK"
    return response, False


# --- Zep and Redis ---------------------------------------------------------------------------------------


def _items(value: Any) -> Any:
    if isinstance(value, dict):
        return next((value[name] for name in ("items", "messages") if isinstance(value.get(name), list)), None)
    return value


def knows_zep(document: Document) -> bool:
    found = _items(document.value)
    return isinstance(found, list) and any(
        isinstance(m, dict)
        and "uuid" in m
        and bool({"role_type", "thread_uuid", "processed", "reference_time"} & set(m))
        for m in found
    )


def zep(document: Document) -> Iterator[Found]:
    """Read the messages of a thread, a page or a list. They were said at their reference time, if they have one."""
    found = rows_of(_items(document.value), "messages")
    threads = {str(m["thread_uuid"]) for m in found if m.get("thread_uuid")}
    name = f"zep:{threads.pop()}"[:128] if len(threads) == 1 else None
    said: list[Said] = []
    for message in found:
        role = role_of(message.get("role_type") or message.get("role"))
        speaker = message.get("name") or (message.get("role") if message.get("role_type") else None)
        more = {
            **(named(speaker) if str(speaker).lower() not in ("user", "assistant", "system") else {}),
            **ided(message.get("uuid")),
        }
        time = time_of(message.get("reference_time") or message.get("created_at"))
        content = message.get("content") or ""
        said.append((returned("", content, **more) if role == "tool" else spoken(role, content, **more), time))
    yield Talk(name, said)


def knows_redis(document: Document) -> bool:
    value = document.value
    return (
        isinstance(value, dict)
        and "session_id" in value
        and isinstance(value.get("messages"), list)
        and bool({"memories", "context", "data"} & set(value))
    )


def redis(document: Document) -> Iterator[Found]:
    """Read a working memory: its messages, the summary of older ones (`context`), and its memories."""
    value = document.value if isinstance(document.value, dict) else {"messages": document.value}
    found = rows_of(value.get("messages"), "messages")
    said: list[Said] = []
    for message in found:
        role = role_of(message.get("role"))
        more, content = ided(message.get("id")), message.get("content")
        said.append(
            (
                returned(message.get("tool_call_id"), content, **more)
                if role == "tool"
                else spoken(role, content, **more),
                time_of(message.get("created_at")),
            )
        )
    context = value.get("context")
    session = value.get("session_id")
    yield Talk(
        f"redis:{session}"[:128] if session else None,
        said,
        user=value.get("user_id"),
        summaries=[context] if context else [],
    )
    for memory in value.get("memories") or []:
        yield _memory(memory, memory.get("text"), value.get("user_id"), ("topics", "entities", "namespace"))


# --- Hindsight -------------------------------------------------------------------------------------------


_HINDSIGHT_FACETS = ("context", "fact_type", "occurred_start", "occurred_end")


def _hindsight_facts(value: Any) -> list[Json]:
    """Return the facts of a page of the API, of a list of them, or of an exported document."""
    if isinstance(value, dict):
        value = value.get("items") or value.get("facts") or []
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def knows_hindsight(document: Document) -> bool:
    facts = _hindsight_facts(document.value)
    return bool(facts) and all("fact_type" in one and isinstance(one.get("text"), str) for one in facts)


def hindsight(document: Document) -> Iterator[Found]:
    """Read a bank's memories as the API lists them, or a document of an export. What was invalidated is left out."""
    facts = _hindsight_facts(document.value)
    if not facts:
        raise ValueError("the file has no list of memories")
    for number, fact in enumerate(facts, 1):
        place = f"{document.name}, memory {number}"
        if fact.get("state") == "invalidated":
            yield Skipped(place, f"it was invalidated: {fact.get('invalidation_reason') or 'no reason is given'}")
            continue
        entities = fact.get("entities") or []
        names = [name.strip() for name in entities.split(",")] if isinstance(entities, str) else entities
        about = {name: fact[name] for name in _HINDSIGHT_FACETS if fact.get(name)}
        times = (fact.get(name) for name in ("mentioned_at", "date", "event_date", "occurred_start"))
        whole = {
            **fact, "id": fact.get("id") or fact.get("source_id"), "names": names,
            "metadata": {**(fact.get("metadata") or {}), **about}, "created_at": next(filter(None, times), None),
        }  # fmt: skip
        yield _memory(whole, fact.get("text"), None, ("fact_type", "names", "tags"))
    total = document.value.get("total") if isinstance(document.value, dict) else None
    if isinstance(total, int) and total > len(facts):
        yield Skipped(document.name, f"it has {len(facts)} of {total} memories: list the rest with offset")


# --- Graphiti, and Zep's graphs -------------------------------------------------------------------------


def knows_graphiti(document: Document) -> bool:
    edges = _items(document.value)
    return (
        isinstance(edges, list) and bool(edges) and all({"uuid", "fact", "source_node_uuid"} <= set(e) for e in edges)
    )


def graphiti(document: Document) -> Iterator[Found]:
    """Read the edges of a graph, or a page of them: each is a fact, with the time in which it was true."""
    for edge in rows_of(_items(document.value), "edges"):
        start, end = (time_of(edge.get(name)) for name in ("valid_at", "invalid_at"))
        end = end or time_of(edge.get("expired_at"))
        if start and end and datetime.fromisoformat(end) <= datetime.fromisoformat(start):
            yield Skipped(f"edge {edge['uuid']}", "it ended before it began")
            continue
        about = {"source_node_uuid": edge["source_node_uuid"], "target_node_uuid": edge.get("target_node_uuid")}
        whole = {**edge, "id": edge["uuid"], "metadata": about}
        found = _memory(whole, edge["fact"], edge.get("user_uuid") or edge.get("group_id"), ("name",))
        true = {name: time for name, time in (("valid_from", start), ("valid_to", end)) if time}
        yield replace(found, more={**found.more, **true}) if isinstance(found, Memory) else found


# --- mem0 and CrewAI -------------------------------------------------------------------------------------

DEFAULT_ROWS = 20
"""Rows that mem0's `get_all` returns unless it is told otherwise."""


def knows_mem0(document: Document) -> bool:
    value = document.value.get("results") if isinstance(document.value, dict) else document.value
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(m, dict) and "memory" in m and "id" in m for m in value)
    )


def mem0(document: Document) -> Iterator[Found]:
    """Read what `get_all` returns."""
    value = document.value.get("results") if isinstance(document.value, Mapping) else document.value
    if not isinstance(value, list) or not all(isinstance(m, dict) and isinstance(m.get("id"), str) for m in value):
        raise ValueError("the file has no list of memories with ids")
    for memory in value:
        text = memory.get("memory")
        if not isinstance(text, str) or not text.strip():
            raise ValueError(f"the memory {memory['id'][:40]!r} has no text")
        yield _memory(memory, text, memory.get("user_id"), ("agent_id", "run_id", "actor_id", "categories"))
    if len(value) == DEFAULT_ROWS:
        yield Skipped(document.name, f"it has {DEFAULT_ROWS} rows, the default of get_all: pass top_k or limit for all")


def knows_crewai(document: Document) -> bool:
    value = document.value
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(m, dict) and {"id", "content", "scope", "importance"} <= set(m) for m in value)
    )


def crewai(document: Document) -> Iterator[Found]:
    """Read the records of CrewAI's memory. Scope, source and categories become keywords."""
    for memory in rows_of(document.value, "memories"):
        yield _memory(memory, memory.get("content"), None, ("scope", "source", "categories"))


def _memory(memory: Json, text: Any, user: Any, words: Sequence[str]) -> Memory | Skipped:
    """Return a memory of another service: a model wrote most of them, and none says that a person did."""
    if not isinstance(text, str) or not text.strip():
        return Skipped(f"memory {memory.get('id')}", "it has no text")
    named_by = (memory.get(name) for name in words)
    flat = [one for found in named_by if found for one in (found if isinstance(found, list) else [found])]
    own = memory.get("metadata")
    return Memory(
        str(memory.get("id") or text),
        text,
        own if isinstance(own, dict) else {},
        time_of(memory.get("created_at")),
        user if isinstance(user, str) and user else None,
        list(dict.fromkeys(str(one)[:100] for one in flat))[:20],
        time_of(memory.get("expiration_date") or memory.get("expires_at")),
        {"source": "import"},
    )
