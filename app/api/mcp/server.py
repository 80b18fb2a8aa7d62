"""The recall tools over MCP (streamable HTTP), by the official SDK.

Every request is independent, so any process of a deployment can answer it. Each request names its subject: the
conversation in the header ``X-Quire-Conversation`` or in the URL (``?conversation_id=``), or a user outside of any
conversation (``X-Quire-User``, ``?user_id=``). The tenant is found as for every other route.
"""

from __future__ import annotations

from typing import Any, cast
from urllib.parse import unquote

import mcp_types as types
from fastapi import Request
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError

from app import __version__, errors
from app.api.http.path_ids import check_id
from app.core.edge.caller import Caller
from app.core.model import Language
from app.recall import tools
from app.recall.tools import Tool
from app.runtime import Runtime
from app.services.tools import tool_calls
from app.services.tools.remember import remember
from app.services.tools.tool_calls import ToolCall

BODY_MAX_BYTES = 1024 * 1024
NOBODY = (
    "Nobody is named whose memories these are: put conversation_id or user_id into the server's URL, or send the "
    "header X-Quire-Conversation or X-Quire-User."
)

BY_NAME = {tool.name: tool for tool in tools.MCP_TOOLS}

Context = ServerRequestContext[Any, Request]


def manager(runtime: Runtime) -> StreamableHTTPSessionManager:
    """Return the manager, which must run as long as the app serves."""

    async def list_tools(context: Context, _params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        request = _request(context)
        user_id, conversation_id = _named(request)
        offered = [
            tool
            for tool in tools.MCP_TOOLS
            if tool is not tools.RECALL_PAGE or user_id is None or conversation_id is not None
        ]
        language: Language = "zh" if request.query_params.get("language") == "zh" else "en"
        return types.ListToolsResult(tools=[_tool(tool, language) for tool in offered])

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = BY_NAME.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"There is no such tool; there are {', '.join(BY_NAME)}.")
        request = _request(context)
        try:
            arguments = runtime.masks.value(params.arguments or {})
            return await _call(runtime, request.state.caller, request, ToolCall(tool, arguments))
        except errors.QuireError as error:
            return _result(error.detail, is_error=True)

    server = Server(
        tools.MCP_NAME, version=__version__, title="Quire", instructions=tools.prompt("mcp")["en"],
        on_list_tools=list_tools, on_call_tool=call_tool,
    )  # fmt: skip
    return StreamableHTTPSessionManager(
        server, json_response=True, stateless=True,
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # the router has checked
        max_request_body_size=min(BODY_MAX_BYTES, runtime.defaults.limits.body_bytes),
    )  # fmt: skip


async def _call(runtime: Runtime, caller: Caller, request: Request, call: ToolCall) -> types.CallToolResult:
    named, conversation_id = _named(request)
    user_id = caller.user(named, ("query", "user_id"))
    if user_id is None and conversation_id is None:
        return _result(NOBODY, is_error=True)
    for name, given in (("user_id", named), ("conversation_id", conversation_id)):
        if given is not None:
            check_id(given, ["query", name])
    asking = await tool_calls.asker(runtime, caller.tenant, user_id, conversation_id, sensitive=caller.sensitive)
    if call.tool is tools.REMEMBER:
        caller.require("write")
        answer = await remember(asking, call.arguments, bound_to=user_id)
    else:
        answer = await tool_calls.run(asking, call)
        await tool_calls.keep(asking, [answer], "")
    return _result(answer.content, is_error=answer.is_error)


def _request(context: Context) -> Request:
    return cast(Request, context.request)


def _named(request: Request) -> tuple[str | None, str | None]:
    """Return user and conversation, each from its header (percent-encoded) or the URL."""
    user_id, conversation_id = (
        unquote(request.headers[header]) if header in request.headers else request.query_params.get(parameter)
        for header, parameter in (("x-quire-user", "user_id"), ("x-quire-conversation", "conversation_id"))
    )
    return user_id, conversation_id


def _tool(tool: Tool, language: Language) -> types.Tool:
    reads = tool is not tools.REMEMBER
    annotations = types.ToolAnnotations(
        read_only_hint=reads, destructive_hint=False, idempotent_hint=True, open_world_hint=False
    )
    return types.Tool(
        name=tool.name, description=tool.description(language), input_schema=tool.schema(language),
        annotations=annotations,
    )  # fmt: skip


def _result(text: str, *, is_error: bool) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=is_error)
