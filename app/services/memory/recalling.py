"""Bringing back what left the window: pages and archives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from asyncpg import Record

from app.concurrency import run_in_thread_if_large
from app.core import quote
from app.core.budget import fair
from app.core.groups import chat_messages
from app.core.model import Language
from app.core.quote import Said, page_text, plain_text, speaker_of
from app.recall.tools import TOOL_NAMES
from app.runtime import Runtime

TOKEN_CHARACTERS_MAX = 8
"""Characters that a token stands for, at most, in text worth loading."""
CUT: dict[Language, str] = {
    "en": "… [cut; search_memories(query) finds the rest]",
    "zh": "…[已截断;其余可用 search_memories(query) 查找]",
}


async def page(
    runtime: Runtime, rows: Sequence[Record], number: int, language: Language, max_tokens: int | None = None
) -> str | None:
    """The text of a page, framed, its longest messages cut where it has more tokens; None if there is no such page.

    ``rows`` are its messages. To be called while no connection is held: tokens are counted.
    """
    if not rows:
        return None
    size = sum(len(row["body"]) for row in rows)
    said = await run_in_thread_if_large(size, _said, rows)
    if max_tokens is not None:
        said = await _fitted(runtime, said, max_tokens, CUT[language])
    return await run_in_thread_if_large(size, page_text, number, said, rows[0]["created_at"], language)


def _said(rows: Sequence[Record]) -> list[Said]:
    return [Said(row["seq"], row["role"], text) for row in rows if (text := said_text(row))]


async def _fitted(runtime: Runtime, said: Sequence[Said], max_tokens: int, mark: str) -> list[Said]:
    """The messages of a page within some tokens: short ones whole, of each long one as much as of the others."""
    tokens = await runtime.tokens.count_many([one.text for one in said])
    rooms = fair(tokens, max_tokens)
    return [
        one if room >= own else replace(one, text=await clipped(runtime, one.text, room) + mark)
        for one, own, room in zip(said, tokens, rooms, strict=True)
    ]


async def clipped(runtime: Runtime, text: str, max_tokens: int) -> str:
    """The longest beginning that is no more than some tokens, to within a few of them."""
    text = text[: max_tokens * TOKEN_CHARACTERS_MAX]
    while True:
        (tokens,) = await runtime.tokens.count_many([text])
        if tokens <= max_tokens:
            return text
        text = text[: min(len(text) - 1, int(len(text) * max_tokens / tokens))]


def said_text(row: Record) -> str:
    """The plain text of a stored message as a model sees it; of one that no model sees, as it was sent."""
    return plain_text(_seen(row))


def searchable_text(row: Record) -> str:
    """The same as search is to find it: without calls of the recall tools, all else in its place."""
    return quote.searchable_text(_seen(row), TOOL_NAMES)


def speaker(row: Record) -> str | None:
    """The name of who a stored message is from, if it was sent with one."""
    return speaker_of(_seen(row))


def _seen(row: Record) -> list[dict[str, Any]]:
    return chat_messages(row["view"] if row["view"] is not None and row["kind"] != "orphan" else row["body"])
