"""A LangChain middleware that gives the model Quire's window instead of the whole message list.

    agent = create_agent(model, tools=[...], middleware=[QuireMiddleware(Quire(url), user_id="me", budget=8000)])

Before each model call the messages of the graph's state are synced and the window is fetched; when the agent ends,
its answer is synced. The state itself stays as it is. The recall tools that windows offer are tools of the agent, run
by its loop like any other; they go to Quire. Middleware that edits the list for the model (summarising, trimming)
is not needed beside it; if the state is trimmed or edited all the same, nothing stored is lost or changed. What the
model's API counted is reported with the next sync, so that the budget holds in the model's own tokens.

What answers the newest user message is brought in from what was said earlier, if anything does, so an agent whose model
never calls a tool remembers too. It is in the window of that turn only, and never becomes part of the state.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar, cast

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
    convert_to_openai_messages,
)
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, StructuredTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.config import get_config
from langgraph.runtime import Runtime

from quire_client.client import AsyncQuire, Quire, Recall
from quire_client.errors import QuireError
from quire_client.shapes import Json, Window

Name = Callable[[RunnableConfig], str]
"""Returns the conversation's id from the agent's configuration."""

_CALLS = frozenset(
    {"tool_use", "tool_call", "function_call", "custom_tool_call", "invalid_tool_call", "input_json_delta"}
)
"""Parts of an answer that its ``tool_calls`` say too."""
_READ = frozenset({"text", "refusal", "thinking", "redacted_thinking", "reasoning"})
"""Parts that are text, or that only the API which made them reads."""

Q = TypeVar("Q", Quire, AsyncQuire)
_logger = logging.getLogger(__name__)


def thread_id(config: RunnableConfig) -> str:
    """Return the thread's id, as checkpointers know it."""
    try:
        return str(config["configurable"]["thread_id"])
    except KeyError:
        raise ValueError(
            "QuireMiddleware needs to know the conversation: invoke the agent with"
            ' {"configurable": {"thread_id": ...}}, or give the middleware `conversation`.'
        ) from None


class QuireMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """Give an agent's model Quire's window.

    `quire` serves `invoke`, `aquire` serves `ainvoke`; give the one that you use, or both. `budget` are tokens,
    everything included; without it Quire goes by the conversation's own or by `model`. With `recall="off"` no memories
    come in by themselves. With `required=False` the model is given the whole list when Quire cannot be reached, and the
    next call makes up for what was not stored.
    """

    def __init__(
        self,
        quire: Quire | None = None,
        aquire: AsyncQuire | None = None,
        *,
        user_id: str,
        budget: int | None = None,
        model: str | None = None,
        recall: Recall | None = None,
        conversation: Name = thread_id,
        tools: Sequence[Json] | None = None,
        required: bool = True,
    ) -> None:
        super().__init__()
        if tools is None:
            if quire is None:
                raise ValueError("Without a `Quire` to ask, give the recall tools: `(await aquire.tools())`.")
            tools = offered(quire.tools())
        self._quire, self._aquire = quire, aquire
        self._user_id, self._budget, self._model = user_id, budget, model
        self._conversation, self._required = conversation, required
        self._recall = recall
        self._counted: dict[str, dict[str, int]] = {}
        self.tools = [self._tool(tool["function"]) for tool in tools]
        self._names = {tool.name for tool in self.tools}

    # --- invoke ---

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        quire, conversation = _needed(self._quire, "quire"), self._conversation(get_config())
        try:
            quire.sync(conversation, _sent(request.messages), **self._said(conversation))
            window = quire.context(conversation, **self._asked(request))
        except QuireError as error:
            self._excuse(error)
            return handler(request)
        response = handler(self._narrowed(request, window))
        self._count(conversation, window, response)
        return response

    def after_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:  # noqa: ARG002 - LangChain's
        conversation = self._conversation(get_config())
        try:
            _needed(self._quire, "quire").sync(conversation, _sent(state["messages"]), **self._said(conversation))
        except QuireError as error:
            self._excuse(error)

    # --- ainvoke ---

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        quire, conversation = _needed(self._aquire, "aquire"), self._conversation(get_config())
        try:
            await quire.sync(conversation, _sent(request.messages), **self._said(conversation))
            window = await quire.context(conversation, **self._asked(request))
        except QuireError as error:
            self._excuse(error)
            return await handler(request)
        response = await handler(self._narrowed(request, window))
        self._count(conversation, window, response)
        return response

    async def aafter_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:  # noqa: ARG002
        conversation = self._conversation(get_config())
        try:
            await _needed(self._aquire, "aquire").sync(
                conversation, _sent(state["messages"]), **self._said(conversation)
            )
        except QuireError as error:
            self._excuse(error)

    # --- both ---

    def _excuse(self, error: QuireError) -> None:
        if self._required:
            raise error
        _logger.warning("Quire is not available, so the model is given the whole list: %s", error)

    def _said(self, conversation: str) -> dict[str, Any]:
        """Return how a list is synced, with what the model's API counted since the last time."""
        return {
            "user_id": self._user_id,
            "on_fork": "append",
            "reported_usage": self._counted.pop(conversation, None),
        }

    def _count(self, conversation: str, window: Window, response: ModelResponse[Any]) -> None:
        for message in response.result:
            if isinstance(message, AIMessage) and message.usage_metadata and message.usage_metadata["input_tokens"] > 0:
                counted = message.usage_metadata["input_tokens"]
                self._counted[conversation] = {"window_tokens": window.usage["total"], "prompt_tokens": counted}

    def _asked(self, request: ModelRequest[Any]) -> dict[str, Any]:
        own = [tool for tool in request.tools if _name(tool) not in self._names]
        return {
            "budget": self._budget,
            "model": self._model,
            "recall": self._recall,
            "system": request.system_message.text if request.system_message else None,
            "tools": [convert_to_openai_tool(tool) for tool in own],
        }

    def _narrowed(self, request: ModelRequest[Any], window: Window) -> ModelRequest[Any]:
        """The request with the window's messages and its recall tools, as they were counted."""
        own = [tool for tool in request.tools if _name(tool) not in self._names]
        tools = [*own, *(tool for tool in window.tools if _name(tool) in self._names)]
        messages = _received(window.messages, request.messages)
        if messages and isinstance(messages[0], SystemMessage):
            return request.override(system_message=messages[0], messages=messages[1:], tools=tools)
        return request.override(system_message=None, messages=messages, tools=tools)

    def _tool(self, function: Json) -> BaseTool:
        name = function["name"]

        def run(config: RunnableConfig, **arguments: Any) -> str:
            return _needed(self._quire, "quire").call_tool(self._conversation(config), name, arguments)["content"]

        async def arun(config: RunnableConfig, **arguments: Any) -> str:
            quire = _needed(self._aquire, "aquire")
            return (await quire.call_tool(self._conversation(config), name, arguments))["content"]

        return StructuredTool.from_function(
            run,
            coroutine=arun,
            name=name,
            description=function["description"],
            args_schema=function["parameters"],
        )


def offered(answer: Json) -> list[Json]:
    """Return the tools that windows offer, from an answer of `GET /tools` in OpenAI form."""
    return [tool for tool in answer["tools"] if tool["function"]["name"] in answer["window"]]


def _needed(quire: Q | None, name: str) -> Q:
    if quire is None:
        raise ValueError(f"The agent was invoked in the way that needs the middleware's `{name}`.")
    return quire


def _name(tool: BaseTool | dict[str, Any]) -> str:
    if isinstance(tool, BaseTool):
        return tool.name
    return str(tool.get("function", tool).get("name"))


def _sent(messages: Sequence[BaseMessage]) -> list[Json]:
    return [_told(message) for message in messages]


def _told(message: BaseMessage) -> Json:
    """Return a message in OpenAI form. Its parts stay as they are: Quire reads those of every provider, while
    LangChain's own conversion raises at some (a file's address, a video) and repeats calls as parts.
    """
    [told] = convert_to_openai_messages([message.model_copy(update={"content": ""})])
    failed = {"is_error": True} if isinstance(message, ToolMessage) and message.status == "error" else {}
    content: Any = message.content
    if not isinstance(content, str):
        content = [part for part in map(_part, content) if part.get("type", "tool_call") not in _CALLS]
    return {**told, "content": content or "", **failed}


def _part(part: str | Json) -> Json:
    if isinstance(part, str) or part.get("type") == "json":
        return {"type": "text", "text": part if isinstance(part, str) else json.dumps(part["json"])}
    return part


def _received(window: Sequence[Json], own: Sequence[AnyMessage]) -> list[AnyMessage]:
    """The window as the graph's kind of messages. Those of the current turn that are in it as they were sent are the
    graph's own objects, so that signatures and ids of theirs that the provider wants to see again are kept.
    """
    turn = max((i for i, message in enumerate(own) if isinstance(message, HumanMessage)), default=0)
    kept = {_shown(_told(message)): message for message in own[turn:]}
    return [kept.get(_shown(message)) or cast(AnyMessage, convert_to_messages([message])[0]) for message in window]


def _shown(message: Json) -> str:
    """Return what a model reads of a message: its text and calls, and how many other parts."""
    content = message.get("content") or ""
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    text = "".join(part[name] for part in parts for name in ("text", "refusal") if isinstance(part.get(name), str))
    files = sum(part["type"] not in _READ for part in parts)
    told = [message["role"], message.get("tool_call_id"), text, files, message.get("tool_calls") or []]
    return json.dumps(told, sort_keys=True)
