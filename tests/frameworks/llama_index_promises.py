"""Run by test_adapters.py: LlamaIndex's memory of both kinds of calls, with tools and within a budget."""

import asyncio
import os

from llama_index.core.base.llms.types import (
    CacheControl,
    CachePoint,
    ChatMessage,
    CitableBlock,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from llama_index.core.memory import BaseMemory

from quire_client import Quire
from quire_client.llama_index import QuireMemory


def call(name: str) -> ChatMessage:
    return ChatMessage(
        role="assistant", blocks=[ToolCallBlock(tool_call_id=name, tool_name="look", tool_kwargs={"at": name})]
    )


def main() -> None:
    with Quire(os.environ["QUIRE_URL"]) as quire:
        memory = QuireMemory.from_defaults(quire=quire, conversation="llama", user_id="me", budget=2000)
        assert isinstance(memory, BaseMemory)
        assert memory.get() == memory.get_all() == []
        memory.put(ChatMessage(role="user", content="Look."))
        result = ChatMessage(role="tool", content="saw a", additional_kwargs={"tool_call_id": "a"})
        asyncio.run(memory.aput_messages([call("a"), result]))
        told = memory.get_all()
        assert [m.role.value for m in told] == ["user", "assistant", "tool"]
        assert told[1].blocks[0].tool_name == "look"
        assert told[2].additional_kwargs == {"tool_call_id": "a"}
        memory.set([*told, ChatMessage(role="assistant", content="Seen.")])
        assert len(memory.get_all()) == 4
        for n in range(40):
            memory.put(ChatMessage(role="user", content=f"question {n} " + "why " * 60))
            memory.put(ChatMessage(role="assistant", content=f"answer {n}"))
        window = asyncio.run(memory.aget("question 39"))
        assert len(window) < len(memory.get_all()) == 84
        assert "answer 39" in [message.content for message in window[-2:]]  # what is recalled follows it
        thought = ChatMessage(role="assistant", blocks=[ThinkingBlock(content="Hm.")])
        cached = [TextBlock(text="Look here."), CachePoint(cache_control=CacheControl(type="ephemeral"))]
        page = CitableBlock(title="Tea", source="book", content=[TextBlock(text="Longjing is green.")])
        picture = ImageBlock(url="https://example.com/a.png")
        memory.put_messages([thought, ChatMessage(role="user", blocks=[*cached, page, picture])])
        assert len(memory.get_all()) == 85
        assert memory.get_all()[-1].content == "Look here.\nTea\nLongjing is green.\n[image]"
        memory.reset()
        memory.reset()
        assert memory.get() == []


main()
