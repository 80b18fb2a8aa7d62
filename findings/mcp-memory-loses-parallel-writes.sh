#!/usr/bin/env bash
# @modelcontextprotocol/server-memory 2026.8.31: of ten entities that one client creates at once, each acknowledged, one is in the
# file: a call reads the file, adds its own and writes it anew. Guessed: ten, or an error. (An agent makes parallel calls.)
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent @modelcontextprotocol/server-memory@2026.8.31 @modelcontextprotocol/sdk@1 >/dev/null 2>&1
cat > parallel.mjs <<'JAVASCRIPT'
import assert from "node:assert";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const client = new Client({ name: "finding", version: "1" });
const server = "node_modules/@modelcontextprotocol/server-memory/dist/index.js";
const env = { ...process.env, MEMORY_FILE_PATH: `${process.cwd()}/memory.jsonl` };
await client.connect(new StdioClientTransport({ command: "node", args: [server], env, stderr: "ignore" }));
const answers = await Promise.all(
  Array.from({ length: 10 }, (_, number) => {
    const entities = [{ name: `City ${number}`, entityType: "city", observations: [] }];
    return client.callTool({ name: "create_entities", arguments: { entities } });
  }),
);
const acknowledged = answers.filter(({ content }) => JSON.parse(content[0].text).length === 1).length;
const { content } = await client.callTool({ name: "read_graph", arguments: {} });
const kept = JSON.parse(content[0].text).entities.length;
await client.close();
console.log({ acknowledged, kept });
assert.equal(acknowledged, 10);
assert.ok(kept < 10);
JAVASCRIPT
node parallel.mjs
