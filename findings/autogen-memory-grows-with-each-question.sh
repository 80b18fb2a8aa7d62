#!/usr/bin/env bash
# autogen-agentchat 0.7.5: an agent with a memory writes all of it into its context again at each run, as a system message
# behind the question, and keeps the former ones: the third question is sent with three copies. Guessed: one, the newest.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet autogen-agentchat==0.7.5 autogen-ext==0.7.5 autogen-core==0.7.5
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
import asyncio

from autogen_agentchat.agents import AssistantAgent
from autogen_core.memory import ListMemory, MemoryContent, MemoryMimeType
from autogen_ext.models.replay import ReplayChatCompletionClient


async def main():
    memory = ListMemory()
    await memory.add(MemoryContent(content="Lin likes tea.", mime_type=MemoryMimeType.TEXT))
    client = ReplayChatCompletionClient(["one", "two", "three"])
    agent = AssistantAgent("helper", model_client=client, memory=[memory], system_message="Be brief.")
    for question in ("What is a cat?", "What is a dog?", "What is a cow?"):
        await agent.run(task=question)
    return [[(one.type, "likes tea" in str(one.content)) for one in call["messages"]] for call in client.create_calls]


calls = asyncio.run(main())
for call in calls:
    print(call)
assert [sum(is_memory for _, is_memory in call) for call in calls] == [1, 2, 3]
assert calls[1] == [
    ("SystemMessage", False), ("UserMessage", False), ("SystemMessage", True), ("AssistantMessage", False),
    ("UserMessage", False), ("SystemMessage", True),
]
PYTHON
