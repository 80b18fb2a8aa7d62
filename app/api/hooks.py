"""Receive the events that the hooks of coding agents send."""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from app import errors
from app.api.http.answers import json_text
from app.api.http.body import RequestModel, is_large, json_body, parse_model, read_json, work_on
from app.api.http.callers import USER, Writer
from app.api.http.path_ids import check_ids
from app.api.http.runtime import runtime_of
from app.core.canonical import dumps
from app.core.edge.caller import Caller
from app.core.edge.deployment import Access
from app.core.edge.hooks import FORMATS, Event, plan
from app.recall.tools import MCP_TOOLS
from app.services.hooks import hear

router = APIRouter(prefix="/hooks", tags=["hooks"])

WARNING = "X-Quire-Warning"
SESSION_MAX = 100
OWN_TOOLS = frozenset(tool.name for tool in MCP_TOOLS)


class HookBody(RequestModel):
    """An event, as the agent sends it. Other fields are accepted and not used."""

    model_config = ConfigDict(extra="allow")

    session_id: str = Field(min_length=1, max_length=SESSION_MAX, description="names the conversation `{agent}:{id}`")
    hook_event_name: str = Field(
        min_length=1,
        max_length=100,
        description="`UserPromptSubmit` (with `prompt`), `PostToolUse` (`tool_name`, `tool_input`, `tool_response`,"
        " `tool_use_id`), `Stop` (`last_assistant_message`), `SessionStart` (`source`), `PreCompact`, `SessionEnd`;"
        " any other is answered with {}",
    )


class CursorHookBody(RequestModel):
    """An event, as Cursor sends it. Other fields are accepted and not used."""

    model_config = ConfigDict(extra="allow")

    conversation_id: str = Field(min_length=1, max_length=SESSION_MAX, description="names the conversation")
    hook_event_name: str = Field(
        min_length=1,
        max_length=100,
        description="`beforeSubmitPrompt` (with `prompt`), `postToolUse` (`tool_name`, `tool_input`, `tool_output`,"
        " `tool_use_id`), `postToolUseFailure` (`error_message`), `afterAgentResponse` (`text`); any other is answered"
        " with {}",
    )


class HookOutput(BaseModel):
    """Text for the model, in the agent's form."""

    hookEventName: str  # noqa: N815 - the agents' name
    additionalContext: str  # noqa: N815


class HookAnswer(BaseModel):
    """The agent's form of an answer; empty if there is nothing to say."""

    hookSpecificOutput: HookOutput | None = None  # noqa: N815
    additionalContext: str | None = None  # noqa: N815 - Copilot CLI's place for it


EXAMPLE = {"session_id": "5f1c", "hook_event_name": "UserPromptSubmit", "prompt": "Which tea did I like?"}


@router.post("/{agent}", response_model=HookAnswer, openapi_extra=json_body(HookBody, EXAMPLE))
async def hear_agent(request: Request, caller: Writer, agent: str) -> Response:
    """Store an event of a coding agent (`claude-code`, `codex`, `gemini-cli`, `copilot-cli` with its names in
    PascalCase, or `cursor`, which names its session `conversation_id`) and answer it.

    A prompt is answered with up to 600 tokens of memories that answer it, and the start of a session that was
    compacted or resumed with the head of its window; everything else, and whatever has no answer, with {}. Cursor's
    hooks take no text for the model, so its answer is always {}. If the event cannot be stored in time, the answer is
    {} and has the header X-Quire-Warning.
    """
    caller.require("read")
    known = next((one for one in FORMATS if one == agent), None)
    if known is None:
        raise errors.NotFound(f"There are hooks of {', '.join(FORMATS)}.")
    runtime = runtime_of(request)
    value = await read_json(request)
    session = FORMATS[known].session
    parse_model(CursorHookBody if known == "cursor" else HookBody, value)
    event = Event(known, value[session], value["hook_event_name"], value)
    check_ids("body", **{session: event.conversation_id}, agent_id=event.agent_id)
    user_id = _user_of(runtime.access, caller)
    decided = await work_on(request, partial(plan, own_tools=OWN_TOOLS), event)
    heard = await hear(runtime, caller, user_id, event, decided, is_large=is_large(request))
    return json_text(dumps(heard.answer), headers={WARNING: heard.warning} if heard.warning else None)


def _user_of(access: Access, caller: Caller) -> str:
    """Return the session's user, from the header, the key, or the settings. Raises Invalid if none names one."""
    user_id = caller.user_id or access.default_user(caller)
    if user_id is None:
        message = "is required, since neither the key nor QUIRE_DEFAULT_USER names a user"
        raise errors.Invalid.at(["header", USER], message)
    return user_id
