"""A session of the OpenAI Agents SDK in Quire: agents_sdk_session.py CONVERSATION REQUEST; see os.environ below.

Install it with pip install "./clients/python[openai-agents]".
"""

import asyncio
import os
import sys

if len(sys.argv) < 3:
    sys.exit(__doc__)

from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from openai import AsyncOpenAI

from quire_client import AsyncQuire
from quire_client.openai_agents import QuireSession


async def main(conversation: str, request: str) -> None:
    set_tracing_disabled(disabled=True)
    model = OpenAIChatCompletionsModel(os.environ["MODEL"], AsyncOpenAI())  # OPENAI_BASE_URL and OPENAI_API_KEY
    agent = Agent(name="Assistant", instructions="Be brief.", model=model)
    async with AsyncQuire(os.environ.get("QUIRE_URL", "http://127.0.0.1:8000")) as quire:
        session = QuireSession(conversation, quire, user_id="me")
        print((await Runner.run(agent, request, session=session)).final_output)


asyncio.run(main(sys.argv[1], " ".join(sys.argv[2:])))
