"""The parts of a conversation, for people and tests: history, pages, contents page, summary."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from app import errors
from app.concurrency import run_in_thread_if_large
from app.core.conversation import Conversation
from app.core.history.placeholder import as_sent
from app.core.history.rows import HistoryMessage
from app.core.model import OURS, Language
from app.core.times import time_text
from app.core.window.contents import PageEntry
from app.core.window.head import EXTRACTIVE, contents_of, map_lines
from app.core.window.summarising import lag
from app.postgres.transactions import ReadTx
from app.runtime import Runtime
from app.services.conversations import cuts
from app.store import heads, messages, summaries
from app.store.messages import ListedPage
from app.store.summaries import StoredSummary

VERSIONS_SHOWN = 20


def conversation_view(conversation: Conversation) -> dict[str, Any]:
    return {
        "id": conversation.id,
        "user_id": conversation.user_id,
        "space_id": conversation.space_id,
        "parent": conversation.parent,
        "title": conversation.title,
        "system": conversation.system,
        "model": conversation.model,
        "budget": conversation.budget,
        "token_percent": conversation.learned_percent or OURS,
        "settings": json.loads(conversation.policy),
        "metadata": json.loads(conversation.metadata),
        "messages": conversation.totals.last_seq,
        "pages": conversation.totals.last_page,
        "tokens": conversation.totals.history,
        "epoch": conversation.epoch,
        "language": conversation.language,
        "parent_id": conversation.parent_id,
        "forked_after": conversation.line.stretches[-1].seq if conversation.line.stretches else None,
        "created_at": time_text(conversation.created_at),
        "updated_at": time_text(conversation.updated_at),
    }


async def message_views(tx: ReadTx, rows: Sequence[HistoryMessage], language: Language) -> list[dict[str, Any]]:
    """Return stored messages as sent, with Quire's own fields."""
    archive_ids = [uuid for row in rows for uuid in row.archive_ids]
    texts = await messages.archived_texts(tx, archive_ids) if archive_ids else {}
    size = sum(len(row.body) for row in rows)
    return await run_in_thread_if_large(size, lambda: [_message_view(row, texts, language) for row in rows])


def _message_view(row: HistoryMessage, texts: dict[UUID, str], language: Language) -> dict[str, Any]:
    original = as_sent(json.loads(row.body), texts, language)
    return {
        **original,
        "id": str(row.id),
        "client_id": row.client_id,
        "seq": row.seq,
        "page": row.page,
        "role": row.role,
        "author": row.author,
        "content": original.get("content"),
        "tool_calls": original.get("tool_calls"),
        "tool_call_id": original.get("tool_call_id"),
        "name": original.get("name"),
        "tokens": row.loaded_tokens or row.full_tokens,
        "archived": bool(row.archive_ids),
        "archive_id": str(row.archive_ids[0]) if row.archive_ids else None,
        "created_at": time_text(row.created_at),
        "said_at": time_text(row.said_at) if row.said_at else None,
        "refused": bool(row.refused),
    }


async def contents_view(
    runtime: Runtime, tx: ReadTx, conversation: Conversation, budget: int | None = None
) -> dict[str, Any]:
    """Return the contents page as a window of the ``budget`` (None: the conversation's own) shows it, and its entries
    with current recall counts.
    """
    cut = await cuts.newest(runtime, tx, conversation, budget)
    listed, text = list(cut.head.listed), contents_of(cut.head.text)
    runs = [line for line in map_lines(text) if line.first_page not in listed]
    rows = await messages.pages(tx, conversation.id, some=listed)
    entries = await heads.entries(tx, conversation.id, listed, cut.condensed_from)
    return {
        "text": text,
        "tokens": cut.head.contents_tokens,
        "entries": [_entry(row, entries[row.page]) for row in rows],
        "chapters": [{"first_page": first, "last_page": last, "line": line} for first, last, line in runs],
    }


def _entry(row: ListedPage, entry: PageEntry) -> dict[str, Any]:
    """Return a page's entry on the contents page."""
    return {
        "page": entry.page,
        "title": entry.title,
        "recall_count": row.recall_count,
        "last_recalled_page": row.last_recalled_page,
        "source": entry.source,
        "entries": [{"seq": line.seq, "role": line.role, "summary": line.text} for line in entry.lines],
    }


async def page_items(tx: ReadTx, conversation_id: str, rows: Sequence[ListedPage]) -> list[dict[str, Any]]:
    """Return pages for a list, with the model's titles if there are any."""
    entries = await heads.entries(tx, conversation_id, [row.page for row in rows])
    return [_page_item(row, entries[row.page]) for row in rows]


def _page_item(row: ListedPage, entry: PageEntry) -> dict[str, Any]:
    return {
        "page": entry.page,
        "title": entry.title,
        "source": entry.source,
        "first_seq": row.first_seq,
        "last_seq": row.last_seq,
        "recall_count": row.recall_count,
        "last_recalled_page": row.last_recalled_page,
        "created_at": time_text(row.created_at),
    }


async def page_view(tx: ReadTx, conversation: Conversation, page: int) -> dict[str, Any]:
    rows = await messages.pages(tx, conversation.id, some=[page])
    if not rows:
        raise errors.NotFound(f"There is no page {page}; pages 1–{conversation.totals.last_page} exist.")
    stored = await messages.page_messages(tx, conversation.id, page)
    entries = await heads.entries(tx, conversation.id, [page])
    return {
        **_entry(rows[0], entries[page]),
        "messages": await message_views(tx, stored, conversation.language or "en"),
    }


async def summary_view(runtime: Runtime, tx: ReadTx, conversation: Conversation) -> dict[str, Any]:
    """Return the newest summary, with earlier versions.

    Until a model has written one, it is the map from the window's head, or one made from the messages so far.
    """
    versions = await summaries.browse(tx, conversation.id, VERSIONS_SHOWN)
    newest = _version(*versions[0]) if versions else await _extractive_summary(runtime, tx, conversation)
    threshold = runtime.defaults.summary_threshold
    is_wanted = runtime.policy(conversation).summary_enabled
    return {
        **newest,
        "lag": lag(conversation.totals.last_seq, newest["through_seq"], threshold) if is_wanted else 0,
        "versions": [_version(*one) for one in versions],
    }


def _version(of: StoredSummary, written_at: datetime) -> dict[str, Any]:
    return {
        "version": of.version,
        "text": of.text,
        "tokens": of.tokens,
        "through_seq": of.through_seq,
        "source": "extractive" if of.model == EXTRACTIVE else "llm",
        "model": None if of.model == EXTRACTIVE else of.model,
        "created_at": time_text(written_at),
    }


async def _extractive_summary(runtime: Runtime, tx: ReadTx, conversation: Conversation) -> dict[str, Any]:
    head = (await cuts.newest(runtime, tx, conversation)).head
    if not head.summary_through_seq:
        head = await cuts.told_so_far(runtime, tx, conversation)
    return {
        "text": contents_of(head.text) if head.summary_through_seq else "",
        "tokens": head.summary_tokens or head.contents_tokens,
        "through_seq": head.summary_through_seq,
        "source": "extractive",
        "model": None,
    }
