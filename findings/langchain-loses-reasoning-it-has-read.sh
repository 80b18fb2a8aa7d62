#!/usr/bin/env bash
# langchain-core 1.8.3: `convert_to_messages` reads the `reasoning_content` and the refusal of an answer; `convert_to_openai_messages`
# writes the refusal back and not the reasoning, which DeepSeek and Kimi want back with each call. Guessed: there and
# back again is the same list.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet langchain-core==1.8.3
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
from langchain_core.messages import convert_to_messages, convert_to_openai_messages

CALL = {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
SAID = [
    {"role": "assistant", "content": "", "reasoning_content": "They want Paris.", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "call_1", "content": "down"},
    {"role": "assistant", "content": "", "refusal": "I cannot."},
]
read = convert_to_messages(SAID)
back = convert_to_openai_messages(read)
for one in back:
    print(one)
assert read[0].additional_kwargs == {"reasoning_content": "They want Paris."}
assert back[0] == {"role": "assistant", "content": "", "tool_calls": [CALL]}
assert back[2]["refusal"] == "I cannot."
PYTHON
