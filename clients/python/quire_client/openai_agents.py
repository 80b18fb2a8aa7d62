"""A session of the OpenAI Agents SDK that is a conversation of Quire.

    session = QuireSession("tea", AsyncQuire(), user_id="me")
    await Runner.run(agent, "Which tea?", session=session)

The items are stored as messages, so search, memories, archives and every other client find them. ``get_items`` returns
all of them as they were said. For Quire's window, let the model be asked through the proxy, with ``conversation_id`` in
place of a session.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from quire_client import calls
from quire_client.client import AsyncQuire
from quire_client.errors import Conflict, NotFound
from quire_client.shapes import Json

ITEMS_AT_ONCE = 100
ADDED_AT_ONCE = 1_000


class QuireSession:
    """The SDK's ``Session``. ``conversation`` is created with the first items, for ``user_id``."""

    session_settings: Any = None

    def __init__(self, conversation: str, quire: AsyncQuire, *, user_id: str) -> None:
        self.session_id = conversation
        self._quire, self._user_id = quire, user_id

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """Return the session's items, oldest first: all, or the newest ``limit``."""
        found: list[Json] = []
        after: str | None = None
        while limit is None or len(found) < limit:
            some = ITEMS_AT_ONCE if limit is None else min(ITEMS_AT_ONCE, limit - len(found))
            try:
                page = await self._quire.send(calls.read(self._path(), order="desc", limit=some, after=after))
            except NotFound:
                break
            found += page["data"]
            if not page["has_more"]:
                break
            after = page["last_id"]
        return found[::-1]

    async def add_items(self, items: Sequence[Mapping[str, Any]]) -> None:
        """Store items. The conversation is created if it is new."""
        for first in range(0, len(items), ADDED_AT_ONCE):
            body = {"items": [dict(item) for item in items[first : first + ADDED_AT_ONCE]]}
            try:
                await self._quire.send(calls.write("POST", self._path(), None, body))
            except NotFound:
                await self._create()
                await self._quire.send(calls.write("POST", self._path(), None, body))

    async def pop_item(self) -> Any | None:
        """Erase the newest item, with the other items of its message, and return it; None if there is none."""
        newest = await self.get_items(1)
        if newest:
            await self._quire.send(calls.write("DELETE", self._path(newest[0]["id"]), None))
        return newest[0] if newest else None

    async def clear_session(self) -> None:
        """Erase the conversation and everything derived from it."""
        try:
            await self._quire.delete(self.session_id)
        except NotFound:
            return

    async def _create(self) -> None:
        body = {"id": self.session_id, "user_id": self._user_id}
        try:
            await self._quire.send(calls.write("POST", "/conversations", None, body))
        except Conflict:  # another call has just made it
            return

    def _path(self, *item: str) -> str:
        return "/".join(["/v1/conversations", quote(self.session_id, safe=""), "items", *item])
