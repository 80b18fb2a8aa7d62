"""A capability of pydantic-ai: the model sees Quire's window; the run's own history stays as it is.

    memory = QuireMemory(AsyncQuire(), conversation="tea", user_id="me", budget=8000)
    agent = Agent(model, capabilities=[memory], tools=await memory.tools())
    result = await agent.run("Which tea?")
    await agent.run("And from where?", message_history=result.all_messages())

What is new in the history is stored before each model call and after the run. Without ``message_history`` a run says
only what is new, and the window still has the whole conversation. Instructions are sent beside the window.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.run import AgentRunResult
from pydantic_ai.tools import RunContext, Tool

from quire_client.client import AsyncQuire, Recall
from quire_client.shapes import Json, mark_of_file

FAILED = ("failed", "retried")
"""Outcomes of a tool's call that a model is to see as errors."""
UNREAD = ("author", "is_error")
"""Members of a message that windows of OpenAI's form have not; of an error they say ``ERROR`` before its text."""
ERROR = "Error: "


class QuireMemory(AbstractCapability[Any]):
    """The memory of one conversation. ``budget`` are tokens, everything included; with ``recall="off"`` no memories
    come in by themselves.
    """

    def __init__(
        self,
        quire: AsyncQuire,
        *,
        conversation: str,
        user_id: str,
        budget: int | None = None,
        recall: Recall | None = None,
    ) -> None:
        self._quire, self._conversation, self._user_id = quire, conversation, user_id
        self._budget, self._automatic = budget, recall
        self._stored = 0
        """Messages of the current run that are stored, where it began without a history."""

    async def for_run(self, ctx: RunContext[Any]) -> QuireMemory:  # noqa: ARG002 - pydantic-ai's
        made = copy(self)
        made._stored = 0  # noqa: SLF001 - its own
        return made

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Store what is new, and let the model see the window."""
        own = list(ctx.messages) or list(request_context.messages)
        await self._keep(ctx.run_id, own)
        window = await self._quire.context(self._conversation, budget=self._budget, recall=self._automatic)
        request_context.messages = _window(window.messages, request_context.messages)
        return request_context

    async def after_run(self, ctx: RunContext[Any], *, result: AgentRunResult[Any]) -> AgentRunResult[Any]:
        """Store the run's last answer."""
        await self._keep(ctx.run_id, result.all_messages())
        return result

    async def _keep(self, run_id: str | None, messages: Sequence[ModelMessage]) -> None:
        """Store what is new: of a whole history by comparing it, of a run without one by counting."""
        listed = [one for message in messages for one in _sent(message)]
        if any(message.run_id != run_id for message in messages):
            await self._quire.sync(self._conversation, listed, user_id=self._user_id, on_fork="append")
        elif new := listed[self._stored :]:
            await self._quire.append(self._conversation, new, user_id=self._user_id)
            self._stored = len(listed)

    async def tools(self) -> list[Tool[Any]]:
        """Return the recall tools for the agent."""
        answer = await self._quire.tools()
        offered = [t["function"] for t in answer["tools"] if t["function"]["name"] in answer["window"]]
        return [
            Tool.from_schema(self._recall(f["name"]), f["name"], f["description"], f["parameters"]) for f in offered
        ]

    def _recall(self, name: str) -> Any:
        async def run(**arguments: Any) -> str:
            return (await self._quire.call_tool(self._conversation, name, arguments))["content"]

        return run


# --- To Quire -------------------------------------------------------------------------------------------


def _sent(message: ModelMessage) -> list[Json]:
    """A message in OpenAI form. Images and other files are named, not stored."""
    if isinstance(message, ModelRequest):
        return [one for one, _ in _parts(message)]
    texts = [part.content for part in message.parts if part.part_kind in ("text", "speech")]
    calls = [
        {"id": p.tool_call_id, "type": "function", "function": {"name": p.tool_name, "arguments": p.args_as_json_str()}}
        for p in message.parts
        if isinstance(p, ToolCallPart)
    ]
    said: Json = {"role": "assistant", "content": "\n\n".join(texts) or None}
    return [{**said, "tool_calls": calls}] if calls else [said] if texts else []


def _request_part(part: ModelRequestPart) -> Json | None:
    """A part as a message; None for one that says nothing, such as a change of tools or settings."""
    match part.part_kind:
        case "system-prompt":
            return {"role": "system", "content": part.content}
        case "user-prompt" | "speech":
            return {"role": "user", "content": _text(part.content)}
        case "retry-prompt" if part.tool_name:
            return {"role": "tool", "tool_call_id": part.tool_call_id, "content": part.model_response()}
        case "retry-prompt" | "retry-feedback":  # pydantic-ai's words, not the user's
            return {"role": "user", "content": part.model_response(), "author": "machine"}
        case "tool-return":
            return _result(part)
    return None


def _result(part: Any) -> Json:
    found = {"role": "tool", "tool_call_id": part.tool_call_id}
    if part.outcome not in FAILED:
        return {**found, "content": part.model_response_str()}
    return {**found, "content": part.model_response_str(wrap_if_error=False), "is_error": True}


def _text(content: Any) -> str:
    parts = [content] if isinstance(content, str) else content
    return "\n".join(filter(None, map(_words, parts)))


def _words(part: Any) -> str:
    if isinstance(part, str):
        return part
    if part.kind == "text-content":
        return str(part.content)
    return mark_of_file(part.kind, getattr(part, "media_type", None))


# --- From Quire -----------------------------------------------------------------------------------------


def _window(window: Sequence[Json], own: Sequence[ModelMessage]) -> list[ModelMessage]:
    """The window as messages of pydantic-ai; those that are in it unchanged are the run's own."""
    kept = {_key(one): part for message in own for one, part in _parts(message)}
    names = {call["id"]: call["function"]["name"] for m in window for call in m.get("tool_calls") or []}
    found: list[ModelMessage] = []
    for message in window:
        part = kept.get(_key(message))
        if message["role"] == "assistant":
            found.append(part if isinstance(part, ModelResponse) else _response(message))
            continue
        made = part if part is not None and not isinstance(part, ModelResponse) else _made(message, names)
        if found and isinstance(found[-1], ModelRequest):
            found[-1] = replace(found[-1], parts=[*found[-1].parts, made])
        else:
            found.append(ModelRequest(parts=[made]))
    requests = [message for message in own if isinstance(message, ModelRequest)]
    if requests and found and isinstance(found[-1], ModelRequest):
        unsaid = [part for request in requests for part in request.parts if _request_part(part) is None]
        found[-1] = replace(requests[-1], parts=[*unsaid, *found[-1].parts])
    return found


def _parts(message: ModelMessage) -> list[tuple[Json, Any]]:
    if isinstance(message, ModelRequest):
        return [(one, part) for part in message.parts if (one := _request_part(part)) is not None]
    return [(one, message) for one in _sent(message)]


def _key(message: Json) -> str:
    read = {name: value for name, value in message.items() if value and name not in UNREAD}
    content = str(read.get("content") or "")
    return json.dumps({**read, "content": content.removeprefix(ERROR)}, sort_keys=True)


def _response(message: Json) -> ModelResponse:
    content = message.get("content")
    parts: list[Any] = [TextPart(_joined(content))] if content else []
    for call in message.get("tool_calls") or []:
        function = call["function"]
        parts += [ToolCallPart(function["name"], function["arguments"], tool_call_id=call["id"])]
    return ModelResponse(parts=parts)


def _made(message: Json, names: dict[str, str]) -> ModelRequestPart:
    text = _joined(message.get("content"))
    match message["role"]:
        case "tool":
            call_id = message["tool_call_id"]
            return ToolReturnPart(tool_name=names.get(call_id, "tool"), content=text, tool_call_id=call_id)
        case "user":
            return UserPromptPart(content=text)
    return SystemPromptPart(content=text)


def _joined(content: Any) -> str:
    parts = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
    return "\n".join(part["text"] for part in parts if part.get("type") == "text")
