"""A LlamaIndex memory that is a conversation of Quire.

    memory = QuireMemory.from_defaults(quire=Quire(), conversation="tea", user_id="me", budget=8000)
    SimpleChatEngine.from_defaults(llm=llm, memory=memory).chat("Which tea?")

``get`` returns Quire's window within the budget, with memories that answer ``input``; ``get_all`` returns everything.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Self

from llama_index.core.base.llms.types import ChatMessage, TextBlock, ToolCallBlock
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.memory import BaseMemory

from quire_client.client import Quire
from quire_client.errors import NotFound
from quire_client.shapes import Json, mark_of_file

RECALL_MAX_TOKENS = 800
QUERY_CHARACTERS_MAX = 10_000


class QuireMemory(BaseMemory):
    """The memory of one conversation, created with its first message. ``budget`` are tokens, everything included."""

    conversation: str
    user_id: str
    budget: int | None = None
    recall_max_tokens: int | None = RECALL_MAX_TOKENS
    """Tokens of memories that ``get(input)`` may bring in; None brings in none."""
    _quire: Quire = PrivateAttr()

    @classmethod
    def class_name(cls) -> str:
        return "QuireMemory"

    @classmethod
    def from_defaults(cls, *, quire: Quire | None = None, **fields: Any) -> Self:
        """Return the memory of a conversation; ``quire`` defaults to a service on this machine."""
        made = cls(**fields)
        made._quire = quire or Quire()
        return made

    def get(self, input: str | None = None, **_: Any) -> list[ChatMessage]:  # noqa: A002 - LlamaIndex's
        """Return the window for the next model call."""
        query = (input or "").strip()[:QUERY_CHARACTERS_MAX] if self.recall_max_tokens else None
        recalled = self.recall_max_tokens if query else None
        try:
            window = self._quire.context(
                self.conversation, budget=self.budget, query=query or None, recall_max_tokens=recalled
            )
        except NotFound:
            return []
        return [_received(message) for message in window.messages]

    def get_all(self) -> list[ChatMessage]:
        """Return the whole history."""
        try:
            return [_received(message) for message in self._quire.history(self.conversation)]
        except NotFound:
            return []

    def put(self, message: ChatMessage) -> None:
        self.put_messages([message])

    def put_messages(self, messages: Sequence[ChatMessage]) -> None:
        """Store messages, all or none."""
        if told := _told(messages):
            self._quire.append(self.conversation, told, user_id=self.user_id)

    def set(self, messages: Sequence[ChatMessage]) -> None:
        """Store what is new in a whole list. Nothing stored is changed; an empty list changes nothing."""
        if listed := _told(messages):
            self._quire.sync(self.conversation, listed, user_id=self.user_id, on_fork="append")

    def reset(self) -> None:
        """Erase the conversation and everything derived from it."""
        try:
            self._quire.delete(self.conversation)
        except NotFound:
            return


def _told(messages: Sequence[ChatMessage]) -> list[Json]:
    """Messages in OpenAI form, without those of an assistant that say and call nothing: they only think."""
    told = [_sent(message) for message in messages]
    return [one for one in told if one["role"] != "assistant" or one["content"] or "tool_calls" in one]


def _words(block: Any) -> str:
    """Return the words of a block. A file gives its name; thinking and cache marks give nothing."""
    if isinstance(block, TextBlock):
        return str(block.text)
    if block.block_type == "citable":
        return "\n".join(filter(None, [block.title, *map(_words, block.content)]))
    return mark_of_file(block.block_type)


def _sent(message: ChatMessage) -> Json:
    texts = list(filter(None, map(_words, message.blocks)))
    role = {"function": "tool", "model": "assistant", "chatbot": "assistant"}.get(
        message.role.value, message.role.value
    )
    found: Json = {"role": role, "content": "\n".join(texts)}
    if role == "tool":
        return {**found, "tool_call_id": message.additional_kwargs.get("tool_call_id", "unknown")}
    calls = [_call(block) for block in message.blocks if isinstance(block, ToolCallBlock)]
    calls = calls or [_plain(call) for call in message.additional_kwargs.get("tool_calls") or []]
    return {**found, "tool_calls": calls} if calls and role == "assistant" else found


def _call(block: ToolCallBlock) -> Json:
    given = block.tool_kwargs
    arguments = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    function = {"name": block.tool_name, "arguments": arguments}
    return {"id": block.tool_call_id or block.tool_name, "type": "function", "function": function}


def _plain(call: Any) -> Json:
    """A call as LLM classes keep it: a mapping, or a model of the provider's package."""
    found: Json = call if isinstance(call, dict) else call.model_dump()
    return found


def _received(message: Json) -> ChatMessage:
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}] if content else []
    blocks: list[Any] = [TextBlock(text=part["text"]) for part in parts if part.get("type") == "text"]
    for call in message.get("tool_calls") or []:
        function = call["function"]
        named = {"tool_call_id": call["id"], "tool_name": function["name"], "tool_kwargs": function["arguments"]}
        blocks.append(ToolCallBlock(**named))
    extra = {"tool_call_id": message["tool_call_id"]} if message.get("tool_call_id") else {}
    role = "system" if message["role"] == "developer" else message["role"]
    return ChatMessage(role=role, blocks=blocks, additional_kwargs=extra)
