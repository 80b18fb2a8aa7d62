#!/usr/bin/env bash
# ai 7.0.173: `pruneMessages` with `reasoning: "before-last-message"` takes the thought out of the call whose result is the last
# message, which Claude, DeepSeek and Kimi want back within the loop; with `toolCalls: "before-last-message"` it takes one of two
# parallel calls, with its result. Guessed: what the newest result answers stays whole.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent ai@7.0.173 >/dev/null 2>&1
cat > finding.mjs <<'JAVASCRIPT'
import assert from "node:assert";
import { pruneMessages } from "ai";

const call = (toolCallId) => ({ type: "tool-call", toolCallId, toolName: "look_up", input: {} });
const result = (toolCallId) => ({
  role: "tool",
  content: [{ type: "tool-result", toolCallId, toolName: "look_up", output: { type: "text", value: "green" } }],
});
const messages = [
  { role: "user", content: "Which tea?" },
  { role: "assistant", content: [{ type: "reasoning", text: "I look up both." }, call("1"), call("2")] },
  result("1"),
  result("2"),
];
const shown = (list) => list.slice(1).map(({ content }) => content.map((part) => part.toolCallId ?? part.type));
const thoughts = shown(pruneMessages({ messages, reasoning: "before-last-message" }));
const calls = shown(pruneMessages({ messages, toolCalls: "before-last-message" }));
console.log(JSON.stringify({ thoughts, calls }));
assert.deepEqual(thoughts, [["1", "2"], ["1"], ["2"]]);
assert.deepEqual(calls, [["reasoning", "2"], ["2"]]);
JAVASCRIPT
node finding.mjs
