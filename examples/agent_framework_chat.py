"""An agent of Microsoft's Agent Framework with Quire's history: agent_framework_chat.py CONVERSATION REQUEST.

Install it with pip install "./clients/python[agent-framework]" agent-framework-openai; see os.environ below.
"""

import asyncio
import os
import sys

if len(sys.argv) < 3:
    sys.exit(__doc__)

from agent_framework import Agent, AgentSession
from agent_framework.openai import OpenAIChatCompletionClient

from quire_client import AsyncQuire
from quire_client.agent_framework import QuireHistory


async def main(conversation: str, request: str) -> None:
    client = OpenAIChatCompletionClient(os.environ["MODEL"])  # OPENAI_BASE_URL and OPENAI_API_KEY
    async with AsyncQuire(os.environ.get("QUIRE_URL", "http://127.0.0.1:8000")) as quire:
        history = QuireHistory(quire, user_id="me", budget=8000)
        agent = Agent(client, "Be brief.", context_providers=[history])
        print((await agent.run(request, session=AgentSession(session_id=conversation))).text)


asyncio.run(main(sys.argv[1], " ".join(sys.argv[2:])))
