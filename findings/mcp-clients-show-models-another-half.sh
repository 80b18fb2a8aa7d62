#!/usr/bin/env bash
# Of an MCP tool's result with a text and structured content, openai-agents 0.24.0 shows the model the text alone, and pydantic-ai
# 2.68.0 the structured content alone: what one of them alone says, agents of the other never see. Of structured content without a
# text openai-agents shows "[]". Guessed: both show the text, which the specification asks for beside the other.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet openai-agents==0.24.0 "pydantic-ai-slim[mcp]==2.68.0" mcp==2.3.0
cd "$folder"
cat > server.py <<'PYTHON'
from mcp.server.mcpserver import MCPServer
from mcp.types import CallToolResult, TextContent

server = MCPServer("memory")


@server.tool()
def both() -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text="Longjing.")], structured_content={"page": 3})


@server.tool()
def structured() -> CallToolResult:
    return CallToolResult(content=[], structured_content={"page": 3})


server.run("stdio")
PYTHON
cat > finding.py <<'PYTHON'
import asyncio
import sys

from agents import Agent as OpenAIAgent
from agents import Runner, set_tracing_disabled
from agents.mcp import MCPServerStdio
from agents.models.interface import Model, ModelResponse
from agents.usage import Usage
from fastmcp.client.transports import StdioTransport
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from pydantic_ai import Agent
from pydantic_ai import messages as parts
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.function import FunctionModel

TOOLS = ("both", "structured")
set_tracing_disabled(True)


class Calling(Model):
    async def get_response(self, system_instructions, input, *rest, **more):
        self.seen = input
        if isinstance(input, str) or len(input) == 1:
            output = [ResponseFunctionToolCall(arguments="{}", call_id=name, name=name, type="function_call") for name in TOOLS]
        else:
            said = ResponseOutputText(text="Yes.", type="output_text", annotations=[])
            output = [ResponseOutputMessage(id="1", role="assistant", status="completed", type="message", content=[said])]
        return ModelResponse(output=output, usage=Usage(), response_id=None)

    def stream_response(self, *rest, **more):
        raise NotImplementedError


async def of_openai_agents():
    model = Calling()
    async with MCPServerStdio({"command": sys.executable, "args": ["server.py"]}) as server:
        await Runner.run(OpenAIAgent(name="a", mcp_servers=[server], model=model), "Which tea?")
    found = [item["output"] for item in model.seen if item.get("type") == "function_call_output"]
    return [one if isinstance(one, str) else [part["text"] for part in one] for one in found]


async def of_pydantic_ai():
    seen = []

    def answer(messages, info):
        seen.append(messages[-1])
        if len(seen) == 1:
            return parts.ModelResponse(parts=[parts.ToolCallPart(name, {}) for name in TOOLS])
        return parts.ModelResponse(parts=[parts.TextPart("Yes.")])

    transport = StdioTransport(command=sys.executable, args=["server.py"])
    await Agent(FunctionModel(answer), toolsets=[MCPToolset(transport)]).run("Which tea?")
    return [part.content for part in seen[-1].parts]


openai, pydantic = asyncio.run(of_openai_agents()), asyncio.run(of_pydantic_ai())
print("openai-agents", openai)
print("pydantic-ai", pydantic)
assert openai == [["Longjing."], "[]"]
assert pydantic == [{"page": 3}, {"page": 3}]
PYTHON
"$folder/venv/bin/python" finding.py 2>/dev/null
