#!/usr/bin/env bash
# mcp 2.3.0 (Python) takes "5" for a number and "no" for false; @modelcontextprotocol/sdk 1.32.2 (JavaScript) with zod refuses both.
# Of an argument whose name is wrong ("limt") both run the tool with the default and tell nobody, though the call asked for
# something else. Guessed: the same words are taken by both, and an unknown name is an error.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet mcp==2.3.0
venv/bin/python - <<'PYTHON' 2>/dev/null
import asyncio

from mcp.client import Client
from mcp.server.mcpserver import MCPServer

server = MCPServer("memory")


@server.tool()
def search(query: str, limit: int = 10, exact: bool = True) -> str:
    return f"{limit} {exact}"


async def main():
    async with Client(server) as client:
        for given, expected in (({"limit": "5"}, "5 True"), ({"exact": "no"}, "10 False"), ({"limt": 5}, "10 True")):
            result = await client.call_tool("search", {"query": "tea", **given})
            print("Python", given, result.content[0].text)
            assert (result.is_error, result.content[0].text) == (False, expected)


asyncio.run(main())
PYTHON
npm install --silent @modelcontextprotocol/sdk@1.32.2 zod@4.6.7 >/dev/null 2>&1
cat > finding.mjs <<'JAVASCRIPT'
import assert from "node:assert";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { z } from "zod";

const server = new McpServer({ name: "memory", version: "1" });
const inputSchema = { query: z.string(), limit: z.number().default(10), exact: z.boolean().default(true) };
server.registerTool("search", { inputSchema }, async ({ limit, exact }) => ({
  content: [{ type: "text", text: `${limit} ${exact}` }],
}));
const [near, far] = InMemoryTransport.createLinkedPair();
const client = new Client({ name: "client", version: "1" });
await Promise.all([server.connect(near), client.connect(far)]);
for (const [given, expected] of [[{ limit: "5" }, null], [{ exact: "no" }, null], [{ limt: 5 }, "10 true"]]) {
  const { content, isError } = await client.callTool({ name: "search", arguments: { query: "tea", ...given } });
  console.log("JavaScript", given, content[0].text.slice(0, 80));
  assert.equal(isError ?? false, expected === null);
  if (expected) assert.equal(content[0].text, expected);
}
process.exit(0);
JAVASCRIPT
node finding.mjs
