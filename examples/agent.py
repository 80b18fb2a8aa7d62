"""A tool-calling agent with Quire as its memory: agent.py CONVERSATION REQUEST; see os.environ below for settings."""

import json
import os
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

if len(sys.argv) < 3:
    sys.exit(__doc__)

Json = dict[str, Any]
BUDGET, STEPS_MAX = 8000, 20
OWN_TOOLS = [{"type": "function", "function": {
    "name": "read_file", "description": "Read a text file of the folder the agent was started in.",
    "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
}}]  # fmt: skip

quire = httpx.Client(base_url=os.environ.get("QUIRE_URL", "http://127.0.0.1:8000"), timeout=60)
key = {"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
model = httpx.Client(base_url=os.environ["OPENAI_BASE_URL"], headers=key, timeout=300)


def post(client: httpx.Client, path: str, body: Json) -> Any:
    return client.post(path, json=body).raise_for_status().json()


def run(conversation: str, recall_tools: set[str], call: Json) -> Json:
    """Return the tool message for a call. Quire runs its own tools, the agent runs the others."""
    name = call["function"]["name"]
    try:
        arguments = json.loads(call["function"]["arguments"] or "{}")
        if name in recall_tools:
            content = post(quire, f"{conversation}/tools/{name}", {"arguments": arguments})["content"]
        else:
            path = Path(arguments["path"]).resolve()
            content = path.read_text() if path.is_relative_to(Path.cwd()) else "There is no such file."
    except (ValueError, KeyError, TypeError, OSError, httpx.HTTPError) as error:
        content = f"That did not work: {error}"
    return {"role": "tool", "tool_call_id": call["id"], "content": content}


def main(conversation_id: str, request: str) -> None:
    conversation = f"/conversations/{quote(conversation_id, safe='')}"
    recall_tools = {tool["function"]["name"] for tool in quire.get("/tools").raise_for_status().json()["tools"]}
    new: list[Json] = [{"role": "user", "content": request}]
    for _ in range(STEPS_MAX):
        post(quire, f"{conversation}/messages", {"user_id": "example", "messages": new})
        if new[-1]["role"] == "assistant":
            print(new[-1]["content"])
            return
        window = post(quire, f"{conversation}/context", {"budget": BUDGET, "tools": OWN_TOOLS})
        asked = {"model": os.environ["MODEL"], "messages": window["messages"], "tools": window["tools"]}
        reply = post(model, "chat/completions", asked)["choices"][0]["message"]
        new = [reply, *(run(conversation, recall_tools, call) for call in reply.get("tool_calls") or [])]
    sys.exit(f"No answer after {STEPS_MAX} steps.")


main(*sys.argv[1:])
