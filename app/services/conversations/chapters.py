"""Close chapters: in the transaction of the append that opens the page which makes one due.

Neither a model nor a token counter sees old text here: what pages tell stands beside their messages since they came in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import anyio.to_thread

from app.core.conversation import Conversation
from app.core.line import Line
from app.core.window.contents import Chapter
from app.extractive.chapters import PAGES_DUE, bound, close, described
from app.postgres.transactions import Tx
from app.queue import enqueue
from app.runtime import Runtime
from app.store import chapters


def is_due(conversation: Conversation) -> bool:
    """Return whether so many pages are closed that the first of them make a chapter."""
    return conversation.totals.last_page - 1 - conversation.chaptered_through >= PAGES_DUE


async def close_due(runtime: Runtime, tx: Tx, conversation: Conversation) -> Conversation:
    first = conversation.chaptered_through + 1
    pages = await chapters.told(tx, conversation.id, first, conversation.totals.last_page - 1)
    shelf = await chapters.shelf(tx, conversation.id, first)
    closed = await anyio.to_thread.run_sync(close, pages, shelf)  # 50 ms for a few words
    await chapters.store(tx, conversation.id, closed)
    await _name(runtime, tx, conversation, closed)
    through = max((chapter.last_page for chapter in closed), default=conversation.chaptered_through)
    await chapters.reach(tx, conversation.id, through)
    return replace(conversation, chaptered_through=through)


async def _name(runtime: Runtime, tx: Tx, conversation: Conversation, some: Sequence[Chapter]) -> None:
    if runtime.chat is not None:
        own = conversation.line.own
        await enqueue.enqueue(tx, [enqueue.chapter(own, conversation.uid, c.first_page) for c in some if c.level == 1])


async def describe_again(runtime: Runtime, tx: Tx, conversation: Conversation, pages: Sequence[int]) -> None:
    """Describe a conversation's own chapters that hold some pages, and the volumes that hold these, from what is left
    of them.
    """
    line = conversation.line
    held = await chapters.holding(tx, line.own, pages)
    for chapter in held:
        again = await _again(tx, line, chapter)
        await chapters.store(tx, line.own, [replace(again, at_page=chapter.at_page)])
    await _name(runtime, tx, conversation, held)


async def _again(tx: Tx, line: Line, chapter: Chapter) -> Chapter:
    if chapter.level > 1:
        return bound(await chapters.parts(tx, line, chapter))
    told = await chapters.told(tx, line, chapter.first_page, chapter.last_page)
    others = (await chapters.shelf(tx, line, chapter.first_page)).others
    return described(told, others)
