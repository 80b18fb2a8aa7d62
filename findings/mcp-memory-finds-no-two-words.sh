#!/usr/bin/env bash
# @modelcontextprotocol/server-memory 2026.8.31: `search_nodes` takes the query for one string, so "coffee" finds "likes
# coffee in the morning", and "Lin coffee" or "coffee morning" finds nothing. Guessed: each word is looked for.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent @modelcontextprotocol/server-memory@2026.8.31 @modelcontextprotocol/sdk@1 >/dev/null 2>&1
cat > search.mjs <<'JAVASCRIPT'
import assert from "node:assert";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const client = new Client({ name: "finding", version: "1" });
const server = "node_modules/@modelcontextprotocol/server-memory/dist/index.js";
const env = { ...process.env, MEMORY_FILE_PATH: `${process.cwd()}/memory.jsonl` };
await client.connect(new StdioClientTransport({ command: "node", args: [server], env, stderr: "ignore" }));
const lin = { name: "Lin", entityType: "person", observations: ["likes coffee in the morning"] };
await client.callTool({ name: "create_entities", arguments: { entities: [lin] } });
const found = {};
for (const query of ["coffee", "COFFEE", "likes coffee", "Lin coffee", "coffee morning"]) {
  const { content } = await client.callTool({ name: "search_nodes", arguments: { query } });
  found[query] = JSON.parse(content[0].text).entities.length;
}
await client.close();
console.log(found);
assert.deepEqual(Object.values(found), [1, 1, 1, 0, 0]);
JAVASCRIPT
node search.mjs
