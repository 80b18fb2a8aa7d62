#!/usr/bin/env bash
# litellm 1.110.2: a `cache_control` at an assistant's message reaches Anthropic with a text, but not where the message only
# calls tools; at a tool's message it does. Guessed: the mark goes to the message's last block, whatever that is.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet litellm==1.110.2
LITELLM_LOCAL_MODEL_COST_MAP=True "$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
from litellm.llms.anthropic.chat.transformation import AnthropicConfig

MARK = {"cache_control": {"type": "ephemeral"}}
CALL = {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}


def marked(place):
    messages = [
        {"role": "user", "content": "What is the weather?"},
        {"role": "assistant", "content": "I look."},
        {"role": "user", "content": "Please do."},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call_1", "content": "sunny"},
    ]
    messages[place] |= MARK
    sent = AnthropicConfig().transform_request("claude-sonnet-4-5", messages, {"max_tokens": 100}, {}, {})["messages"]
    return [block["type"] for message in sent for block in message["content"] if "cache_control" in block]


found = {place: marked(place) for place in range(5)}
print(found)
assert found == {0: ["text"], 1: ["text"], 2: ["text"], 3: [], 4: ["tool_result"]}
PYTHON
