#!/usr/bin/env bash
# langchain-core 1.8.3: `merge_message_runs` joins the messages of two named people into one without a name, and
# `get_buffer_string`, from which summaries are written, calls both "Human". Guessed: names stay, or keep them apart.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet langchain-core==1.8.3
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
from langchain_core.messages import HumanMessage, get_buffer_string, merge_message_runs

MESSAGES = [HumanMessage("I am allergic to nuts.", name="Ann"), HumanMessage("I eat everything.", name="Bob")]
merged, text = merge_message_runs(MESSAGES), get_buffer_string(MESSAGES)
print([(message.name, message.content) for message in merged])
print(text)
assert [message.name for message in merged] == [None]
assert merged[0].content == "I am allergic to nuts.\nI eat everything."
assert text == "Human: I am allergic to nuts.\nHuman: I eat everything."
PYTHON
