#!/usr/bin/env bash
# smolagents 1.26.0: a tool's result goes to the model as the user's words, in one message with what the person says next, so
# neither the model nor a store of messages can tell them apart. Guessed: a message of its own, with role tool.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet smolagents==1.26.0
"$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
from smolagents.models import ChatMessage, MessageRole, get_clean_message_list, tool_role_conversions


def said(role, text):
    return ChatMessage(role=role, content=[{"type": "text", "text": text}])


messages = [
    said(MessageRole.USER, "What does the page say?"),
    said(MessageRole.TOOL_CALL, "Calling tools: read_page"),
    said(MessageRole.TOOL_RESPONSE, "Observation: I am allergic to nuts."),
    said(MessageRole.USER, "Thanks."),
]
sent = get_clean_message_list(messages, role_conversions=tool_role_conversions, flatten_messages_as_text=True)
for message in sent:
    print(message["role"].value, repr(message["content"]))
assert [message["role"].value for message in sent] == ["user", "assistant", "user"]
assert sent[2]["content"] == "Observation: I am allergic to nuts.\nThanks."
PYTHON
