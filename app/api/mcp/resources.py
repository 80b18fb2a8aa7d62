"""A conversation's pages and archives as MCP resources, for clients that attach them: the recall tools' texts."""

from __future__ import annotations

import re

import mcp_types as types

from app.recall import tools
from app.services.tools.tool_calls import Asker, ToolCall
from app.store import archives
from app.store.archives import ArchiveFilter

LISTED_MAX = 50
"""Of each kind, the newest."""
PAGE, ARCHIVE = "quire://pages/", "quire://archives/"
TEMPLATES = [
    types.ResourceTemplate(
        uri_template=f"{PAGE}{{page}}", name="page", description="A page of the conversation, or a run: 12-14."
    ),
    types.ResourceTemplate(uri_template=f"{ARCHIVE}{{uuid}}", name="archive", description="An archived tool result."),
]
_URI = re.compile(rf"(?:{PAGE}(?P<page>[0-9]+(?:-[0-9]+)?)|{ARCHIVE}(?P<uuid>[0-9a-f-]{{36}}))")


async def listed(asking: Asker) -> list[types.Resource]:
    """List a conversation's pages and archives, or a user's archives outside of conversations, newest first."""
    conversation = asking.conversation
    last = conversation.end.last_page if conversation is not None else 0
    where = ArchiveFilter(conversation.id if conversation is not None else None, asking.user_id)
    async with asking.runtime.database.snapshot(asking.tenant) as tx:
        rows = await archives.browse(tx, where, limit=LISTED_MAX)
    pages = [
        types.Resource(uri=f"{PAGE}{page}", name=f"page {page}", mime_type="text/plain")
        for page in range(last, max(0, last - LISTED_MAX), -1)
    ]
    return pages + [
        types.Resource(
            uri=f"{ARCHIVE}{row.id}", name=row.tool_name, description=row.query_summary,
            mime_type="text/plain",
        )
        for row in rows
    ]  # fmt: skip


def call_of(uri: str) -> ToolCall | None:
    """Return the recall tool call that reads a resource; None for an unknown address."""
    found = _URI.fullmatch(uri)
    if found is None:
        return None
    if (page := found["page"]) is not None:
        return ToolCall(tools.RECALL_PAGE, {"page": page})
    return ToolCall(tools.LOAD_TOOL_HISTORY, {"uuid": found["uuid"]})
