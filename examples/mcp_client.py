"""Call recall tools over MCP: mcp_client.py CONVERSATION TOOL [JSON ARGUMENTS]. Without a tool it lists them."""

import asyncio
import json
import os
import sys
from urllib.parse import quote

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import TextContent

if len(sys.argv) < 2:
    sys.exit(__doc__)

QUIRE = os.environ.get("QUIRE_URL", "http://127.0.0.1:8000")


async def main(conversation: str, tool: str = "", arguments: str = "{}") -> None:
    # ?conversation_id= in the URL means the same as this header.
    headers = {"X-Quire-Conversation": quote(conversation)}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(f"{QUIRE}/mcp", http_client=http)) as quire,
    ):
        if not tool:
            for offered in (await quire.list_tools()).tools:
                print(f"{offered.name}: {offered.description}")
            return
        result = await quire.call_tool(tool, json.loads(arguments))
        print("\n".join(block.text for block in result.content if isinstance(block, TextContent)))
        if result.is_error:
            sys.exit(1)


asyncio.run(main(*sys.argv[1:]))
