#!/usr/bin/env bash
# agno 3.1.10: `get_messages(limit=1)` of a session gives the system prompt and no message: the limit counts it. With
# limit=3 the rest begins with a tool's result. Guessed: the newest message, with or without the system prompt.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet agno==3.1.10
"$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
from agno.models.message import Message
from agno.run.agent import RunOutput
from agno.run.base import RunStatus
from agno.session import AgentSession

CALL = {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
MESSAGES = [
    Message(role="system", content="Be brief."),
    Message(role="user", content="What is the weather in Paris?"),
    Message(role="assistant", tool_calls=[CALL]),
    Message(role="tool", tool_call_id="call_1", content="sunny"),
    Message(role="assistant", content="It is sunny."),
]
run = RunOutput(run_id="1", agent_id="agent", status=RunStatus.completed, messages=MESSAGES)
session = AgentSession(session_id="1", agent_id="agent", runs=[run])
roles = {limit: [message.role for message in session.get_messages(limit=limit)] for limit in (1, 3)}
print(roles)
assert roles == {1: ["system"], 3: ["system", "tool", "assistant"]}
PYTHON
