#!/usr/bin/env bash
# langmem 0.0.30: `summarize_messages` puts an assistant's two calls and the first result into the summary and leaves the
# second result behind it, without its call. Guessed: parallel calls and their results go together.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet langmem==0.0.30 langchain-core==1.8.3
"$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.messages.utils import count_tokens_approximately
from langmem.short_term import summarize_messages

CALLS = [{"id": f"call_{number}", "name": "get_weather", "args": {"day": number}} for number in (1, 2)]
MESSAGES = [
    HumanMessage("Compare the weather of the two days. " * 20, id="1"),
    AIMessage("", id="2", tool_calls=CALLS),
    ToolMessage("sunny " * 100, tool_call_id="call_1", id="3"),
    ToolMessage("rainy " * 100, tool_call_id="call_2", id="4"),
    AIMessage("The first day is better.", id="5"),
    HumanMessage("Thanks.", id="6"),
]
result = summarize_messages(
    MESSAGES,
    running_summary=None,
    token_counter=count_tokens_approximately,
    model=FakeListChatModel(responses=["A comparison of the weather."]),
    max_tokens=400,
    max_tokens_before_summary=300,
    max_summary_tokens=100,
)
kept = [(message.type, getattr(message, "tool_call_id", None)) for message in result.messages]
print(kept)
assert kept == [("system", None), ("tool", "call_2"), ("ai", None), ("human", None)]
PYTHON
