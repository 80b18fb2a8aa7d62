"""Run by test_adapters.py: pydantic-ai with Quire's window, with a history and without, tools and repeated words."""

import asyncio
import os

from pydantic_ai import Agent, CachePoint, ImageUrl, ModelRetry
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.openai import OpenAIChatModel

from quire_client import AsyncQuire
from quire_client.calls import read
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
        await what_nobody_said_is_in_no_mouth(quire)


async def what_nobody_said_is_in_no_mouth(quire: AsyncQuire) -> None:
    memory = QuireMemory(quire, conversation="parts", user_id="me", budget=8000)
    seen: list[list[ModelMessage]] = []

    def play(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        seen.append(messages)
        asked = [ToolCallPart("fail", {}, tool_call_id="f")], [TextPart("No.")], [TextPart("Yes.")]
        return ModelResponse(parts=asked[min(len(seen) - 1, 2)])

    def fail() -> str:
        """Fail."""
        raise ModelRetry("Not now.")

    agent = Agent(FunctionModel(play), capabilities=[memory], tools=[fail], retries=3)

    @agent.output_validator  # type: ignore[untyped-decorator]
    def judge(said: str) -> str:
        if said != "Yes.":
            raise ModelRetry("Say yes.")
        return said

    picture = ImageUrl("https://example.com/a.png")
    assert (await agent.run(["Look here.", CachePoint(), picture])).output == "Yes."
    kept = [message async for message in quire.history("parts")]
    assert [m["role"] for m in kept] == ["user", "assistant", "tool", "assistant", "user", "assistant"], kept
    assert kept[0]["content"] == "Look here.\n[image]"
    assert kept[2].get("is_error") is True
    assert "Not now." in kept[2]["content"]
    assert "Say yes." in kept[4]["content"]
    assert "automated feedback, not a message from the user" in str(seen[2][-1]), seen[2]
    assert picture in next(p.content for m in seen[2] for p in m.parts if isinstance(p, UserPromptPart))
    returned = [p for m in seen[1] for p in m.parts if isinstance(p, ToolReturnPart)]
    assert [part.outcome for part in returned] == ["retried"], returned
    window = (await quire.context("parts", budget=8000)).messages
    assert [m["author"] for m in (await quire.send(read("/conversations/parts/messages")))["items"]][4] == "machine"
    assert not any("[retry" in str(m["content"]) or "[cache" in str(m["content"]) for m in window)


asyncio.run(main())
