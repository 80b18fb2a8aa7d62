#!/usr/bin/env bash
# strands-agents 1.62.0: in a loop of tool calls, `SlidingWindowConversationManager` takes the question that the loop works on
# out of the messages: the list begins with an assistant's call, and no user has asked anything. Guessed: the newest
# question stays, or the list begins with a user.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet strands-agents==1.62.0
"$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
from types import SimpleNamespace

from strands.agent.conversation_manager import SlidingWindowConversationManager


def kept(window_size):
    messages = [{"role": "user", "content": [{"text": "In which of six cities is it sunny?"}]}]
    for number in range(6):
        call = {"toolUseId": f"call_{number}", "name": "get_weather", "input": {"city": number}}
        result = {"toolUseId": f"call_{number}", "status": "success", "content": [{"text": "sunny"}]}
        messages += [{"role": "assistant", "content": [{"toolUse": call}]}, {"role": "user", "content": [{"toolResult": result}]}]
    agent = SimpleNamespace(messages=messages, model=None, state=None)
    SlidingWindowConversationManager(window_size=window_size).apply_management(agent)
    return [(message["role"], *message["content"][0]) for message in agent.messages]


for size in (4, 8, 13):
    print(size, kept(size)[:2])
call, result = ("assistant", "toolUse"), ("user", "toolResult")
assert kept(4) == [call, result] * 2
assert kept(8) == [call, result] * 4
assert kept(13)[0] == ("user", "text")
PYTHON
