"""Name a closed chapter: a model's title for the map of a conversation, before the chapter's own terms.

The model reads the lines of the chapter's pages, not their messages. Without a title the terms stand alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from app.concurrency import run_in_thread_if_large
from app.core.conversation import Conversation
from app.core.window.contents import Chapter
from app.core.window.excerpts import Excerpt
from app.jobs import prompts
from app.jobs.asking import ask, covered_by, cut_to_fit, prompt_room
from app.jobs.page_reply import TITLE_CHARACTERS, is_in_another_language, one_line_text
from app.providers import Chat, UnusableReply
from app.providers.json_reply import object_of
from app.queue import table
from app.queue.table import Claimed
from app.runtime import Runtime
from app.store import chapters, conversations, heads, page_index

REPLY_TOKENS = 100
MESSAGES_MAX = 400
"""Messages whose lines a model is shown: of longer chapters every second, third … of them."""


@dataclass(frozen=True, slots=True)
class _Unnamed:
    conversation: Conversation
    chapter: Chapter
    lines: Sequence[Excerpt]


async def name_chapter(runtime: Runtime, claimed: Claimed) -> None:
    """Name a chapter. Raises LeaseLost or a ProviderError; the chapter then stays as it was."""
    unnamed = await _gather(runtime, claimed)
    if unnamed is None or not unnamed.lines or runtime.chat is None:
        async with runtime.database.begin(claimed.tenant) as tx:
            await table.finish(tx, claimed)
        return
    title, model = await _decide(runtime, runtime.chat, claimed, unnamed)
    await _apply(runtime, claimed, unnamed, title, model)


async def _gather(runtime: Runtime, claimed: Claimed) -> _Unnamed | None:
    """Return the chapter and the lines of its pages; None if it has a name already or is gone."""
    assert claimed.conversation_id is not None
    first_page, uid = int(claimed.args["first_page"]), UUID(claimed.subject.split(":")[0])
    async with runtime.database.snapshot(claimed.tenant) as tx:
        conversation = await conversations.find(tx, claimed.conversation_id)
        if conversation is None or conversation.uid != uid:
            return None
        chapter = await chapters.unnamed(tx, conversation.line.own, first_page)
        if chapter is None:
            return None
        pages = range(chapter.first_page, chapter.last_page + 1)
        entries = await heads.entries(tx, conversation.id, pages)
    found = [line for entry in entries.values() for line in entry.lines]
    few = found[:: -(-len(found) // MESSAGES_MAX) or 1]
    return _Unnamed(conversation, chapter, [Excerpt(m.seq, m.role, m.text, 0) for m in few])


async def _decide(runtime: Runtime, chat: Chat, claimed: Claimed, unnamed: _Unnamed) -> tuple[str, str]:
    shown = await cut_to_fit(runtime, unnamed.lines, prompt_room(chat))
    request = prompts.chapter_request(shown, unnamed.conversation.language or "en")
    with runtime.successes.judging(claimed.kind):
        answer = await ask(runtime, claimed, request, max_tokens=REPLY_TOKENS, json_object=True)
        characters = len(answer.text) + sum(len(e.text) for e in shown)
        title = await run_in_thread_if_large(characters, judge, object_of(answer.text), shown)
    return title, answer.model.replace("\x00", "")


def judge(value: Mapping[str, Any], shown: Sequence[Excerpt]) -> str:
    """Return the title. Raises UnusableReply."""
    covered = covered_by(shown)
    title = one_line_text(value.get("title"), TITLE_CHARACTERS, covered)
    if not title:
        raise UnusableReply('"title" must be a text that says what the pages are about')
    if is_in_another_language(title, covered):
        raise UnusableReply("the answer must be in the language of the messages")
    return title


async def _apply(runtime: Runtime, claimed: Claimed, unnamed: _Unnamed, title: str, model: str) -> None:
    conversation, chapter = unnamed.conversation, unnamed.chapter
    own, generation = conversation.line.own, conversation.own_generation
    async with runtime.database.begin(claimed.tenant) as tx:
        at = await page_index.hold(tx, own, conversation.uid, generation)
        if at is None:
            # Its pages are not what they were: once more, unless the conversation is gone.
            await table.requeue(tx, claimed)
            return
        await chapters.name(tx, own, chapter, title, model, at)
        await table.finish(tx, claimed)
