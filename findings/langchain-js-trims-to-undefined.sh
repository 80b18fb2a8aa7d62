#!/usr/bin/env bash
# @langchain/core 1.4.0 (JavaScript): where only the system message has room, `trimMessages` that starts on a human message
# gives a list of one undefined; langchain-core 1.8.3 (Python) gives the system message. Guessed: the same, or an error.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet langchain-core==1.8.3
cd "$folder"
npm install --silent @langchain/core@1.4.0 >/dev/null 2>&1
cat > trim.mjs <<'JAVASCRIPT'
import assert from "node:assert";
import { AIMessage, HumanMessage, SystemMessage, trimMessages } from "@langchain/core/messages";

const messages = [new SystemMessage("Be brief."), new HumanMessage("Which tea?"), new AIMessage("Longjing.")];
messages.push(new HumanMessage("From where?"));
const trimmed = async (maxTokens) =>
  trimMessages(messages, {
    maxTokens,
    tokenCounter: (list) => list.length,
    strategy: "last",
    startOn: "human",
    includeSystem: true,
  });
const [one, two] = [await trimmed(1), await trimmed(2)];
console.log("JavaScript:", one, two.map((message) => message.content));
assert.deepStrictEqual(one, [undefined]);
assert.deepStrictEqual(two.map((message) => message.content), ["Be brief.", "From where?"]);
JAVASCRIPT
node trim.mjs
"$folder/venv/bin/python" - <<'PYTHON'
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, trim_messages

MESSAGES = [SystemMessage("Be brief."), HumanMessage("Which tea?"), AIMessage("Longjing."), HumanMessage("From where?")]
options = {"token_counter": len, "strategy": "last", "start_on": "human", "include_system": True}
kept = [message.content for message in trim_messages(MESSAGES, max_tokens=1, **options)]
print("Python:", kept)
assert kept == ["Be brief."]
PYTHON
