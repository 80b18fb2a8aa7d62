#!/usr/bin/env bash
# @mastra/core 1.71.0: in a list of the AI SDK's messages, a tool's result that says it failed (`error-text`) goes to the model as a
# plain `text`. Of a list that comes from memory each call goes twice, the first with an empty tool message behind it. Guessed:
# the list that was given.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent @mastra/core@1.71.0 zod@4.6.7 >/dev/null 2>&1
cat > finding.mjs <<'JAVASCRIPT'
import assert from "node:assert";
import { MessageList } from "@mastra/core/agent";

const call = { type: "tool-call", toolCallId: "1", toolName: "look_up", input: {} };
const result = { type: "tool-result", toolCallId: "1", toolName: "look_up", output: { type: "error-text", value: "no page 9" } };
const given = [
  { role: "user", content: "Which tea?" },
  { role: "assistant", content: [call] },
  { role: "tool", content: [result] },
];
const shown = (source) =>
  new MessageList({ threadId: "t", resourceId: "r" })
    .add(given, source)
    .get.all.aiV5.model()
    .slice(1)
    .map(({ content }) => content.map((part) => part.output?.type ?? part.type));
const [input, memory] = [shown("input"), shown("memory")];
console.log(JSON.stringify({ input, memory }));
assert.deepEqual(input, [["tool-call"], ["text"]]);
assert.deepEqual(memory, [["tool-call"], [], ["tool-call"], ["text"]]);
process.exit(0);
JAVASCRIPT
node finding.mjs 2>/dev/null
