"""Bringing back what left the window: pages and archives."""

from __future__ import annotations

from uuid import UUID

from asyncpg import Record

from app.core.groups import chat_messages
from app.core.model import Language
from app.core.quote import Said, archive_text, page_text, plain_text
from app.db import Connection
from app.store import archives, messages


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


async def archive(
    connection: Connection, tenant: UUID, scope: str, uuid: UUID, offset: int, length: int, language: Language
) -> str | None:
    """A range of an archived result, framed; None if the scope has no such archive."""
    found = await archives.read(connection, tenant, scope, uuid, offset, length)
    if found is None:
        return None
    end = min(offset + length, found["length"])
    part = f"{offset}–{end} / {found['length']}"
    return archive_text(str(uuid), found["tool_name"], found["text"], part, language)
