"""Recall pages and archives that have left the window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from app.concurrency import run_in_thread_if_large
from app.core import wording
from app.core.encoded import marked
from app.core.groups import chat_messages
from app.core.history.rows import HistoryMessage
from app.core.model import Language
from app.core.times import local
from app.core.window import quote
from app.core.window.budget import fair
from app.core.window.quote import Said, page_text, plain_text, speaker_of
from app.recall.tools import TOOL_NAMES
from app.runtime import Runtime

TOKEN_CHARACTERS_MAX = 8
"""Characters that a token stands for, at most, in text worth loading."""


async def page(
    runtime: Runtime, rows: Sequence[HistoryMessage], number: int, language: Language, max_tokens: int | None = None
) -> str | None:
    """Return the framed text of a page, its longest messages cut to fit; None if there is no such page.

    ``rows`` are its messages. Call it without holding a connection: it counts tokens.
    """
    if not rows:
        return None
    size = sum(len(row.body) for row in rows)
    messages = await run_in_thread_if_large(size, _quotable, rows)
    if max_tokens is not None:
        messages = await _fit(runtime, messages, max_tokens, wording.CUT_PAGE.say(language))
    since = local(rows[0].said_at or rows[0].created_at, rows[0].said_offset)
    return await run_in_thread_if_large(size, page_text, number, messages, since, language)


def _quotable(rows: Sequence[HistoryMessage]) -> list[Said]:
    return [Said(row.seq, row.role, text, speaker(row)) for row in rows if (text := said_text(row))]


async def _fit(runtime: Runtime, messages: Sequence[Said], max_tokens: int, mark: str) -> list[Said]:
    """Return the messages of a page within some tokens: short ones whole, long ones cut to an equal length."""
    tokens = await runtime.tokens.count_many([one.text for one in messages])
    rooms = fair(tokens, max_tokens)
    return [
        one if room >= own else replace(one, text=await clipped(runtime, one.text, room) + mark)
        for one, own, room in zip(messages, tokens, rooms, strict=True)
    ]


async def clipped(runtime: Runtime, text: str, max_tokens: int) -> str:
    """Return the longest beginning of a text within some tokens, to within a few of them."""
    text = text[: max_tokens * TOKEN_CHARACTERS_MAX]
    while True:
        (tokens,) = await runtime.tokens.count_many([text])
        if tokens <= max_tokens:
            return text
        text = text[: min(len(text) - 1, int(len(text) * max_tokens / tokens))]


def said_text(row: HistoryMessage) -> str:
    """Return the plain text of a stored message as models see it, or as it was sent if none sees it."""
    return plain_text(seen(row))


def searchable_text(row: HistoryMessage) -> str:
    """Return a message's text for search, with calls of the recall tools blanked so that offsets stay."""
    return quote.searchable_text(seen(row), TOOL_NAMES)


def spoken_text(row: HistoryMessage) -> str:
    """Return a message's text with calls and placeholders blanked, so that offsets stay."""
    return quote.spoken_text(seen(row))


def speaker(row: HistoryMessage) -> str | None:
    """Return the name that a stored message was sent with, if any."""
    return speaker_of(seen(row))


def seen(row: HistoryMessage) -> list[dict[str, Any]]:
    """Return the chat messages of a stored message, as models see them."""
    if row.kind == "orphan":
        return chat_messages(marked(row.body))
    return chat_messages(row.view if row.view is not None else row.body)
