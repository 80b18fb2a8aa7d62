#!/usr/bin/env bash
# openai-agents 0.24.0: `get_items(limit=2)` of a session gives a tool's output without the call that it answers.
# Guessed: a limit counts calls with their outputs as one, or leaves a lone output out.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet openai-agents==0.24.0
"$folder/venv/bin/python" - <<'PYTHON'
import asyncio

from agents import SQLiteSession

ITEMS = [
    {"role": "user", "content": "What is the weather in Paris?"},
    {"type": "function_call", "call_id": "call_1", "name": "get_weather", "arguments": '{"city": "Paris"}'},
    {"type": "function_call_output", "call_id": "call_1", "output": "sunny"},
    {"role": "assistant", "content": "It is sunny."},
]


async def newest(limit):
    session = SQLiteSession("talk")
    await session.add_items(ITEMS)
    return [item.get("type", item.get("role")) for item in await session.get_items(limit=limit)]


items = asyncio.run(newest(2))
print(items)
assert items == ["function_call_output", "assistant"]
PYTHON
