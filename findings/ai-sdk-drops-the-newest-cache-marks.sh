#!/usr/bin/env bash
# @ai-sdk/anthropic 4.0.105: of more than four cache marks it sends the first four and leaves out the newest, with a warning, so in a
# conversation that marks each question nothing behind the fourth is cached. Guessed: an error, or the last four.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent ai@7.0.173 @ai-sdk/anthropic@4.0.105 >/dev/null 2>&1
cat > finding.mjs <<'JAVASCRIPT'
import assert from "node:assert";
import { createAnthropic } from "@ai-sdk/anthropic";
import { generateText } from "ai";

const mark = { anthropic: { cacheControl: { type: "ephemeral" } } };
const reply = {
  id: "1", type: "message", role: "assistant", model: "m", content: [{ type: "text", text: "Yes." }],
  stop_reason: "end_turn", usage: { input_tokens: 1, output_tokens: 1 },
};
let sent;
const fetch = async (_, request) => {
  sent = JSON.parse(request.body);
  return new Response(JSON.stringify(reply), { headers: { "content-type": "application/json" } });
};
const messages = [1, 2, 3, 4, 5, 6].flatMap((at) => [
  { role: "user", content: `question ${at}`, providerOptions: mark },
  { role: "assistant", content: `answer ${at}` },
]);
const model = createAnthropic({ apiKey: "none", fetch })("claude-sonnet-4-5");
const { warnings } = await generateText({ model, messages: messages.slice(0, -1) });
const marked = sent.messages.flatMap((one) => one.content).filter((block) => block.cache_control).map((block) => block.text);
console.log(marked, warnings.map((one) => one.details));
assert.deepEqual(marked, ["question 1", "question 2", "question 3", "question 4"]);
assert.equal(warnings.length, 2);
JAVASCRIPT
node finding.mjs 2>/dev/null
