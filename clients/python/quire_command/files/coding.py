"""Sessions of coding agents: Claude Code and Codex.

A line of a session names the one before it. A prompt that was asked again was taken back, with all that followed from
it; what a machine wrote in the user's role (summaries, command echoes, reminders, context) is no turn of a person.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quire_command.files.items import spoken_items
from quire_command.files.reading import Document
from quire_command.files.values import Found, Json, Said, Skipped, Talk, ided, rows_of, time_of, titled

_SPOKEN = ("user", "assistant")
_ECHOES = (
    "<command-name>", "<command-message>", "<local-command-stdout>", "<local-command-stderr>",
    "<local-command-caveat>", "<system-reminder>", "<bash-stdout>", "<user-memory-input>",
)  # fmt: skip


def knows_claude_code(document: Document) -> bool:
    lines = document.value if isinstance(document.value, list) else []
    return any(
        isinstance(line, dict) and "sessionId" in line and ("uuid" in line or "message" in line) for line in lines
    )


def claude_code(document: Document) -> Iterator[Found]:
    """Read a session's JSON lines: a conversation for each session, and one for each sub-agent."""
    lines = rows_of(document.value, "lines")
    if not any(line.get("type") in _SPOKEN and isinstance(line.get("message"), dict) for line in lines):
        raise ValueError("the file has no lines with a user's or an assistant's `message`")
    sessions: dict[str, list[Json]] = {}
    name = next((str(line["sessionId"]) for line in lines if line.get("sessionId")), "")
    for line in lines:
        name = str(line.get("sessionId") or name)
        sessions.setdefault(name, []).append(line)
    for session, own in sessions.items():
        yield from _sessions(document, session, own)


def _sessions(document: Document, session: str, lines: Sequence[Json]) -> Iterator[Found]:
    main = [line for line in lines if not line.get("isSidechain")]
    name = f"claude-code:{session}" if session else None
    said, taken_back = _turns(main)
    if said:
        forks = [line["forkedFrom"] for line in main if isinstance(line.get("forkedFrom"), dict)]
        metadata = {"forked_from": f"claude-code:{forks[-1].get('sessionId')}"} if forks else {}
        yield Talk(name, said, _title(main), summaries=list(_summaries(main)), metadata=metadata)
    if taken_back:
        yield Skipped(document.name, f"{taken_back} messages were taken back by their person")
    agents: dict[str, list[Json]] = {}
    for line in lines:
        if line.get("isSidechain"):
            agents.setdefault(str(line.get("agentId") or "sub-agent"), []).append(line)
    for agent, own in agents.items():
        said, _ = _turns(own)
        if said:
            about: Json = {"parent": name, "agent": agent}
            yield Talk(f"{name or 'claude-code'}:agent-{agent}"[:128], said, f"Sub-agent {agent}", metadata=about)


def _title(lines: Sequence[Json]) -> str | None:
    for name in ("customTitle", "aiTitle", "summary"):
        found = [line[name] for line in lines if isinstance(line.get(name), str)]
        if found:
            return titled(found[-1])
    return None


def _summaries(lines: Sequence[Json]) -> Iterator[str]:
    for line in lines:
        if line.get("isCompactSummary") and isinstance(line.get("message"), dict):
            yield _text(line["message"].get("content"))


def _turns(lines: Sequence[Json]) -> tuple[list[Said], int]:
    """Return what was said and not taken back, in the order of the file; and how many messages were taken back."""
    known = {str(line["uuid"]): line for line in lines if line.get("uuid")}
    anchors: dict[str, str | None] = {}
    newest: dict[str | None, str] = {}
    for uuid, line in known.items():
        if _is_prompt(line):
            anchors[uuid] = _anchor(line, known)
            newest[anchors[uuid]] = uuid
    said: list[Said] = []
    gone: set[str] = set()
    count = 0
    seen: set[str] = set()
    for line in lines:
        uuid = str(line.get("uuid") or "")
        if uuid and uuid in seen:
            continue
        seen.add(uuid)
        anchor = anchors.get(uuid)
        if _before(line) in gone or (anchor is not None and newest[anchor] != uuid):
            gone.add(uuid)
            count += bool(_said(line))
        elif found := _said(line):
            said.append(found)
    return said, count


def _before(line: Json) -> str | None:
    found = line.get("parentUuid") or line.get("logicalParentUuid")
    return str(found) if found else None


def _anchor(line: Json, known: Mapping[str, Json]) -> str | None:
    """Return the turn that a prompt follows: lines between that nobody said are passed over."""
    passed: set[str] = set()
    before = _before(line)
    while before is not None and before in known and before not in passed and _said(known[before]) is None:
        passed.add(before)
        before = _before(known[before])
    return before


def _is_prompt(line: Json) -> bool:
    if line.get("type") != "user" or _said(line) is None:
        return False
    content = line["message"].get("content")
    parts = content if isinstance(content, list) else []
    return not any(isinstance(part, dict) and part.get("type") == "tool_result" for part in parts)


def _said(line: Json) -> Said | None:
    """Return the message of a line; None for what no person, model or tool said."""
    attachment = line.get("attachment")
    time, more = time_of(line.get("timestamp")), ided(line.get("uuid"))
    if line.get("type") == "attachment" and isinstance(attachment, dict):
        prompt = attachment.get("prompt")
        if (
            attachment.get("type") != "queued_command"
            or not prompt
            or attachment.get("commandMode") not in (None, "prompt")
        ):
            return None
        return {"role": "user", "content": prompt, **more}, time
    message = line.get("message")
    is_spoken = line.get("type") in _SPOKEN and isinstance(message, dict)
    if not is_spoken or line.get("isMeta") or line.get("isCompactSummary"):
        return None
    assert isinstance(message, dict)
    content = message.get("content")
    if content in (None, "", []) or message.get("role") not in _SPOKEN:
        return None
    if message["role"] == "user" and _text(content).lstrip().startswith(_ECHOES):
        return None
    return {"role": message["role"], "content": content, **more}, time


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part.get("text") or "") for part in parts if isinstance(part, dict))


# --- Codex -----------------------------------------------------------------------------------------------

_CONTEXT = ("<environment_context>", "<user_instructions>", "<turn_aborted>", "# AGENTS.md instructions", "<skill>")


def knows_codex(document: Document) -> bool:
    lines = document.value if isinstance(document.value, list) else []
    return any(isinstance(line, dict) and line.get("type") in ("session_meta", "response_item") for line in lines)


def codex(document: Document) -> Iterator[Found]:
    """Read a rollout's JSON lines: the items of the session, without its events and its encrypted reasoning."""
    lines = rows_of(document.value, "lines")
    heads = [line.get("payload", line) for line in lines if line.get("type") in (None, "session_meta")]
    session = next((head["id"] for head in heads if isinstance(head, dict) and isinstance(head.get("id"), str)), None)
    items: list[tuple[Json, str | None]] = []
    summaries: list[str] = []
    for line in lines:
        payload = line.get("payload") if "payload" in line else line
        kind = payload.get("type") if isinstance(payload, dict) else None
        if line.get("type") == "compacted" and isinstance(payload, dict):
            summaries.append(str(payload.get("message") or ""))
        elif line.get("type") == "event_msg" and isinstance(payload, dict) and kind == "thread_rolled_back":
            count = int(payload.get("num_turns") or 0)
            before = len(items)
            items = _rolled_back(items, count)
            yield Skipped(document.name, f"{before - len(items)} items were rolled back")
        elif line.get("type") in (None, "response_item", *_BARE) and isinstance(payload, dict):
            items.append((payload, time_of(line.get("timestamp"))))
    said = [one for one in spoken_items(items) if not _is_context(one[0])]
    if not said:
        raise ValueError("the file has no lines with items of a session")
    name = f"codex:{session}"[:128] if session else None
    yield Talk(name, said, summaries=[text for text in summaries if text])


_BARE = ("message", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "reasoning")


def _rolled_back(items: list[tuple[Json, str | None]], turns: int) -> list[tuple[Json, str | None]]:
    """Return the items before the last so many turns; a turn begins with its person's message."""
    begun = [
        place
        for place, (item, _) in enumerate(items)
        if item.get("role") == "user" and not _is_context({"role": "user", "content": item.get("content")})
    ]
    return items[: begun[-turns]] if 0 < turns <= len(begun) else items if turns <= 0 else []


def _is_context(message: Json) -> bool:
    return message["role"] == "user" and _text(message.get("content")).lstrip().startswith(_CONTEXT)
