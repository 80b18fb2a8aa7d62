#!/usr/bin/env bash
# @langchain/mcp-adapters 1.1.4: a text that an MCP tool embeds as a resource is in the message's artifact and not in what the model
# reads; a text with structured content reaches it as JSON, with the text within, quoted once more. Guessed: texts are texts.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent @langchain/mcp-adapters@1.1.4 @langchain/core@1.4.0 @modelcontextprotocol/sdk@1.32.2 zod@4.6.7 >/dev/null 2>&1
cat > server.mjs <<'JAVASCRIPT'
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";

const server = new McpServer({ name: "memory", version: "1" });
const text = (words) => ({ type: "text", text: words });
const resource = { uri: "memory://page/4", text: "Lin eats no nuts." };
server.registerTool("page", {}, async () => ({ content: [text("Page 4:"), { type: "resource", resource }] }));
server.registerTool("both", {}, async () => ({ content: [text('Lin said "no".')], structuredContent: { page: 4 } }));
await server.connect(new StdioServerTransport());
JAVASCRIPT
cat > finding.mjs <<'JAVASCRIPT'
import assert from "node:assert";
import { MultiServerMCPClient } from "@langchain/mcp-adapters";

const memory = { command: process.execPath, args: ["server.mjs"], transport: "stdio" };
const client = new MultiServerMCPClient({ mcpServers: { memory } });
const seen = {};
for (const tool of await client.getTools()) {
  const { content, artifact } = await tool.invoke({ type: "tool_call", id: "1", name: tool.name, args: {} });
  seen[tool.name] = content;
  if (tool.name === "page") assert.equal(artifact[0].resource.text, "Lin eats no nuts.");
}
console.log(JSON.stringify(seen));
assert.ok(!JSON.stringify(seen.page).includes("nuts"));
assert.deepEqual(JSON.parse(seen.both), { type: "text", text: 'Lin said "no".', structuredContent: { page: 4 } });
await client.close();
process.exit(0);
JAVASCRIPT
node finding.mjs 2>/dev/null
