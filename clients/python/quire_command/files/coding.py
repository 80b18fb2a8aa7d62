"""Sessions of coding agents: Claude Code and Codex.

A line of a session names the one before it. A prompt that was asked again was taken back, with all that followed from
it; what a machine wrote in the user's role (summaries, command echoes, reminders, context) is no turn of a person.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from sys import intern
from typing import Any, NamedTuple

from quire_command.files.items import spoken_items
from quire_command.files.large import kept, only
from quire_command.files.reading import Document, beside
from quire_command.files.values import Found, Json, Said, Skipped, Talk, ided, rows_of, time_of, titled

_SPOKEN = ("user", "assistant")
_ECHOES = (
    "<command-name>", "<command-message>", "<local-command-stdout>", "<local-command-stderr>",
    "<local-command-caveat>", "<system-reminder>", "<bash-stdout>", "<user-memory-input>",
)  # fmt: skip


def _claude_lines(value: Any) -> Any:
    """Return a session's lines: those of its file, or of what Claude Code on the web answers."""
    return value["loglines"] if isinstance(value, dict) and "loglines" in value else value


def knows_claude_code(document: Document) -> bool:
    found = _claude_lines(document.value)
    lines = found if isinstance(found, list) else []
    if found is not document.value:
        return any(isinstance(line, dict) and isinstance(line.get("message"), dict) for line in lines)
    return any(
        isinstance(line, dict) and "sessionId" in line and ("uuid" in line or "message" in line) for line in lines
    )


def claude_code(document: Document) -> Iterator[Found]:
    """Read a session's lines: a conversation for each session, and one for each sub-agent."""
    lines = rows_of(_claude_lines(document.value), "lines")
    sessions: dict[str, list[int]] = {}
    has_messages = False
    name = next((str(line["sessionId"]) for line in lines if line.get("sessionId")), "")
    for place, line in enumerate(lines):
        name = str(line.get("sessionId") or name)
        sessions.setdefault(name, []).append(place)
        has_messages = has_messages or (line.get("type") in _SPOKEN and isinstance(line.get("message"), dict))
    if not has_messages:
        raise ValueError("the file has no lines with a user's or an assistant's `message`")
    for session, places in sessions.items():
        yield from _sessions(document, session, only(lines, places))


def _sessions(document: Document, session: str, lines: Sequence[Json]) -> Iterator[Found]:
    own: list[int] = []
    agents: dict[str, list[int]] = {}
    for place, line in enumerate(lines):
        agent = str(line.get("agentId") or "sub-agent") if line.get("isSidechain") else None
        (own if agent is None else agents.setdefault(agent, [])).append(place)
    main = only(lines, own)
    name = f"claude-code:{session}" if session else None
    turns = _turns(main, document)
    if turns.said:
        forks = [line["forkedFrom"] for line in main if isinstance(line.get("forkedFrom"), dict)]
        metadata = {"forked_from": f"claude-code:{forks[-1].get('sessionId')}"} if forks else {}
        yield Talk(name, turns.said, _title(main), summaries=list(_summaries(main)), metadata=metadata)
    yield from turns.left_out(document.name)
    for agent, places in agents.items():
        told = _turns(only(lines, places), document).said
        if told:
            about: Json = {"parent": name, "agent": agent}
            title = _described(document) or f"Sub-agent {agent}"
            yield Talk(f"{name or 'claude-code'}:agent-{agent}"[:128], told, title, metadata=about)


def _described(document: Document) -> str | None:
    """Return what a sub-agent was started for, which stands beside its file."""
    with suppress(ValueError, LookupError, TypeError):
        return titled(json.loads(beside(document, f"{document.stem}.meta.json") or "")["description"])
    return None


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


@dataclass(frozen=True, slots=True)
class _Turns:
    """Messages that were not taken back, in the order of the file."""

    said: Sequence[Said]
    taken_back: int
    machine: int
    """Messages that a machine wrote in somebody's role."""

    def left_out(self, name: str) -> Iterator[Skipped]:
        if self.taken_back:
            yield Skipped(name, f"{self.taken_back} messages were taken back by their person")
        if self.machine:
            yield Skipped(name, f"{self.machine} messages are a machine's: echoes of commands, reminders, summaries")


class _Line(NamedTuple):
    """The part of a line that tells whether it was taken back."""

    uuid: str
    before: str | None
    is_said: bool
    is_prompt: bool


def _turns(lines: Sequence[Json], document: Document) -> _Turns:
    facts: list[_Line] = []
    machine = 0
    for line in lines:
        is_said = _said(line) is not None
        machine += not is_said and line.get("type") in _SPOKEN and isinstance(line.get("message"), dict)
        facts.append(_Line(intern(str(line.get("uuid") or "")), _before(line), is_said, is_said and _is_prompt(line)))
    known = {fact.uuid: fact for fact in facts if fact.uuid}
    anchors = {uuid: _anchor(fact, known) for uuid, fact in known.items() if fact.is_prompt}
    newest = {anchor: uuid for uuid, anchor in anchors.items()}
    kept_places: list[int] = []
    gone: set[str] = set()
    count = 0
    seen: set[str] = set()
    for place, fact in enumerate(facts):
        if fact.uuid and fact.uuid in seen:
            continue
        seen.add(fact.uuid)
        anchor = anchors.get(fact.uuid)
        if fact.before in gone or (anchor is not None and newest[anchor] != fact.uuid):
            gone.add(fact.uuid)
            count += fact.is_said
        elif fact.is_said:
            kept_places.append(place)
    found = (_said(line, document) for line in only(lines, kept_places))
    return _Turns(kept(one for one in found if one is not None), count, machine)


def _before(line: Json) -> str | None:
    found = line.get("parentUuid") or line.get("logicalParentUuid")
    return intern(str(found)) if found else None


def _anchor(fact: _Line, known: Mapping[str, _Line]) -> str | None:
    """Return the turn that a prompt follows: lines between that nobody said are passed over."""
    passed: set[str] = set()
    before = fact.before
    while before is not None and before in known and before not in passed and not known[before].is_said:
        passed.add(before)
        before = known[before].before
    return before


def _is_prompt(line: Json) -> bool:
    if line.get("type") != "user":
        return False
    content = line["message"].get("content")
    parts = content if isinstance(content, list) else []
    return not any(isinstance(part, dict) and part.get("type") == "tool_result" for part in parts)


def _said(line: Json, document: Document | None = None) -> Said | None:
    """Return the message of a line; None for what no person, model or tool said.

    With its document, a result that stands in a file of its own is read from there.
    """
    attachment = line.get("attachment")
    fork = line.get("forkedFrom")
    own = fork.get("messageUuid") if isinstance(fork, dict) else None
    time, more = time_of(line.get("timestamp")), ided(own or line.get("uuid"))
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
    if document is not None and isinstance(content, list):
        content = [_restored(part, document, str(line.get("sessionId"))) for part in content]
    return {"role": message["role"], "content": content, **more}, time


_PERSISTED = re.compile(r"<persisted-output>\s.*?saved to: ([^\n]*[\\/])?([\w.-]+)", re.DOTALL)


def _restored(part: Any, document: Document, session: str) -> Any:
    """Return a tool's result with all of its output, of which the session has the beginning."""
    if not isinstance(part, dict) or part.get("type") != "tool_result":
        return part
    found = _PERSISTED.match(_text(part.get("content")))
    name = found[2] if found is not None else None
    whole = beside(document, f"{session}/tool-results/{name}", f"../tool-results/{name}") if name else None
    return part if whole is None else {**part, "content": whole}


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
    heads = (line.get("payload", line) for line in lines if line.get("type") in (None, "session_meta"))
    head: Json = next((one for one in heads if isinstance(one, dict) and isinstance(one.get("id"), str)), {})
    rollout = _Rollout()
    for place, line in enumerate(lines):
        rollout.read(place, line)
    rows = only(lines, rollout.items)
    told = spoken_items(
        (row.get("payload") if "payload" in row else row, time_of(row.get("timestamp"))) for row in rows
    )
    machine = 0

    def of_people_and_models() -> Iterator[Said]:
        nonlocal machine
        for one in told:
            if _is_context(one[0]):
                machine += 1
            else:
                yield one

    said = kept(of_people_and_models())
    if not said:
        raise ValueError("the file has no lines with items of a session")
    yield from (Skipped(document.name, f"{count} items were rolled back") for count in rollout.rolled_back)
    if machine:
        yield Skipped(document.name, f"{machine} messages are a machine's: instructions and context")
    name = f"codex:{head['id']}"[:128] if head else None
    yield Talk(name, said, summaries=[text for text in rollout.summaries if text], metadata=_codex_origin(head))


def _codex_origin(head: Json) -> Json:
    """Return which session a rollout was forked from, or whose sub-agent it is."""
    if isinstance(origin := head.get("forked_from_id"), str):
        return {"forked_from": f"codex:{origin}"}
    source = head.get("source")
    started = source.get("subagent") if isinstance(source, dict) else None
    if started is None:
        return {}
    spawn = started.get("thread_spawn") if isinstance(started, dict) else None
    about: Json = spawn if isinstance(spawn, dict) else {}
    agent = about.get("agent_nickname") or about.get("agent_role") or (started if isinstance(started, str) else "agent")
    parent = about.get("parent_thread_id")
    return {"agent": str(agent), **({"parent": f"codex:{parent}"} if parent else {})}


@dataclass(slots=True)
class _Rollout:
    """The places of the items that were not rolled back."""

    items: list[int] = field(default_factory=list)
    begun: list[int] = field(default_factory=list)
    """How many items stood before each turn, which begins with its person's message."""
    summaries: list[str] = field(default_factory=list)
    rolled_back: list[int] = field(default_factory=list)

    def read(self, place: int, line: Json) -> None:
        payload = line.get("payload") if "payload" in line else line
        if not isinstance(payload, dict):
            return
        kind = line.get("type")
        if kind == "compacted":
            self.summaries.append(str(payload.get("message") or ""))
        elif kind == "event_msg" and payload.get("type") == "thread_rolled_back":
            self._roll_back(int(payload.get("num_turns") or 0))
        elif kind in (None, "response_item", *_BARE):
            if payload.get("role") == "user" and not _is_context(payload):
                self.begun.append(len(self.items))
            self.items.append(place)

    def _roll_back(self, turns: int) -> None:
        before = len(self.items)
        if turns > 0:
            del self.items[self.begun[-turns] if turns <= len(self.begun) else 0 :]
            del self.begun[-turns:]
        self.rolled_back.append(before - len(self.items))


_BARE = ("message", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "reasoning")


def _is_context(message: Json) -> bool:
    return message["role"] == "user" and _text(message.get("content")).lstrip().startswith(_CONTEXT)
