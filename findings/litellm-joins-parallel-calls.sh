#!/usr/bin/env bash
# litellm 1.110.2: `stream_chunk_builder` makes one call of two that come whole at the same index, as Gemini's OpenAI form
# streams parallel calls: the name and id of the second, and both arguments, which are no JSON. LangChain keeps two.
# Guessed: a new id begins a new call.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet litellm==1.110.2 langchain-core==1.8.3
LITELLM_LOCAL_MODEL_COST_MAP=True "$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
import contextlib
import io

from langchain_core.messages import AIMessageChunk
from langchain_core.messages.tool import tool_call_chunk
from litellm import stream_chunk_builder
from litellm.types.utils import ModelResponseStream

CALLS = [("call_1", "get_weather", '{"city": "Paris"}'), ("call_2", "get_time", '{"city": "Rome"}')]


def chunk(delta, finish=None):
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return ModelResponseStream(id="1", created=1, model="gpt-4o", object="chat.completion.chunk", choices=[choice])


chunks = [
    chunk({"tool_calls": [{"index": 0, "id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}]})
    for id_, name, arguments in CALLS
]
with contextlib.redirect_stdout(io.StringIO()):
    built = stream_chunk_builder([*chunks, chunk({}, "tool_calls")]).choices[0].message.tool_calls
parts = [AIMessageChunk("", tool_call_chunks=[tool_call_chunk(index=0, id=i, name=n, args=a)]) for i, n, a in CALLS]
kept = (parts[0] + parts[1]).tool_calls
print("litellm:", [(call.id, call.function.name, call.function.arguments) for call in built])
print("langchain:", [(call["id"], call["name"], call["args"]) for call in kept])
assert [(call.id, call.function.name) for call in built] == [("call_2", "get_time")]
assert built[0].function.arguments == '{"city": "Paris"}{"city": "Rome"}'
assert [call["id"] for call in kept] == ["call_1", "call_2"]
PYTHON
