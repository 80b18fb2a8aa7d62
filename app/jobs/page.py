"""Indexing a closed page: its title, a line for each message, topics, memories and standing notes.

One call of the model writes them all, as JSON. A reply that cannot be used is sent back once with what is wrong with
it; after that, and where no model is configured or it refuses the page, the page is indexed extractively. A refusal
is raised besides, so that the job is a dead letter that people see and may try again. A provider that is down is the
queue's matter: the job raises, and is tried again later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from uuid import UUID

import anyio.to_thread
from asyncpg import Record

from app.core.excerpts import Excerpt, cut, rooms
from app.core.neutral import neutral
from app.core.topics import merged
from app.db import Connection
from app.extractive.summary import topics as extractive_topics
from app.flows import searching
from app.flows.archiving import vectors
from app.ids import uuid7
from app.jobs import prompts
from app.jobs.asking import MESSAGE_FRAME, ask, excerpts_of, prompt_room, weighed
from app.jobs.page_reply import TOPIC_CHARACTERS, CurrentNote, MemoryFound, PageReply, judge
from app.providers import RefusedInput, UnusableReply
from app.providers.json_reply import object_of
from app.services import Services
from app.store import conversations, messages, notes, page_index, remembered, windows
from app.store.conversations import Conversation
from app.store.memories import owner_of
from app.store.messages import without_nul
from app.store.page_index import NewPageIndex
from app.store.remembered import Remembered
from app.store.windows import LINES_PER_PAGE
from app.text import one_line
from app.threads import apart
from app.work import enqueue, table
from app.work.table import Claimed

REPLY_TOKENS = 400
REPLY_TOKENS_LINE = 80
MESSAGES_EACH = 100
"""From the beginning and from the end of a page that the model is shown."""
NOTES_SHOWN = 12
TOPICS_SHOWN = 12
EXTRACTIVE_TOPICS = 3
TRIES = 2
ERROR_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class _Page:
    """What is known of the page before anything is decided."""

    conversation: Conversation
    number: int
    title: str
    lines: Sequence[str]
    excerpts: Sequence[Excerpt]
    """Its messages as a model sees them, without what a recall tool brought in; not weighed yet."""
    notes: Sequence[CurrentNote]
    topics: Sequence[str]


@dataclass(frozen=True, slots=True)
class _Indexed:
    """What is to be stored."""

    index: NewPageIndex
    reply: PageReply | None = None
    memories: Sequence[Remembered] = ()
    note_tokens: Sequence[int] = ()
    refused: RefusedInput | None = None
    """Why the model will never index the page: the job is a dead letter, and the page is indexed all the same."""


async def index_page(services: Services, claimed: Claimed) -> None:
    """Raises LeaseLost, or a ProviderError: RefusedInput, or one that is worth another try."""
    page = await _gather(services, claimed)
    if page is None:
        async with services.database.begin(claimed.tenant) as connection:
            await table.finish(connection, claimed)
        return
    indexed = await _decide(services, claimed, page)
    await _apply(services, claimed, page, indexed)


# --- Gather -----------------------------------------------------------------------------------------


async def _gather(services: Services, claimed: Claimed) -> _Page | None:
    """None if there is nothing to do: the page is indexed already, or is gone."""
    tenant, number = claimed.tenant, int(claimed.args["page"])
    assert claimed.conversation_id is not None
    async with services.database.snapshot(tenant) as connection:
        conversation = await conversations.find(connection, tenant, claimed.conversation_id)
        if conversation is None or claimed.subject != f"{conversation.uid}:{number}":
            return None
        if await page_index.is_done(connection, tenant, conversation.id, number):
            return None
        pages = await messages.pages(connection, tenant, conversation.id, some=[number])
        if not pages:
            return None
        found = await windows.lines(connection, tenant, conversation.id, [number], 2**31 - 1)
        rows = await _ends(connection, tenant, conversation.id, pages[0])
        current = await notes.current(connection, tenant, conversation.id, NOTES_SHOWN)
        last = conversation.totals.last_page
        topics = await page_index.topics(connection, tenant, conversation.id, last, conversation.revision)
    return _Page(
        conversation,
        number,
        pages[0]["title"],
        [line.text for line in found.get(number, ())],
        await apart(sum(len(row["body"]) for row in rows), excerpts_of, rows),
        [CurrentNote(note["id"], note["text"], note["seq"], note["source"]) for note in reversed(current)],
        [topic.name for topic in topics],
    )


async def _ends(connection: Connection, tenant: UUID, conversation_id: str, page: Record) -> Sequence[Record]:
    """The messages of a page; of very many, the first and the last."""
    first, last = page["first_seq"], page["last_seq"]
    each = min(MESSAGES_EACH, last - first + 1)
    rows = await messages.history(connection, tenant, conversation_id, first - 1, each, newest_first=False)
    later = last - first + 1 - each
    if later <= 0:
        return rows
    ends = min(MESSAGES_EACH, later)
    newest = await messages.history(connection, tenant, conversation_id, last + 1, ends, newest_first=True)
    return [*rows, *reversed(newest)]


# --- Decide -----------------------------------------------------------------------------------------


async def _decide(services: Services, claimed: Claimed, page: _Page) -> _Indexed:
    chat = services.chat
    if chat is None or not page.excerpts:
        return await _extractive(page)
    language = page.conversation.language or "en"
    excerpts = await cut_to_fit(services, page.excerpts, prompt_room(chat))
    last_line = excerpts[:LINES_PER_PAGE][-1].seq
    shown = page.topics[:TOPICS_SHOWN]
    request = prompts.page_request(excerpts, [n.text for n in page.notes], shown, last_line, language)
    max_tokens = REPLY_TOKENS + REPLY_TOKENS_LINE * min(len(excerpts), LINES_PER_PAGE)
    roles = {e.seq: e.role for e in excerpts}
    error, asked = "", request
    for _ in range(TRIES):
        text = ""
        try:
            answer = await ask(services, claimed, asked, max_tokens=max_tokens, json_object=True)
            text = answer.text
            reply = judge(object_of(text), roles, page.notes)
        except UnusableReply as unusable:
            error = str(unusable)
            asked = prompts.corrected(request, text[: REPLY_TOKENS * 4], error, language)
        except RefusedInput as refused:
            found = await _extractive(page, str(refused), topics_max=0)  # which later prompts would show to it again
            return replace(found, refused=refused)
        else:
            return await _by_model(services, page, reply, answer.model)
    return await _extractive(page, error)


async def _extractive(page: _Page, error: str | None = None, *, topics_max: int = EXTRACTIVE_TOPICS) -> _Indexed:
    texts = [text for text in (page.title, *page.lines) if text]
    found = await anyio.to_thread.run_sync(extractive_topics, texts, topics_max)
    topics = [neutral(one_line(topic, TOPIC_CHARACTERS)) for topic in found]
    error = error[:ERROR_CHARACTERS].replace("\x00", "") if error is not None else None
    return _Indexed(NewPageIndex(page.number, "extractive", topics=topics, error=error))


async def _by_model(services: Services, page: _Page, reply: PageReply, model: str) -> _Indexed:
    texts = [reply.title, *reply.lines.values(), *(note.text for note in reply.notes)]
    tokens = await services.tokens.count_many(texts)
    lines = len(reply.lines)
    index = NewPageIndex(
        page.number, "llm", model.replace("\x00", ""), reply.title, tokens[0], reply.topics,
        list(reply.lines), list(reply.lines.values()), tokens[1 : 1 + lines],
    )  # fmt: skip
    memories = await anyio.to_thread.run_sync(_memories, page, reply.memories)
    return _Indexed(index, reply, memories, tokens[1 + lines :])


def _memories(page: _Page, found: Sequence[MemoryFound]) -> list[Remembered]:
    return [_memory(page, memory) for memory in found]


def _memory(page: _Page, memory: MemoryFound) -> Remembered:
    content, offsets = without_nul(memory.text)
    passages = [(uuid7(), *passage) for passage in vectors(memory.text)]
    return Remembered(
        id=passages[0][0], owner=owner_of(searching.scope_of(page.conversation)), type=memory.type, content=content,
        nul_offsets=f"{{{','.join(map(str, offsets))}}}", keywords=(), metadata="{}", source="llm", sensitive=False,
        expires_at=None, created_at=datetime.now(UTC), passages=passages, conversation_id=page.conversation.id,
        conversation_uid=page.conversation.uid, seq=memory.seq, page=page.number,
    )  # fmt: skip


async def cut_to_fit(services: Services, excerpts: Sequence[Excerpt], room: int) -> list[Excerpt]:
    """The messages of a page within a room in tokens."""
    room -= len(excerpts) * MESSAGE_FRAME
    whole = await weighed(services, excerpts)
    shown = whole
    for tighter in (1.0, 0.8, 0.6, 0.4):  # what is kept of a text may be denser than the whole
        if sum(e.tokens for e in shown) <= room:
            break
        keep = rooms(whole, int(room * tighter))
        shown = [replace(e, text=cut(e.text, e.tokens, k)) for e, k in zip(whole, keep, strict=True)]
        shown = await weighed(services, shown)
    return shown


# --- Apply ------------------------------------------------------------------------------------------


async def _apply(services: Services, claimed: Claimed, page: _Page, indexed: _Indexed) -> None:
    tenant, conversation = claimed.tenant, page.conversation
    generation = conversation.totals.generation
    async with services.database.begin(tenant) as connection:
        revision = await page_index.begin_revision(connection, tenant, conversation.id, conversation.uid, generation)
        if revision is None:  # the page is not what it was: once more, unless the conversation is gone
            await enqueue.once_more(connection, tenant, claimed.kind, claimed.subject)
        elif await page_index.insert(connection, tenant, conversation.id, revision, indexed.index):
            await _learn(services, connection, tenant, page, indexed, revision)
            await page_index.advance(connection, tenant, conversation.id)
        if revision is None or indexed.refused is None:
            await table.finish(connection, claimed)
            return
    raise indexed.refused


async def _learn(
    services: Services, connection: Connection, tenant: UUID, page: _Page, indexed: _Indexed, revision: int
) -> None:
    """Everything besides the page's own entry."""
    name, reply = page.conversation.id, indexed.reply
    known = await page_index.topics(connection, tenant, name, page.conversation.totals.last_page, revision)
    topics = merged((topic.name for topic in known), indexed.index.topics)
    await page_index.mention(connection, tenant, name, topics, page.number, revision)
    if reply is None:
        return
    found = [(uuid7(), n.seq, n.text, t) for n, t in zip(reply.notes, indexed.note_tokens, strict=True)]
    replaced = [note for n in reply.notes for note in n.replaces]
    await notes.find_more(connection, tenant, name, revision, found, replaced)
    embeds = services.embedder is not None
    for memory in indexed.memories:
        await remembered.insert(connection, tenant, memory, embeds=embeds)
    if embeds and indexed.memories:
        await enqueue.enqueue(connection, tenant, [enqueue.embed(indexed.memories[0].owner)])
