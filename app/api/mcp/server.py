"""The recall tools over MCP (streamable HTTP), by the official SDK.

Every request is independent, so any process of a deployment can answer it. Each request names its subject: the
conversation in the header ``X-Quire-Conversation`` or in the URL (``?conversation_id=``), or a user outside of any
conversation (``X-Quire-User``, ``?user_id=``). The tenant is found as for every other route.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, cast
from urllib.parse import unquote

import mcp_types as types
from fastapi import Request
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from starlette.types import Receive, Scope, Send

from app import __version__, errors
from app.api.http.path_ids import check_ids
from app.api.mcp import resources
from app.core.edge.caller import Caller
from app.core.line import CallersId
from app.core.messages import read
from app.core.model import Language
from app.recall import arguments, tools
from app.recall.tools import Tool
from app.runtime import Runtime
from app.services.conversations.append import append
from app.services.conversations.requests import PostedMessages
from app.services.tools import tool_calls
from app.services.tools.remember import remember
from app.services.tools.tool_calls import ToolCall

NOBODY = (
    "Nobody is named whose memories these are: put conversation_id or user_id into the server's URL, or send the "
    "header X-Quire-Conversation or X-Quire-User."
)

NO_CONVERSATION = "No conversation is named to store it in: put conversation_id into the server's URL."
LISTED_MS, RESOURCES_MS = 3_600_000, 60_000
"""How long a client can keep a list: tools change with a deployment, resources with a conversation."""
BY_NAME = {tool.name: tool for tool in tools.MCP_TOOLS}

Context = ServerRequestContext[Any, Request]
_asked: ContextVar[Request] = ContextVar("asked")
"""The request that is being answered; the SDK gives it to handlers alone."""


def manager(runtime: Runtime) -> StreamableHTTPSessionManager:
    """Return the session manager, which must run as long as the app serves."""

    async def list_tools(context: Context, _params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        request = _request(context)
        return types.ListToolsResult(
            tools=[_tool(tool, _language(request)) for tool in offered(request)], ttl_ms=LISTED_MS
        )

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = BY_NAME.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"There is no such tool; there are {', '.join(BY_NAME)}.")
        request = _request(context)
        try:
            given = runtime.masks.value(params.arguments or {})
            return await _call(runtime, request.state.caller, request, ToolCall(tool, given))
        except errors.QuireError as error:
            return _result(error.detail, True)

    async def list_resources(context: Context, _: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        try:
            found = await resources.listed(await _asker(runtime, _request(context)))
        except errors.QuireError:  # nobody is named, or nothing is there yet
            found = []
        return types.ListResourcesResult(resources=found, ttl_ms=RESOURCES_MS)

    async def list_templates(
        _context: Context, _: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=resources.TEMPLATES, ttl_ms=LISTED_MS)

    async def read_resource(context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        return await _read(runtime, _request(context), str(params.uri))

    server = _Server(
        tools.MCP_NAME, version=__version__, title="Quire", on_list_tools=list_tools, on_call_tool=call_tool,
        on_list_resources=list_resources, on_list_resource_templates=list_templates, on_read_resource=read_resource,
    )  # fmt: skip
    return _Manager(
        server, json_response=True, stateless=True,
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # the router has checked
        max_request_body_size=runtime.defaults.limits.body_bytes,  # the router takes less
    )  # fmt: skip


class _Manager(StreamableHTTPSessionManager):
    async def handle_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        _asked.set(Request(scope))
        await super().handle_request(scope, receive, send)


class _Server(Server[Any]):
    """Describes to each connection its own tools: a request is answered in the context in which it came."""

    @property
    def instructions(self) -> str | None:
        request = _asked.get(None)
        return tools.instructions(offered(request), _language(request)) if request is not None else None

    @instructions.setter
    def instructions(self, _: str | None) -> None:
        """Accept no other instructions."""


def offered(request: Request) -> list[Tool]:
    """Return a connection's tools. Some need a conversation, and those that write need a key with that scope."""
    user_id, conversation_id = _user_and_conversation(request)
    hidden = {tools.STORE_TURN} if conversation_id is None else set()
    hidden |= {tools.RECALL_PAGE} if user_id is not None and conversation_id is None else set()
    hidden |= set() if "write" in request.state.caller.scopes else set(tools.MCP_WRITING)
    return [tool for tool in tools.MCP_TOOLS if tool not in hidden]


def _language(request: Request) -> Language:
    return "zh" if request.query_params.get("language") == "zh" else "en"


async def _call(runtime: Runtime, caller: Caller, request: Request, call: ToolCall) -> types.CallToolResult:
    if call.tool in tools.MCP_WRITING:
        caller.require("write")
    if call.tool is tools.STORE_TURN:
        return _result(*await _store_turn(runtime, request, call))
    asking = await _asker(runtime, request)
    if call.tool is tools.REMEMBER:
        answer = await remember(asking, call.arguments, bound_to=caller.user(_user_and_conversation(request)[0]))
    else:
        answer = await _run(asking, call)
    return _result(answer.content, answer.is_error)


async def _read(runtime: Runtime, request: Request, uri: str) -> types.ReadResourceResult:
    call = resources.call_of(uri)
    try:
        answer = await _run(await _asker(runtime, request), call) if call is not None else None
    except errors.QuireError as error:
        raise MCPError(types.INVALID_PARAMS, error.detail) from None
    if answer is None or answer.is_error:
        said = answer.content if answer is not None else f"There is no such resource: {uri}"
        raise MCPError(types.INVALID_PARAMS, said)
    content = types.TextResourceContents(uri=uri, text=answer.content, mime_type="text/plain")
    return types.ReadResourceResult(contents=[content], ttl_ms=RESOURCES_MS)


async def _run(asking: tool_calls.Asker, call: ToolCall) -> tool_calls.Answer:
    answer = await tool_calls.run(asking, call)
    await tool_calls.keep(asking, [answer], "")
    return answer


async def _asker(runtime: Runtime, request: Request) -> tool_calls.Asker:
    """Return the asker of a request. Raises NotFound, and Invalid if the request names nobody."""
    caller: Caller = request.state.caller
    named, conversation_id = _names(request)
    user_id = caller.user(named, ("query", "user_id"))
    if user_id is None and conversation_id is None:
        raise errors.Invalid(NOBODY)
    return await tool_calls.asker(runtime, caller.tenant, user_id, conversation_id, sensitive=caller.sensitive)


def _names(request: Request) -> tuple[str | None, str | None]:
    """Return the names of user and conversation. Raises Invalid for malformed ones."""
    user_id, conversation_id = _user_and_conversation(request)
    check_ids("query", user_id=user_id, conversation_id=conversation_id)
    return user_id, conversation_id


async def _store_turn(runtime: Runtime, request: Request, call: ToolCall) -> tuple[str, bool]:
    """Store a turn, also as the beginning of a new conversation. Return the answer, and whether it is an error."""
    caller: Caller = request.state.caller
    user_id, conversation_id = _names(request)
    if conversation_id is None:
        return NO_CONVERSATION, True
    try:
        said = arguments.read(tools.STORE_TURN, call.arguments, _language(request))
    except arguments.Mistake as mistake:
        return str(mistake), True
    turn = [{"role": role, "content": said[role]} for role in ("user", "assistant") if role in said]
    user_id = caller.user(user_id, ("query", "user_id")) or runtime.access.default_user(caller)
    posted = PostedMessages(read(turn, runtime.defaults.limits), user_id, bound_to=caller.user_id)
    await append(runtime, caller.tenant, CallersId(conversation_id), posted, None)
    return f"{len(turn)} messages are stored.", False


def _request(context: Context) -> Request:
    return cast(Request, context.request)


def _user_and_conversation(request: Request) -> tuple[str | None, str | None]:
    """Return user and conversation, each from its header (percent-encoded) or the URL."""
    user_id, conversation_id = (
        unquote(request.headers[header]) if header in request.headers else request.query_params.get(parameter)
        for header, parameter in (("x-quire-user", "user_id"), ("x-quire-conversation", "conversation_id"))
    )
    return user_id, conversation_id


def _tool(tool: Tool, language: Language) -> types.Tool:
    annotations = types.ToolAnnotations(
        read_only_hint=tool not in tools.MCP_WRITING, destructive_hint=False,
        idempotent_hint=tool is not tools.STORE_TURN, open_world_hint=False,
    )  # fmt: skip
    return types.Tool(
        name=tool.name, description=tool.description(language), input_schema=tool.schema(language),
        annotations=annotations,
    )  # fmt: skip


def _result(text: str, is_error: bool) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=is_error)
