"""Running the recall tools for a model.

A model's mistake is not an HTTP error: it gets an answer in words that say what would work.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from app import errors
from app.core.canonical import dumps
from app.core.model import Language
from app.core.quote import archive_text
from app.db import Connection
from app.flows import archiving, recalling
from app.flows.archiving import Wanted
from app.flows.searching import scope_of
from app.recall.tools import LOAD_TOOL_HISTORY, RECALL_PAGE, TOOLS
from app.services import Services
from app.store import conversations, messages
from app.store.conversations import Conversation

LOAD_TOKENS = 4_000
"""Tokens of an archive that one call brings in, unless it names a length or another number."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Answer:
    content: str
    is_error: bool = False


def checked(name: str, arguments: dict[str, Any]) -> ToolCall:
    """Raises NotFound for a tool that there is not."""
    if name not in {tool.name for tool in TOOLS}:
        raise errors.NotFound(f"There is no such tool; there are {', '.join(tool.name for tool in TOOLS)}.")
    return ToolCall(name, arguments)


async def run(services: Services, connection: Connection, tenant: UUID, conversation_id: str, call: ToolCall) -> str:
    """The tool's answer as JSON text. Raises NotFound for an unknown conversation."""
    conversation = await conversations.lock(connection, tenant, conversation_id)
    if conversation is None:
        raise conversations.unknown()
    language: Language = conversation.language or "en"
    if call.name == RECALL_PAGE.name:
        answer = await _recall_page(connection, tenant, conversation, call.arguments, language)
    else:
        assert call.name == LOAD_TOOL_HISTORY.name
        answer = await _load_tool_history(services, connection, tenant, conversation, call.arguments, language)
    return dumps({"name": call.name, "content": answer.content, "is_error": answer.is_error})


async def _recall_page(
    connection: Connection, tenant: UUID, conversation: Conversation, arguments: dict[str, Any], language: Language
) -> _Answer:
    page = _integer(arguments.get("page"))
    last = conversation.totals.last_page
    if (
        page is None
        or not 1 <= page <= last
        or not await messages.count_recall(connection, tenant, conversation.id, page)
    ):
        asked = dumps(arguments.get("page"))[:40]
        if language == "zh":
            return _Answer(f"没有第 {asked} 页;现有第 1–{last} 页。", is_error=True)
        return _Answer(f"There is no page {asked}; pages 1–{last} exist.", is_error=True)
    text = await recalling.page(connection, tenant, conversation.id, page, language)
    return _Answer(text or "")


async def _load_tool_history(
    services: Services,
    connection: Connection,
    tenant: UUID,
    conversation: Conversation,
    arguments: dict[str, Any],
    language: Language,
) -> _Answer:
    uuid = _uuid(arguments.get("uuid"))
    query, length = arguments.get("query"), _integer(arguments.get("length"))
    wanted = Wanted(
        query=query if isinstance(query, str) and query.strip() else None,
        max_tokens=_integer(arguments.get("max_tokens")) or (None if length else LOAD_TOKENS),
        offset=max(0, _integer(arguments.get("offset")) or 0),
        length=length,
    )
    found = None
    if uuid is not None and min(wanted.length or 1, wanted.max_tokens or 1) > 0:
        found = await archiving.load(services, connection, tenant, scope_of(conversation), uuid, wanted)
    if found is None:
        if language == "zh":
            return _Answer("没有这个归档;请使用占位文本第一行里的 uuid。", is_error=True)
        return _Answer("There is no such archive; use the uuid in a placeholder's first line.", is_error=True)
    text, part = archiving.tool_text(found, language)
    return _Answer(archive_text(str(uuid), found["tool_name"], text, part, language))


def _integer(value: Any) -> int | None:
    """A number as models write it: 3, 3.0 or "3"."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if abs(value) < 2**31 else None
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**31:
        return int(value)
    if isinstance(value, str) and value.isascii() and value.strip().isdecimal() and len(value) < 10:
        return int(value)
    return None


def _uuid(value: Any) -> UUID | None:
    try:
        return UUID(value) if isinstance(value, str) and len(value) <= 64 else None
    except ValueError:
        return None
