#!/usr/bin/env bash
# mcp 2.3.0 (Python): of a tool's argument that may be left out (`str | None`), a text that is JSON is parsed before it is
# checked: "[1, 2]" is refused as a list, "null" arrives as None. A plain `str` takes both. Guessed: a string stays one.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet mcp==2.3.0
"$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
import asyncio

from mcp.client import Client
from mcp.server.mcpserver import MCPServer

server = MCPServer("notes")


@server.tool()
def remember(title: str, text: str | None = None) -> str:
    return repr((title, text))


async def main():
    found = {}
    async with Client(server) as client:
        for said in ("[1, 2]", '{"tea": "longjing"}', "null", "12", "tea"):
            for name in ("title", "text"):
                result = await client.call_tool("remember", {"title": "x", name: said})
                found[name, said] = "refused" if result.is_error else result.content[0].text
    return found


found = asyncio.run(main())
for (name, said), answer in found.items():
    print(f"{name} = {said!r}: {answer}")
assert all(found["title", said] == repr((said, None)) for said in ("[1, 2]", '{"tea": "longjing"}', "null"))
assert found["text", "[1, 2]"] == found["text", '{"tea": "longjing"}'] == "refused"
assert found["text", "null"] == "('x', None)"
assert found["text", "12"] == "('x', '12')"
PYTHON
