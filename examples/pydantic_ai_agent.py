"""A pydantic-ai agent with Quire's window: pydantic_ai_agent.py CONVERSATION REQUEST; see os.environ below.

Install it with pip install "./clients/python[pydantic-ai]".
"""

import asyncio
import os
import sys

if len(sys.argv) < 3:
    sys.exit(__doc__)

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel

from quire_client import AsyncQuire
from quire_client.pydantic_ai import QuireMemory


async def main(conversation: str, request: str) -> None:
    model = OpenAIChatModel(os.environ["MODEL"])  # OPENAI_BASE_URL and OPENAI_API_KEY
    async with AsyncQuire(os.environ.get("QUIRE_URL", "http://127.0.0.1:8000")) as quire:
        memory = QuireMemory(quire, conversation=conversation, user_id="me", budget=8000)
        agent = Agent(model, instructions="Be brief.", capabilities=[memory], tools=await memory.tools())
        print((await agent.run(request)).output)


asyncio.run(main(sys.argv[1], " ".join(sys.argv[2:])))
