"""A session of the OpenAI Agents SDK that is a conversation of Quire.

    session = QuireSession("tea", AsyncQuire(), user_id="me")
    await Runner.run(agent, "Which tea?", session=session)

The items are stored as messages, so search, memories, archives and every other client find them. ``get_items`` returns
all of them as they were said. For Quire's window, let the model be asked through the proxy, with ``conversation_id`` in
place of a session.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from quire_client import calls
from quire_client.client import AsyncQuire
from quire_client.errors import NotFound
from quire_client.shapes import Json

READ_AT_ONCE = 100
ADDED_AT_ONCE = 1_000
ITEMS = "agents_items"
"""The member of a message that holds its items, where they say more than the message."""
_MARKS, _MARK = frozenset({"[erased]", "[已删除]"}), "erased"
"""The content of a message that was erased, and the name of the tool that it calls."""


class QuireSession:
    """The SDK's ``Session``. ``conversation`` is created with the first items, for ``user_id``."""

    session_settings: Any = None

    def __init__(self, conversation: str, quire: AsyncQuire, *, user_id: str) -> None:
        self.session_id = conversation
        self._quire, self._user_id = quire, user_id

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """Return the session's items, oldest first: all, or the newest ``limit``."""
        found: list[Json] = []
        async for message in self._newest():
            found += reversed(items_of(message))
            if limit is not None and len(found) >= limit:
                break
        return found[:limit][::-1]

    async def add_items(self, items: Sequence[Mapping[str, Any]]) -> None:
        """Store items. The conversation is created if it is new."""
        messages = messages_of(items)
        for first in range(0, len(messages), ADDED_AT_ONCE):
            some = messages[first : first + ADDED_AT_ONCE]
            await self._quire.append(self.session_id, some, user_id=self._user_id)

    async def pop_item(self) -> Any | None:
        """Erase the newest item, with the other items of its message, and return it; None if there is none."""
        async for message in self._newest():
            if items := items_of(message):
                path = calls.conversation(self.session_id, "messages", message["id"])
                await self._quire.send(calls.write("DELETE", path, None))
                return items[-1]
        return None

    async def clear_session(self) -> None:
        """Erase the conversation and everything derived from it."""
        try:
            await self._quire.delete(self.session_id)
        except NotFound:
            return

    async def _newest(self) -> AsyncIterator[Json]:
        """Iterate over the messages, newest first; of a conversation that is not there, over none."""
        try:
            async for message in self._quire.history(self.session_id, newest_first=True, batch=READ_AT_ONCE):
                yield message
        except NotFound:
            return


def messages_of(items: Sequence[Mapping[str, Any]]) -> list[Json]:
    """Return messages in OpenAI form. What the assistant says once, thinks and calls up to its results is one."""
    found: list[Json] = []
    said: list[Json] = []
    for item in map(dict, items):
        is_text = item.get("role") == "assistant"
        is_result = str(item.get("type")).endswith("_output") and "call_id" in item
        begins = is_text and any("role" in one for one in said) and not any("call_id" in one for one in said)
        if said and (begins or is_result or item.get("role") not in (None, "assistant")):
            found.append(_with_items(_answer(said), said))
            said = []
        if is_result:
            message = {"role": "tool", "tool_call_id": item["call_id"], "content": _text(item.get("output"))}
            found.append(_with_items(message, [item]))
        elif is_text or "role" not in item:
            said.append(item)
        else:
            content = item["content"] if isinstance(item["content"], str) else [*map(_part, item["content"])]
            found.append(_with_items({"role": item["role"], "content": content}, [item]))
    return [*found, *([_with_items(_answer(said), said)] if said else [])]


def items_of(message: Mapping[str, Any]) -> list[Json]:
    """Return the items of a message; of one that another client sent, its text and calls."""
    if ITEMS in message:
        return list(message[ITEMS])
    text = _text(message["content"])
    if text in _MARKS:
        return []
    if message["role"] == "tool":
        return [{"type": "function_call_output", "call_id": message["tool_call_id"], "output": text}]
    calling = [(call["id"], call["function"]) for call in message.get("tool_calls") or ()]
    return [
        *([{"role": message["role"], "content": text}] if text else []),
        *({"type": "function_call", "call_id": id_, **called} for id_, called in calling if called["name"] != _MARK),
    ]


def _with_items(message: Json, items: Sequence[Json]) -> Json:
    return message if items_of(message) == items else {**message, ITEMS: items}


def _answer(items: Sequence[Json]) -> Json:
    texts = [_text(item["content"]) for item in items if "role" in item]
    message: Json = {"role": "assistant", "content": "\n".join(filter(None, texts))}
    called = [_call(item) for item in items if "call_id" in item]
    return {**message, "content": message["content"] or None, "tool_calls": called} if called else message


def _call(item: Json) -> Json:
    """Return a call of a function, or of a tool of another kind by the name of that."""
    rest = {name: value for name, value in item.items() if name not in ("id", "type", "call_id", "name", "status")}
    arguments = item.get("arguments") or json.dumps(rest, ensure_ascii=False)
    name = item.get("name") or str(item["type"]).removesuffix("_call")
    return {"id": item["call_id"], "type": "function", "function": {"name": name, "arguments": arguments}}


def _part(part: Mapping[str, Any]) -> Json:
    """Return a part of a content in OpenAI form. Files are named."""
    if isinstance(part.get("image_url"), str):
        return {"type": "image_url", "image_url": {"url": part["image_url"]}}
    return {"type": "text", "text": _text([part]) or f"[{part.get('filename') or 'file'}]"}


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return "" if content is None else json.dumps(content, ensure_ascii=False)
    names = ("text", "refusal", "stdout")
    parts = (part.get(name) for part in content if isinstance(part, dict) for name in names)
    return "\n".join(part for part in parts if isinstance(part, str) and part)
