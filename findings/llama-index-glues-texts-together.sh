#!/usr/bin/env bash
# llama-index-llms-openai 0.8.3: the text blocks of a user's message become one string with nothing between them, for Chat
# and for Responses: a recalled note and the question run into each other. Guessed: two parts, or a blank line.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet llama-index-llms-openai==0.8.3 llama-index-core==0.14.25
"$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
from llama_index.core.base.llms.types import ChatMessage, TextBlock
from llama_index.llms.openai.utils import to_openai_message_dicts

BLOCKS = [TextBlock(text="Lin's flight leaves at 9"), TextBlock(text="30 people come to dinner: is that too many?")]
message = ChatMessage(role="user", blocks=BLOCKS)
[chat] = to_openai_message_dicts([message], model="gpt-4o")
responses = to_openai_message_dicts([message], model="gpt-4o", is_responses_api=True)
print(chat)
print(responses)
assert chat["content"] == responses == "Lin's flight leaves at 930 people come to dinner: is that too many?"
PYTHON
