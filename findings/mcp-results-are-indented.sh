#!/usr/bin/env bash
# mcp 2.3.0 (Python): a tool that returns a list of objects gives the model a text block for each, indented by two spaces:
# 50 rows of three members cost 1.6 times the tokens of compact JSON. An empty list gives no content at all. Guessed: one
# block of compact JSON, and "[]".
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet mcp==2.3.0 mistral-common==1.13.1
"$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
import asyncio
import json

from mcp.client import Client
from mcp.server.mcpserver import MCPServer
from mistral_common.tokens.tokenizers.mistral import MistralTokenizer

ROWS = [{"id": i, "city": "Paris", "sunny": True} for i in range(50)]
server = MCPServer("weather")


@server.tool()
def days() -> list[dict]:
    return ROWS


@server.tool()
def none() -> list:
    return []


async def called(name):
    async with Client(server) as client:
        return [block.text for block in (await client.call_tool(name, {})).content]


tokenizer = MistralTokenizer.v3(is_tekken=True).instruct_tokenizer.tokenizer
texts, empty = asyncio.run(called("days")), asyncio.run(called("none"))
shown = sum(len(tokenizer.encode(text, bos=False, eos=False)) for text in texts)
compact = len(tokenizer.encode(json.dumps(ROWS, separators=(",", ":")), bos=False, eos=False))
print(f"{len(texts)} blocks, {shown} tokens; compact {compact}; an empty list: {empty}")
assert len(texts) == 50
assert empty == []
assert 1.5 * compact < shown < 1.7 * compact
PYTHON
