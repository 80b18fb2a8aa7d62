"""Bringing back what left the window: pages and archives."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from asyncpg import Record

from app.core.groups import chat_messages
from app.core.messages import THINKING_PARTS
from app.core.model import Language
from app.core.quote import Said, archive_text, page_text
from app.db import Connection
from app.store import archives, messages


async def page(connection: Connection, tenant: UUID, conversation_id: str, number: int, language: Language) -> str | None:
    """The text of a page, framed; None if there is no such page."""
    rows = await messages.page_messages(connection, tenant, conversation_id, number)
    if not rows:
        return None
    said = [Said(row["seq"], row["role"], text) for row in rows if (text := said_text(row))]
    return page_text(number, said, rows[0]["created_at"], language)


def said_text(row: Record) -> str:
    """The plain text of a stored message as a model sees it: its words, its calls, its results."""
    view = row["view"] if row["view"] is not None else row["body"]
    if row["kind"] == "orphan":
        view = row["body"]
    return "\n".join(text for message in chat_messages(view) for text in _texts(message))


def _texts(message: dict[str, Any]) -> Sequence[str]:
    content = message.get("content")
    texts = [content] if isinstance(content, str) and content else []
    if isinstance(content, list):
        texts += [_part(part) for part in content if part.get("type") not in THINKING_PARTS]
    texts += [
        f"[calls {call['function']['name']}({call['function']['arguments']})]"
        for call in message.get("tool_calls") or []
        if "function" in call
    ]
    return texts


def _part(part: dict[str, Any]) -> str:
    if isinstance(part.get("text"), str):
        return str(part["text"])
    if part.get("type") == "tool_result":
        content = part.get("content")
        return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    return f"[{part.get('type')}]"


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
