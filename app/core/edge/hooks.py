"""Hooks: events that coding agents send about their sessions, and the answers to them.

Each event becomes a plan: the messages to store and the kind of answer. A session is the conversation ``{agent}:{id}``.
A named sub-agent has its own, ``{agent}:{id}:{agent_id}``, separate from its parent's.

Two events are the same if their session, kind, content and ids (of tool call, prompt and turn) are equal. An event with
an id is stored once. A user can say the same thing again ("continue"), so an event without an id counts as a repetition
only if it equals the last stored one. Client ids of messages carry this: the database stores each at most once, even if
two equal events arrive together.

Calls of Quire's own tools are never stored. The texts of its answers do not come back in events.

Events and fields have the names of Claude Code and Codex; FORMATS says how other agents differ.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, Literal

from app.core.canonical import dumps
from app.core.messages import NAME_MAX, NOT_IN_IDS
from app.errors import Invalid

Agent = Literal["claude-code", "codex", "cursor", "gemini-cli", "copilot-cli"]
Reply = Literal["recall", "head"]
"""Bring in memories that answer the prompt; or the head of the conversation's window."""

OWN_TOOLS = ("mcp__quire__", "mcp_quire_", "quire-")
"""How agents name the tools of an MCP server called quire, as `quire connect` calls it."""
NO_SERVER = "MCP:"
"""How Cursor names the tools of any MCP server."""
IDS = ("tool_use_id", "prompt_id", "turn_id")
ANSWER_TOKENS_MAX = 600
"""Tokens of the answer to a prompt."""
FRAME_TOKENS_MAX = 60
"""Of them for the frame around the memories, in either language."""
HEAD_TOKENS_MAX = 2000
"""Tokens of the answer to a session's start."""
HEAD_BUDGETS = (16_000, 8_000, 4_000, 2_000)
"""Budgets of the windows whose head can be the answer; the first that has one is taken. A head takes a tenth."""
QUERY_CHARACTERS_MAX = 10_000
"""Of a prompt, for the search."""
FAILED = "Error: "


@dataclass(frozen=True, slots=True)
class HookFormat:
    session: str = "session_id"
    events: Mapping[str, str] = field(default_factory=dict)
    """Names of its events to ours."""
    fields: Mapping[str, str] = field(default_factory=dict)
    """Our names of fields to its own."""
    result: str | None = None
    """The member of a tool's result that holds what the model is shown."""
    answers: Literal["nested", "flat"] | None = "nested"
    """Where it reads text for the model; None: it reads none."""


FORMATS: Mapping[Agent, HookFormat] = {
    agent: HookFormat(**members)
    for agent, members in json.loads(files("app.core.edge").joinpath("hooks.json").read_text("utf-8")).items()
}


@dataclass(frozen=True, slots=True)
class Event:
    """An event of an agent. ``data`` is everything that it sent."""

    agent: Agent
    session_id: str
    name: str
    data: Mapping[str, Any]

    @property
    def conversation_id(self) -> str:
        return f"{self.agent}:{self.session_id}"

    @property
    def agent_id(self) -> str | None:
        """Return the event's sub-agent, if that has a conversation of its own."""
        given = self.data.get("agent_id")
        return given if isinstance(given, str) and given.strip() else None

    @property
    def format(self) -> HookFormat:
        return FORMATS[self.agent]

    @property
    def kind(self) -> str:
        """The event's name in Claude Code's terms."""
        return self.format.events.get(self.name, self.name)

    def own(self, field: str) -> str:
        """Return the agent's name of a field."""
        return self.format.fields.get(field, field)

    def get(self, field: str) -> Any:
        return self.data.get(self.own(field))


@dataclass(frozen=True, slots=True)
class HookPlan:
    is_known: bool = True
    """Whether the event is one that concerns Quire; of others nothing is looked at."""
    messages: tuple[Mapping[str, Any], ...] = ()
    """In OpenAI form, without client ids; stored together or not at all."""
    digest: str = ""
    """Equal for equal events."""
    has_id: bool = False
    """Whether the agent gave the event an id, so that an equal one is the same one."""
    reply: Reply | None = None
    query: str = ""


def plan(event: Event, own_tools: Collection[str] = ()) -> HookPlan:
    """Decide what to store of an event and how to answer it. Raises Invalid, which names the field.

    ``own_tools``: names of Quire's tools, for agents that do not tell which server a tool belongs to.
    """
    match event.kind:
        case "UserPromptSubmit":
            return _of_prompt(event)
        case "PostToolUse" | "PostToolUseFailure":
            return _of_tool(event, own_tools)
        case "Stop":
            return _of_stop(event)
        case "SessionStart":
            goes_on = event.data.get("source") in ("compact", "resume") and event.format.answers is not None
            return HookPlan(reply="head" if goes_on else None)
        case "PreCompact" | "SessionEnd":
            return HookPlan()
        case _:
            return HookPlan(is_known=False)


def _of_prompt(event: Event) -> HookPlan:
    prompt = _text(event, "prompt")
    if not prompt.strip():
        return HookPlan()
    said: list[dict[str, Any]] = [{"role": "user", "content": prompt}]
    if event.format.answers is None:
        return _storing(event, said, prompt)
    return _storing(event, said, prompt, reply="recall", query=prompt[:QUERY_CHARACTERS_MAX])


def _of_stop(event: Event) -> HookPlan:
    """Plan to store the agent's answer; Copilot CLI and older versions of others do not send it."""
    if event.get("last_assistant_message") is None:
        return HookPlan()
    said = _text(event, "last_assistant_message")
    return _storing(event, [{"role": "assistant", "content": said}], said) if said.strip() else HookPlan()


def _of_tool(event: Event, own_tools: Collection[str]) -> HookPlan:
    name = _name(event, "tool_name")
    member = "error" if event.kind == "PostToolUseFailure" else "tool_response"
    if event.own(member) not in event.data:
        raise Invalid.at(["body", event.own(member)], "is required")
    if name.startswith(OWN_TOOLS) or (name.startswith(NO_SERVER) and name.removeprefix(NO_SERVER) in own_tools):
        return HookPlan()
    given, came = event.get("tool_input"), event.get(member)
    if isinstance(came, dict) and came.get("error") is not None and event.format.result is not None:
        member, came = "error", came["error"]
    shown = came.get(event.format.result, came) if isinstance(came, dict) and event.format.result else came
    result = _result(shown)
    if member == "error":
        result = f"{FAILED}{result}"
    arguments = dumps(given if isinstance(given, dict) else {} if given is None else {"input": given})
    content = [name, arguments, came]
    call_id = _name(event, "tool_use_id") if "tool_use_id" in event.data else f"call_{_digest(content)}"
    call = {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
    pair: list[dict[str, Any]] = [
        {"role": "assistant", "content": _by(event), "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call_id, "content": result},
    ]
    return _storing(event, pair, content)


def _by(event: Event) -> str | None:
    """Return the sub-agent that made a call, if its conversation does not show it."""
    names = (event.data.get(name) for name in ("agent_type", "subagent_type"))
    name = next((name for name in names if isinstance(name, str) and name.strip()), None)
    return f"[sub-agent: {name[:NAME_MAX]}]" if name is not None and event.agent_id is None else None


def _storing(
    event: Event, messages: Sequence[Mapping[str, Any]], content: object, *, reply: Reply | None = None, query: str = ""
) -> HookPlan:
    ids = [found if isinstance(found := event.get(name), str) else None for name in IDS]
    return HookPlan(
        messages=tuple(messages), digest=_digest([event.kind, content, ids]), has_id=any(ids), reply=reply,
        query=query,
    )  # fmt: skip


def named(plan: HookPlan, newest_client_id: str | None, last_seq: int) -> list[dict[str, Any]]:
    """Return the messages to store with their client ids; none if the event was the last one stored.

    ``newest_client_id`` and ``last_seq`` are those of the conversation's newest message; 0 if there is none.
    """
    stem = f"hook-{plan.digest}-"
    if plan.has_id:
        stem += "once"
    elif newest_client_id is not None and newest_client_id.startswith(stem):
        return []
    else:
        stem += str(last_seq + 1)
    return [{**message, "client_id": f"{stem}-{n}"} for n, message in enumerate(plan.messages)]


def answer(event: Event, text: str | None, tokens: int) -> dict[str, Any]:
    """Return the answer in the agent's form; empty if there is no text or it exceeds the event's limit."""
    most = HEAD_TOKENS_MAX if event.kind == "SessionStart" else ANSWER_TOKENS_MAX
    if not text or tokens > most:
        return {}
    if event.format.answers == "flat":
        return {"additionalContext": text}
    return {"hookSpecificOutput": {"hookEventName": event.name, "additionalContext": text}}


def _digest(value: object) -> str:
    return hashlib.sha256(dumps(value).encode()).hexdigest()[:32]


def _text(event: Event, field: str) -> str:
    own = event.own(field)
    if own not in event.data:
        raise Invalid.at(["body", own], "is required")
    value = event.data[own]
    if not isinstance(value, str):
        raise Invalid.at(["body", own], "must be a string")
    return value


def _name(event: Event, field: str) -> str:
    value = _text(event, field)
    if not 0 < len(value) <= NAME_MAX or NOT_IN_IDS.search(value):
        raise Invalid.at(["body", event.own(field)], f"must have 1 to {NAME_MAX} characters and no control characters")
    return value


def _result(response: object) -> str:
    if isinstance(response, str):
        return response
    named = _without_files(response)
    if isinstance(named, list) and named and all(isinstance(part, str) or _is_text(part) for part in named):
        return "\n".join(part if isinstance(part, str) else part["text"] for part in named)
    return dumps(named)


def _without_files(value: object) -> Any:
    if isinstance(value, list):
        return [_without_files(one) for one in value]
    if not isinstance(value, Mapping):
        return value
    for name in _FILE_MEMBERS:
        data = value.get(name)
        if isinstance(data, str) and len(data) > _SHORT_DATA and _BASE64.fullmatch(data):
            kinds = (value.get(kind) for kind in ("mimeType", "media_type", "mime_type", "type"))
            kind = next((kind for kind in kinds if isinstance(kind, str)), "file")
            return f"[{kind}, {len(data) * 3 // 4} bytes]"
    return {name: _without_files(one) for name, one in value.items()}


_FILE_MEMBERS = ("data", "base64", "blob")
_SHORT_DATA = 64
"""Characters up to which such a member is kept: it costs little, and can be a word."""
_BASE64 = re.compile(r"[A-Za-z0-9+/_\s-]+={0,2}\s*")


def _is_text(part: object) -> bool:
    return isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)
