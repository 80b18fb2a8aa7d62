"""Run by test_adapters.py: Quire's session and OpenAI's own, under the real Runner, with parallel tools."""

import asyncio
import os
from typing import Any

from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from agents.memory import Session
from openai import AsyncOpenAI

from quire_client import AsyncQuire
from quire_client.openai_agents import QuireSession


def look(at: str) -> str:
    """Look at something."""
    return f"saw {at}"


async def session_is_kept(session: Any) -> None:
    assert await session.get_items() == []
    items: list[Any] = [{"role": "user", "content": f"line {n}"} for n in range(25)]
    await session.add_items(items)
    assert await session.get_items() == items
    assert await session.get_items(3) == items[-3:]
    assert await session.pop_item() == items[-1]
    assert await session.get_items() == items[:-1]
    await session.clear_session()
    assert await session.get_items() == []
    assert await session.pop_item() is None
    await session.clear_session()


async def main() -> None:
    set_tracing_disabled(disabled=True)
    url = os.environ["QUIRE_URL"]
    model = OpenAIChatCompletionsModel(os.environ["MODEL"], AsyncOpenAI())
    agent = Agent(name="Assistant", model=model, tools=[function_tool(look)])
    async with AsyncQuire(url) as quire:
        session = QuireSession("agents", quire, user_id="me")
        assert isinstance(session, Session)
        assert (await Runner.run(agent, "Look.", session=session)).final_output == "Seen."
        kinds = [item.get("type", "message") for item in await session.get_items()]
        assert kinds == ["message", *["function_call"] * 2, *["function_call_output"] * 2, "message"], kinds
        assert (await Runner.run(agent, "And?", session=session)).final_output
        await session.clear_session()
        await session_is_kept(session)


asyncio.run(main())
