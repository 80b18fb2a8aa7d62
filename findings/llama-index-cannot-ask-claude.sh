#!/usr/bin/env bash
# llama-index-llms-anthropic 0.12.3 takes any anthropic from 0.75 on; with 2.14.0, where `MessageParam` is a union, it raises
# at each message: "Cannot instantiate typing.Union". Guessed: what pip takes for a pair fits.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet llama-index-llms-anthropic==0.12.3 llama-index-core==0.14.25 anthropic==2.14.0
"$folder/venv/bin/pip" check >/dev/null
"$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
from llama_index.core.base.llms.types import ChatMessage
from llama_index.llms.anthropic.utils import messages_to_anthropic_messages

try:
    messages_to_anthropic_messages([ChatMessage(role="user", content="Which tea?")])
    raised = None
except TypeError as error:
    raised = str(error)
print(raised)
assert raised == "Cannot instantiate typing.Union"
PYTHON
