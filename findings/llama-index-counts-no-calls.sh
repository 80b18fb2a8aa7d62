#!/usr/bin/env bash
# llama-index-core 0.14.25: `Memory` and `ChatMemoryBuffer` count the text of messages alone: a call with 1,000 words of arguments,
# or a thought of 5,000, costs nothing of a limit of 100 tokens, and both are given. A message over the limit is, too.
# Guessed: all that is sent counts, and what is given is within the limit.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet llama-index-core==0.14.25
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
from llama_index.core.base.llms.types import ThinkingBlock, ToolCallBlock
from llama_index.core.llms import ChatMessage
from llama_index.core.memory import ChatMemoryBuffer, Memory

CALL = ToolCallBlock(tool_call_id="c1", tool_name="look_up", tool_kwargs={"text": "tea " * 1000})
GIVEN = {
    "call": ChatMessage(role="assistant", blocks=[CALL]),
    "thought": ChatMessage(role="assistant", blocks=[ThinkingBlock(content="hm " * 5000)]),
}


def kept(memory, *messages):
    for message in messages:
        memory.put(message)
    return [message.role.value for message in memory.get()]


for name, message in GIVEN.items():
    for kind in (Memory, ChatMemoryBuffer):
        memory = kind.from_defaults(token_limit=100, tokenizer_fn=str.split)
        roles = kept(memory, ChatMessage(role="user", content="Which tea?"), message)
        print(kind.__name__, name, roles)
        assert roles == ["user", "assistant"]
for kind in (Memory, ChatMemoryBuffer):
    memory = kind.from_defaults(token_limit=100, tokenizer_fn=str.split)
    assert kept(memory, ChatMessage(role="user", content="tea " * 1000)) == ["user"]
PYTHON
