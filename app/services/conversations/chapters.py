"""Close chapters, in the append that opens the page which makes a chapter due.

Neither a model nor a token counter reads old text here, because the pages' words are stored with their messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace

import anyio.to_thread

from app.core.conversation import Conversation
from app.core.history.append import Append
from app.core.line import Line
from app.core.window.contents import Chapter
from app.extractive.chapters import PAGES_DUE, bound, close, described, with_messages
from app.postgres.transactions import ReadTx, Tx
from app.queue import enqueue
from app.queue.enqueue import NewWork
from app.runtime import Runtime
from app.store import chapters


def is_due(conversation: Conversation) -> bool:
    """Return whether enough pages are closed to make a chapter of the first ones."""
    return conversation.totals.last_page - 1 - conversation.chaptered_through >= PAGES_DUE


async def closing(reading: AbstractAsyncContextManager[ReadTx], append: Append) -> Append:
    """Return the append with the chapters that are due with its pages."""
    after = append.conversation
    first = after.chaptered_through + 1
    async with reading as tx:
        stored = await chapters.told(tx, after.id, first, after.totals.last_page)
        shelf = await chapters.shelf(tx, after.id, first)
    pages = with_messages(stored, append.messages, after.updated_at)[:-1]
    closed = await anyio.to_thread.run_sync(close, pages, shelf)  # 50 ms for a few words
    through = max((chapter.last_page for chapter in closed), default=after.chaptered_through)
    return replace(append, conversation=replace(after, chaptered_through=through), chapters=closed)


def naming(runtime: Runtime, conversation: Conversation, some: Iterable[Chapter]) -> list[NewWork]:
    """Return the jobs that name chapters, if there is a model."""
    if runtime.chat is None:
        return []
    id_, uid = conversation.line.own, conversation.uid
    return [enqueue.chapter(id_, uid, chapter.first_page) for chapter in some if chapter.level == 1]


async def describe_again(runtime: Runtime, tx: Tx, conversation: Conversation, pages: Sequence[int]) -> None:
    """Describe again a conversation's own chapters that contain some pages, and their volumes, from the messages that
    are left.
    """
    line = conversation.line
    held = await chapters.holding(tx, line.own, pages)
    for chapter in held:
        again = await _again(tx, line, chapter)
        await chapters.store(tx, line.own, [replace(again, at_page=chapter.at_page)])
    await enqueue.enqueue(tx, naming(runtime, conversation, held))


async def _again(tx: Tx, line: Line, chapter: Chapter) -> Chapter:
    if chapter.level > 1:
        return bound(await chapters.parts(tx, line, chapter))
    told = await chapters.told(tx, line, chapter.first_page, chapter.last_page)
    others = (await chapters.shelf(tx, line, chapter.first_page)).others
    return described(told, others)
