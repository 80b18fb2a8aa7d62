#!/usr/bin/env bash
# litellm 1.110.2: `trim_messages` keeps a tool's result, or four characters of it, and drops the call that it answers; at
# another limit it keeps the call and drops the result. Guessed: a call and its result stay or go together.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet litellm==1.110.2
LITELLM_LOCAL_MODEL_COST_MAP=True "$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
from litellm.utils import trim_messages

CALL = {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "What is the weather in Paris?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "call_1", "content": "sunny " * 20},
    {"role": "assistant", "content": "It is sunny."},
    {"role": "user", "content": "Thanks."},
]


def kept(limit):
    trimmed = trim_messages(MESSAGES, "claude-sonnet-4-5", max_tokens=limit)
    return [(message["role"], len(message.get("content") or "")) for message in trimmed]


for limit in (32, 36, 56):
    print(limit, kept(limit))
rest = [("assistant", 12), ("user", 7)]
assert kept(32) == [("system", 9), ("assistant", 0), *rest]
assert kept(36) == [("system", 9), ("tool", 4), *rest]
assert kept(56) == [("system", 9), ("tool", 120), *rest]
PYTHON
