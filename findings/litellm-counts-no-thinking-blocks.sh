#!/usr/bin/env bash
# litellm 1.110.2: `token_counter` counts an answer's `reasoning_content`, and nothing of the same thought as
# `thinking_blocks`, which litellm sends back to Claude. A thought of 1,000 words costs 1,000 tokens or none. Guessed: both.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet litellm==1.110.2
LITELLM_LOCAL_MODEL_COST_MAP=True "$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
from litellm import token_counter
from litellm.llms.anthropic.chat.transformation import AnthropicConfig

MODEL, THOUGHT = "claude-sonnet-4-5", "tea " * 1000
ASKED, ANSWER = {"role": "user", "content": "Which tea?"}, {"role": "assistant", "content": "Longjing."}
BLOCKS = [{"type": "thinking", "thinking": THOUGHT, "signature": "c2lnbmVk"}]
forms = {"plain": {}, "reasoning_content": {"reasoning_content": THOUGHT}, "thinking_blocks": {"thinking_blocks": BLOCKS}}
counts = {name: token_counter(model=MODEL, messages=[ASKED, {**ANSWER, **form}]) for name, form in forms.items()}
messages = [ASKED, {**ANSWER, **forms["thinking_blocks"]}, {"role": "user", "content": "Why?"}]
sent = AnthropicConfig().transform_request(MODEL, messages, {"max_tokens": 100}, {}, {})["messages"]
print(counts, [block["type"] for block in sent[1]["content"]])
assert counts["thinking_blocks"] == counts["plain"]
assert counts["reasoning_content"] > counts["plain"] + 900
assert sent[1]["content"][0]["thinking"] == THOUGHT
PYTHON
