#!/usr/bin/env bash
# langchain-core 1.8.3: of a call that the stream cut in its arguments, a message of added chunks has a sound call: the
# last path of a list is half of one, and `invalid_tool_calls` is empty. Guessed: an invalid call, as of cut JSON.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet langchain-core==1.8.3
"$folder/venv/bin/python" - <<'PYTHON'
from langchain_core.messages import AIMessageChunk
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.messages.utils import message_chunk_to_message

PARTS = ['{"paths": ["notes.txt", ', '"reports/2026', '-11.md"]}']


def added(parts):
    names = [("call_1", "delete_files"), *[(None, None)] * (len(parts) - 1)]
    chunks = [
        AIMessageChunk("", tool_call_chunks=[tool_call_chunk(index=0, id=id_, name=name, args=part)])
        for (id_, name), part in zip(names, parts)
    ]
    return message_chunk_to_message(chunks[0] + chunks[1:])


whole, cut = added(PARTS), added(PARTS[:2])
print([call["args"] for call in whole.tool_calls], [call["args"] for call in cut.tool_calls], cut.invalid_tool_calls)
assert whole.tool_calls[0]["args"] == {"paths": ["notes.txt", "reports/2026-11.md"]}
assert cut.tool_calls[0]["args"] == {"paths": ["notes.txt", "reports/2026"]}
assert cut.invalid_tool_calls == []
PYTHON
