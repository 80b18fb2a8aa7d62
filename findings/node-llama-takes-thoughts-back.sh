#!/usr/bin/env bash
# node-llama-cpp 3.22.1: the next question takes the last answer's thought out of the prompt of Qwen, gpt-oss, DeepSeek and
# Gemma 4, so what a cache holds ends before that answer. Guessed: a prompt only grows at its end.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --ignore-scripts node-llama-cpp@3.22.1 >/dev/null 2>&1
cat > prompts.mjs <<'JAVASCRIPT'
import assert from "node:assert";
import * as llama from "node-llama-cpp";

const thought = { type: "segment", segmentType: "thought", text: "A city in France.", ended: true };
const first = [
  { type: "system", text: "Be brief." },
  { type: "user", text: "What is the capital of France?" },
  { type: "model", response: [thought, "Paris."] },
];
const second = [...first, { type: "user", text: "And of Italy?" }, { type: "model", response: [] }];

for (const name of ["QwenChatWrapper", "HarmonyChatWrapper", "DeepSeekChatWrapper", "Gemma4ChatWrapper"]) {
  const wrapper = new llama[name]();
  const [before, after] = [first, second].map((chatHistory) =>
    wrapper.generateContextState({ chatHistory }).contextText.toString(),
  );
  let same = 0;
  while (same < before.length && before[same] === after[same]) same += 1;
  console.log(`${name}: ${same} of ${before.length} characters stay`);
  assert.ok(before.includes(thought.text) && !after.includes(thought.text));
  assert.ok(same <= before.indexOf(thought.text));
}
process.exit();
JAVASCRIPT
node prompts.mjs
