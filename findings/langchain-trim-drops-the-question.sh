#!/usr/bin/env bash
# langchain-core 1.8.3: where the newest message alone is over the limit, `trim_messages(strategy="last")` gives the
# system prompt and no message, without an error, with `allow_partial=True` too. Guessed: it raises, or cuts the message.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet langchain-core==1.8.3
"$folder/venv/bin/python" - <<'PYTHON'
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, trim_messages
from langchain_core.messages.utils import count_tokens_approximately

MESSAGES = [
    SystemMessage("Be brief."),
    HumanMessage("Hello."),
    AIMessage("Hello, how can I help?"),
    HumanMessage("Summarise this log: " + "the build has passed. " * 100),
]


def kept(**more):
    trimmed = trim_messages(
        MESSAGES,
        max_tokens=200,
        token_counter=count_tokens_approximately,
        strategy="last",
        include_system=True,
        **more,
    )
    return [message.type for message in trimmed]


print(kept(), kept(start_on="human"), kept(allow_partial=True))
assert kept() == kept(start_on="human") == kept(allow_partial=True) == ["system"]
PYTHON
