"""Bringing back what left the window: pages and archives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from asyncpg import Record

from app.core.groups import chat_messages
from app.core.model import Language
from app.core.quote import Said, page_text, plain_text
from app.db import Connection
from app.store import messages


async def page(
    connection: Connection, tenant: UUID, conversation_id: str, number: int, language: Language
) -> str | None:
    """The text of a page, framed; None if there is no such page."""
    rows = await messages.page_messages(connection, tenant, conversation_id, number)
    if not rows:
        return None
    said = [Said(row["seq"], row["role"], text) for row in rows if (text := said_text(row))]
    return page_text(number, said, rows[0]["created_at"], language)


def said_text(row: Record) -> str:
    """The plain text of a stored message as a model sees it; of one that no model sees, as it was sent."""
    view = row["view"] if row["view"] is not None and row["kind"] != "orphan" else row["body"]
    return plain_text(chat_messages(view))


def speaker(row: Record) -> str | None:
    """The name of who a stored message is from, if it was sent with one."""
    view = row["view"] if row["view"] is not None and row["kind"] != "orphan" else row["body"]
    return speaker_of(chat_messages(view))


def speaker_of(said: Sequence[dict[str, Any]]) -> str | None:
    """The name that comes with chat messages; a tool's is not a speaker's."""
    names = (message.get("name") for message in said if message.get("role") != "tool")
    return next((name for name in names if isinstance(name, str) and name.strip()), None)
