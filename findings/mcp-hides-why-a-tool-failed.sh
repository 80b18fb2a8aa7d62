#!/usr/bin/env bash
# mcp 2.3.0 (Python): of a tool that raises, the model is told "Error executing tool look_up" and not the exception's words, which
# mcp 1.30.0 appends, as @modelcontextprotocol/sdk 1.32.2 (JavaScript) tells them. A wrong argument is still explained.
# Guessed: the model reads why, and can do better.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat > finding.py <<'PYTHON'
import asyncio
import sys

NEW = sys.argv[1] == "2.3.0"
if NEW:
    from mcp.client import Client
    from mcp.server.mcpserver import MCPServer as Server
else:
    from mcp.server.fastmcp import FastMCP as Server
    from mcp.shared.memory import create_connected_server_and_client_session as connected
server = Server("memory")


@server.tool()
def look_up(page: int) -> str:
    raise ValueError("Pages go from 1 to 7.")


async def main():
    async with Client(server) if NEW else connected(server._mcp_server) as client:
        failed = (await client.call_tool("look_up", {"page": 9})).content[0].text
        wrong = (await client.call_tool("look_up", {"page": "nine"})).content[0].text
    print(sys.argv[1], repr(failed))
    assert failed == "Error executing tool look_up" + ("" if NEW else ": Pages go from 1 to 7.")
    assert "valid integer" in wrong


asyncio.run(main())
PYTHON
for version in 1.30.0 2.3.0; do
  python3 -m venv "venv$version"
  "venv$version/bin/pip" install --quiet "mcp==$version"
  "venv$version/bin/python" finding.py "$version" 2>/dev/null
done
npm install --silent @modelcontextprotocol/sdk@1.32.2 zod@4.6.7 >/dev/null 2>&1
cat > finding.mjs <<'JAVASCRIPT'
import assert from "node:assert";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { z } from "zod";

const server = new McpServer({ name: "memory", version: "1" });
server.registerTool("look_up", { inputSchema: { page: z.number() } }, async () => {
  throw new Error("Pages go from 1 to 7.");
});
const [near, far] = InMemoryTransport.createLinkedPair();
const client = new Client({ name: "client", version: "1" });
await Promise.all([server.connect(near), client.connect(far)]);
const { content } = await client.callTool({ name: "look_up", arguments: { page: 9 } });
console.log("JavaScript", content[0].text);
assert.equal(content[0].text, "Pages go from 1 to 7.");
process.exit(0);
JAVASCRIPT
node finding.mjs
