#!/usr/bin/env bash
# haystack-ai 3.4.1: a `ChatMessage` in OpenAI form and back has lost that its tool failed, which tool it was, and the
# answer's reasoning and usage: a failure comes back as a result. Guessed: what the form has no member for, the text says.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet haystack-ai==3.4.1
HAYSTACK_TELEMETRY_ENABLED=False "$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
from haystack.dataclasses import ChatMessage, ToolCall

CALL = ToolCall("get_weather", {"city": "Paris"}, id="call_1")
MESSAGES = [
    ChatMessage.from_assistant(tool_calls=[CALL], reasoning="They want Paris.", meta={"usage": {"total_tokens": 9}}),
    ChatMessage.from_tool("no such city", origin=CALL, error=True),
]
told = [message.to_openai_dict_format() for message in MESSAGES]
answer, result = (ChatMessage.from_openai_dict_format(one) for one in told)
print(told[1])
print(result.tool_call_result)
print(answer.reasoning, answer.meta)
assert told[1] == {"role": "tool", "content": "no such city", "tool_call_id": "call_1"}
assert (result.tool_call_result.error, result.tool_call_result.origin.tool_name) == (False, "")
assert (answer.reasoning, answer.meta) == (None, {})
PYTHON
