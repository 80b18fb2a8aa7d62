"""Explain a message's place in a window, the calls that would bring it back, and their costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

from app import errors
from app.core import wording
from app.core.canonical import dumps
from app.core.conversation import Conversation
from app.core.edge.caller import Caller
from app.core.history.rows import HistoryMessage
from app.core.neutral import block, neutral
from app.core.window.render import IN_VIEW, PLACES, Place, place_of
from app.recall.tools import LOAD_TOOL_HISTORY, RECALL_PAGE, SEARCH_MEMORIES
from app.runtime import Runtime
from app.services.conversations import context
from app.services.conversations.call import ContextRequest
from app.services.memory import recalling
from app.services.tools import tool_calls
from app.services.tools.tool_calls import Asker, ToolCall
from app.store import messages


async def why(
    runtime: Runtime, caller: Caller, conversation_id: str, seq: int, request: ContextRequest
) -> dict[str, Any]:
    """Return the place of a message in the window that a request would get now. Nothing is recorded.

    Raises NotFound, or BudgetTooSmall.
    """
    # --- gather
    tenant, sensitive = caller.tenant, caller.sensitive
    asking = await tool_calls.asker(runtime, tenant, caller.user_id, conversation_id, sensitive=sensitive)
    shown = await context.look(runtime, tenant, conversation_id, request)
    async with runtime.database.snapshot(tenant) as tx:
        rows = await messages.history(tx, shown.conversation.id, seq - 1, 1, newest_first=False)
        if not rows or rows[0].seq != seq:
            last = shown.conversation.totals.last_seq
            raise errors.NotFound(f"There is no message {seq}; the conversation has messages up to {last}.")
        archived = await messages.archived_texts(tx, rows[0].archive_ids)
    # --- decide
    row, window = rows[0], shown.window
    place, line = place_of(window, seq, row.page, row.kind)
    text = next((name for name, mark in _MARKS.items() if any(dumps(said) in row.body for said in mark)), "stored")
    wanted = _recalls(row, place, text)
    # --- apply
    parts = [block(recalling.said_text(row)), *map(neutral, archived.values())]
    recalls = [await _tried(asking, call, row, parts) for call in wanted]
    return {
        "conversation_id": shown.conversation.id, "seq": seq, "page": row.page, "role": row.role,
        "budget": shown.target.budget, "place": place, "detail": PLACES[place],
        "line": line._asdict() if line else None, "text": text, "archive_ids": list(map(str, row.archive_ids)),
        "offers_tools": shown.offers_tools, "recalls": [found for found in recalls if found is not None],
    }  # fmt: skip


async def places(runtime: Runtime, tenant: UUID, conversation: Conversation, page: int) -> dict[int, Place]:
    """Return the places of a page's messages in the conversation's own window; empty if no window fits."""
    try:
        shown = await context.look(runtime, tenant, conversation.id, ContextRequest(chooses=False))
    except errors.BudgetTooSmall:
        return {}
    async with runtime.database.snapshot(tenant) as tx:
        rows = await messages.page_messages(tx, conversation.id, page)
    return {row.seq: place_of(shown.window, row.seq, page, row.kind)[0] for row in rows}


_MARKS = {"erased": wording.ERASED, "pruned": wording.PRUNED}


def _recalls(row: HistoryMessage, place: Place, text: str) -> Iterator[ToolCall]:
    """Yield calls that could bring back a message that is not in view."""
    if text == "erased":
        return
    for uuid in row.archive_ids:
        yield ToolCall(LOAD_TOOL_HISTORY, {"uuid": str(uuid)})
    if place in IN_VIEW:
        return
    if text == "stored":
        yield ToolCall(RECALL_PAGE, {"page": row.page})
    if row.line:
        yield ToolCall(SEARCH_MEMORIES, {"query": row.line})


async def _tried(asking: Asker, call: ToolCall, row: HistoryMessage, parts: Sequence[str]) -> dict[str, Any] | None:
    """Run a call, which writes nothing, and return its cost; None if its answer lacks the message."""
    answer = await tool_calls.run(asking, call)
    is_search = call.tool is SEARCH_MEMORIES
    if answer.is_error or (is_search and not any(str(row.id) in hit["message_ids"] for hit in answer.value)):
        return None
    tokens, is_whole = await asking.runtime.count(answer.content), any(part in answer.content for part in parts)
    return {"tool": call.tool.name, "arguments": call.arguments, "tokens": tokens, "is_whole": is_whole}
