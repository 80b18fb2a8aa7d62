"""Run by test_adapters.py: pydantic-ai with Quire's window, with a history and without, tools and repeated words."""

import asyncio
import os

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel

from quire_client import AsyncQuire
from quire_client.pydantic_ai import QuireMemory


def look(at: str) -> str:
    """Look at something."""
    return f"saw {at}"


async def main() -> None:
    async with AsyncQuire(os.environ["QUIRE_URL"]) as quire:
        memory = QuireMemory(quire, conversation="pydantic", user_id="me", budget=8000)
        agent = Agent(
            OpenAIChatModel(os.environ["MODEL"]), instructions="Be brief.", capabilities=[memory],
            tools=[look, *await memory.tools()],
        )  # fmt: skip
        first = await agent.run("Look.")
        assert first.output == "Seen."
        roles = [message["role"] async for message in quire.history("pydantic")]
        assert roles == ["user", "assistant", "tool", "tool", "assistant"], roles
        for _ in range(2):  # the same words again, without a history
            await agent.run("Look.")
        assert len([m async for m in quire.history("pydantic")]) == 9
        second = await agent.run("And?", message_history=first.all_messages())
        assert len(first.all_messages()) + 2 == len(second.all_messages())
        assert len([m async for m in quire.history("pydantic")]) == 11


asyncio.run(main())
