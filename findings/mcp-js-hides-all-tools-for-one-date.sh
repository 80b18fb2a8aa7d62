#!/usr/bin/env bash
# @modelcontextprotocol/sdk 1.32.2: a tool whose argument is a `z.date()` is registered without a word, and then `tools/list` fails
# for the whole server: clients see none of the other tools either, which can still be called. Guessed: registering it
# raises, or the others are listed.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent @modelcontextprotocol/sdk@1.32.2 zod@4 >/dev/null 2>&1
cat > finding.mjs <<'JAVASCRIPT'
import assert from "node:assert";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { z } from "zod";

const server = new McpServer({ name: "memory", version: "1" });
const found = async () => ({ content: [{ type: "text", text: "Lin likes tea." }] });
server.registerTool("search", { inputSchema: { query: z.string() } }, found);
server.registerTool("since", { inputSchema: { day: z.date() } }, found);
const [one, other] = InMemoryTransport.createLinkedPair();
await server.connect(one);
const client = new Client({ name: "finding", version: "1" });
await client.connect(other);
const failed = await client.listTools().catch((error) => error);
const called = await client.callTool({ name: "search", arguments: { query: "tea" } });
console.log(failed.message);
console.log(called.content);
assert.match(failed.message, /-32603.*Date cannot be represented in JSON Schema/);
assert.equal(called.content[0].text, "Lin likes tea.");
await client.close();
JAVASCRIPT
node finding.mjs 2>/dev/null
