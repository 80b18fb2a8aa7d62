"""A history provider of Microsoft's Agent Framework that is a conversation of Quire.

    history = QuireHistory(AsyncQuire(), user_id="me", budget=8000)
    agent = Agent(client, context_providers=[history])
    await agent.run("Which tea?", session=AgentSession(session_id="tea"))

Before a run the agent is given Quire's window, with memories that answer the newest user message; after it, what was
said is stored. The session's id names the conversation.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from agent_framework import Content, HistoryProvider, Message

from quire_client import calls
from quire_client.client import AsyncQuire
from quire_client.errors import Conflict, NotFound
from quire_client.shapes import Json, mark_of_file

RECALL_MAX_TOKENS = 800
QUERY_CHARACTERS_MAX = 10_000


class QuireHistory(HistoryProvider):
    """The history of one user's conversations. ``budget`` are tokens of the window, without the run's new messages."""

    def __init__(
        self,
        quire: AsyncQuire,
        *,
        user_id: str,
        budget: int | None = None,
        recall_max_tokens: int | None = RECALL_MAX_TOKENS,
        source_id: str = "quire",
    ) -> None:
        super().__init__(source_id)
        self._quire, self._user_id, self._budget = quire, user_id, budget
        self._recall_max_tokens = recall_max_tokens

    async def before_run(self, *, agent: Any, session: Any, context: Any, state: dict[str, Any]) -> None:  # noqa: ARG002
        """Give the agent the window of its session, with memories that answer what it is asked now."""
        asked = [message.text for message in context.input_messages if message.role == "user"]
        context.extend_messages(self, await self._window(context.session_id, asked[-1] if asked else ""))

    async def get_messages(self, session_id: str | None, **_: Any) -> list[Message]:
        """Return the window without recalled memories."""
        return await self._window(session_id, "")

    async def save_messages(self, session_id: str | None, messages: Sequence[Message], **_: Any) -> None:
        """Store messages, all or none."""
        if told := [one for message in messages for one in _sent(message)]:
            await self._quire.append(_named(session_id), told, user_id=self._user_id)

    async def _window(self, session_id: str | None, asked: str) -> list[Message]:
        conversation = _named(session_id)
        query = asked.strip()[:QUERY_CHARACTERS_MAX] if self._recall_max_tokens else ""
        recalled = self._recall_max_tokens if query else None
        options: Json = {"budget": self._budget, "query": query or None, "recall_max_tokens": recalled, "recall": "off"}
        try:
            window = await self._quire.context(conversation, **options)
        except NotFound:
            if not query:
                return []
            await self._create(conversation)  # other conversations can answer too
            window = await self._quire.context(conversation, **options)
        return [_received(message) for message in window.messages]

    async def _create(self, conversation: str) -> None:
        body = {"id": conversation, "user_id": self._user_id}
        try:
            await self._quire.send(calls.write("POST", "/conversations", None, body))
        except Conflict:  # another call has just made it
            return


def _named(session_id: str | None) -> str:
    if not session_id:
        raise ValueError("QuireHistory needs a session: its id names the conversation.")
    return session_id


def _sent(message: Message) -> list[Json]:
    """A message in OpenAI form, one for each result. Files are named; what is no words of anybody's is left out."""
    results = [_result(content) for content in message.contents if content.type == "function_result"]
    calls_made = [_call(content) for content in message.contents if content.type == "function_call"]
    texts = [
        content.text if content.type == "text" else mark_of_file(content.type, getattr(content, "media_type", None))
        for content in message.contents
    ]
    if not any(texts) and not calls_made:
        return results
    role = message.role if message.role in ("system", "user", "assistant") else "assistant"
    told: Json = {"role": role, "content": "\n".join(text for text in texts if text)}
    return [*results, {**told, "tool_calls": calls_made} if calls_made else told]


def _result(content: Content) -> Json:
    """A result as a message; one that only names its exception says that."""
    text = content.exception if content.result in (None, "") else content.result
    told = {"role": "tool", "tool_call_id": content.call_id, "content": "" if text is None else str(text)}
    return {**told, "is_error": True} if content.exception else told


def _call(content: Content) -> Json:
    given = content.arguments
    arguments = given if isinstance(given, str) else json.dumps(given or {}, ensure_ascii=False)
    return {"id": content.call_id, "type": "function", "function": {"name": content.name, "arguments": arguments}}


def _received(message: Json) -> Message:
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}] if content else []
    contents = [Content.from_text(part["text"]) for part in parts if part.get("type") == "text"]
    if message["role"] == "tool":
        text = "\n".join(part.text for part in contents)
        return Message("tool", [Content.from_function_result(message["tool_call_id"], result=text)])
    for call in message.get("tool_calls") or []:
        function = call["function"]
        contents.append(Content.from_function_call(call["id"], function["name"], arguments=function["arguments"]))
    return Message("system" if message["role"] == "developer" else message["role"], contents)
