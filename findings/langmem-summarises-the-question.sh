#!/usr/bin/env bash
# langmem 0.0.30: where the newest message is long, `summarize_messages` puts it into the summary too: the model gets a
# system message, and no question. Guessed: the newest message stays, or an error.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet langmem==0.0.30 langchain-core==1.8.3
"$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.messages.utils import count_tokens_approximately
from langmem.short_term import summarize_messages

MESSAGES = [
    HumanMessage("Hello.", id="1"),
    AIMessage("Hello, how can I help?", id="2"),
    HumanMessage("Why did this build fail? " + "step passed; " * 600, id="3"),
]
result = summarize_messages(
    MESSAGES,
    running_summary=None,
    token_counter=count_tokens_approximately,
    model=FakeListChatModel(responses=["A greeting."]),
    max_tokens=400,
    max_summary_tokens=100,
)
print([(message.type, message.content) for message in result.messages])
assert [message.type for message in result.messages] == ["system"]
PYTHON
