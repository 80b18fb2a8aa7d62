"""Index a closed page: its title, a line for each message, topics, and what people said that is worth keeping.

One model call writes them all, as JSON. An unusable reply is sent back once with its faults. After that, or if no model
is configured or it refuses the page, the page is indexed extractively. A refusal is raised as well, so that the job
becomes a dead letter that people see and can retry. If the provider is down, the job raises and the queue retries it
later.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from uuid import UUID

import anyio.to_thread

from app.concurrency import run_in_thread_if_large
from app.core.conversation import Conversation
from app.core.encoded import marked
from app.core.history.rows import HistoryMessage, NewWish
from app.core.neutral import without_nul
from app.core.parts import said_by
from app.core.times import dated
from app.core.window.contents import LINES_PER_PAGE
from app.core.window.excerpts import Excerpt
from app.core.window.kept import keep
from app.core.window.topics import features_of, merged
from app.ids import uuid7
from app.jobs import prompts
from app.jobs.asking import ask, cut_to_fit, excerpts_of, prompt_room
from app.jobs.page_reply import MemoryFound, PageReply, WishFound, judge
from app.postgres.transactions import ReadTx
from app.providers import RefusedInput, UnusableReply
from app.providers.json_reply import object_of
from app.queue import table
from app.queue.table import Claimed
from app.runtime import Runtime
from app.services.conversations.reading import READER
from app.services.memory import insertion, noticing
from app.services.memory.archiving import vectors
from app.services.memory.recalling import speaker
from app.store import appending, conversations, messages, page_index
from app.store.memory import kept
from app.store.memory.remembered import Remembered
from app.store.page_index import NewPageIndex, Unindexed

REPLY_TOKENS = 400
REPLY_TOKENS_LINE = 80
MESSAGES_EACH = 100
"""Messages shown to the model from the beginning and from the end of a page."""
KEPT_SHOWN = 12
TOPICS_SHOWN = 12
TRIES = 2
ERROR_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class _ForModel:
    """The parts of the page that only a model sees."""

    conversation: Conversation
    excerpts: Sequence[Excerpt]
    """Its messages, without what a recall tool brought in; not weighed yet."""
    kept: Sequence[str]
    """What is in mind already."""
    said_at: Mapping[int, datetime]
    """The times of its messages by seq, where known."""
    others: Mapping[int, str | None]
    """The names in messages that somebody else than the conversation's user sent."""


@dataclass(frozen=True, slots=True)
class _Page:
    conversation_id: str
    uid: UUID
    number: int
    found: Unindexed
    shown: _ForModel | None
    """None where no model is configured."""


@dataclass(frozen=True, slots=True)
class _Indexed:
    index: NewPageIndex
    reply: PageReply | None = None
    memories: Sequence[Remembered] = ()
    wishes: Sequence[NewWish] = ()
    refused: RefusedInput | None = None
    """Why the model will never index the page: the job is a dead letter, and the page is indexed all the same."""


async def index_page(runtime: Runtime, claimed: Claimed) -> None:
    """Index a closed page. Raises LeaseLost or a ProviderError: RefusedInput, or a transient one."""
    page = await _gather(runtime, claimed)
    if page is None:
        async with runtime.database.begin(claimed.tenant) as tx:
            await table.finish(tx, claimed)
        return
    indexed = await _decide(runtime, claimed, page)
    await _apply(runtime, claimed, page, indexed)


# --- Gather -----------------------------------------------------------------------------------------


async def _gather(runtime: Runtime, claimed: Claimed) -> _Page | None:
    name, number = claimed.conversation_id, int(claimed.args["page"])
    assert name is not None
    uid = UUID(claimed.subject.split(":")[0])
    found = await page_index.unindexed(runtime.database, claimed.tenant, name, uid, number, LINES_PER_PAGE)
    if found is None:
        return None
    shown = None
    if runtime.chat is not None and (shown := await _show(runtime, claimed.tenant, uid, found)) is None:
        return None
    return _Page(found.line, uid, number, found, shown)


async def _show(runtime: Runtime, tenant: UUID, uid: UUID, page: Unindexed) -> _ForModel | None:
    """Gather the page for a model; None if the conversation is gone, even if its id is in use again.

    Any other change since the page was read is detected when the result is applied.
    """
    async with runtime.database.snapshot(tenant) as tx:
        conversation = await conversations.find(tx, page.line)
        if conversation is None or conversation.uid != uid:
            return None
        rows = await _ends(tx, conversation.id, page.first_seq, page.last_seq)
        current = await kept.of_conversation(tx, conversation.id)
    return _ForModel(
        conversation,
        await run_in_thread_if_large(sum(len(row.body) for row in rows), excerpts_of, rows),
        [marked(memory.content) for memory in current[-KEPT_SHOWN:]],
        {row.seq: row.said_at for row in rows if row.said_at is not None},
        {row.seq: speaker(row) for row in rows if row.author != "person"},
    )


async def _ends(tx: ReadTx, conversation_id: str, first: int, last: int) -> Sequence[HistoryMessage]:
    """Return the messages of a page; of very many, the first and the last."""
    each = min(MESSAGES_EACH, last - first + 1)
    rows = await messages.history(tx, conversation_id, first - 1, each, newest_first=False)
    later = last - first + 1 - each
    if later <= 0:
        return rows
    ends = min(MESSAGES_EACH, later)
    newest = await messages.history(tx, conversation_id, last + 1, ends, newest_first=True)
    return [*rows, *reversed(newest)]


# --- Decide -----------------------------------------------------------------------------------------


async def _decide(runtime: Runtime, claimed: Claimed, page: _Page) -> _Indexed:
    chat, shown = runtime.chat, page.shown
    if chat is None or shown is None or not shown.excerpts:
        return await _extractive(page)
    language = shown.conversation.language or "en"
    excerpts = await cut_to_fit(runtime, shown.excerpts, prompt_room(chat))
    last_line = excerpts[:LINES_PER_PAGE][-1].seq
    topics = page.found.topics[:TOPICS_SHOWN]
    request = prompts.page_request(excerpts, shown.kept, topics, last_line, language)
    max_tokens = REPLY_TOKENS + REPLY_TOKENS_LINE * min(len(excerpts), LINES_PER_PAGE)
    error, asked = "", request
    for _ in range(TRIES):
        text = ""
        try:
            with runtime.successes.judging(claimed.kind):
                answer = await ask(runtime, claimed, asked, max_tokens=max_tokens, json_object=True)
                text = answer.text
                characters = len(text) + sum(len(e.text) for e in excerpts)
                reply = await run_in_thread_if_large(characters, judge, object_of(text), excerpts, shown.kept)
        except UnusableReply as unusable:
            error = str(unusable)
            asked = prompts.corrected(request, text[: REPLY_TOKENS * 4], error, language)
        except RefusedInput as refused:
            index = NewPageIndex(page.number, "extractive", error=_error_text(str(refused)))
            return _Indexed(index, refused=refused)  # no topics, which later prompts would show to it again
        else:
            reply = await _agreed(runtime, claimed.tenant, {one.seq: one.text for one in excerpts}, reply)
            return await _by_model(runtime, page.number, shown, reply, answer.model)
    return await _extractive(page, error)


async def _agreed(runtime: Runtime, tenant: UUID, texts: Mapping[int, str], reply: PageReply) -> PageReply:
    """Return the reply with those wishes held for which a head agrees with the model."""
    wishes = [
        replace(one, wish=replace(one.wish, reach="user"), is_certain=True)
        if not one.is_certain and not one.wish.ends and await noticing.agrees(runtime, tenant, one.wish, texts[one.seq])
        else one
        for one in reply.wishes
    ]
    return replace(reply, wishes=tuple(wishes))


async def _extractive(page: _Page, error: str | None = None) -> _Indexed:
    title, lines = page.found.title, page.found.lines
    size = len(title) + sum(len(line) for _, line in lines)
    topics = await run_in_thread_if_large(size, READER.topics, title, lines)
    error = _error_text(error) if error is not None else None
    return _Indexed(NewPageIndex(page.number, "extractive", topics=topics, error=error))


def _error_text(error: str) -> str:
    return error[:ERROR_CHARACTERS].replace("\x00", "")


async def _by_model(runtime: Runtime, number: int, shown: _ForModel, reply: PageReply, model: str) -> _Indexed:
    reply = _with_speakers(reply, shown.others)
    texts = [reply.title, *reply.lines.values(), *(found.wish.text for found in reply.wishes)]
    tokens = await runtime.tokens.count_many(texts)
    lines = len(reply.lines)
    index = NewPageIndex(
        number, "llm", model.replace("\x00", ""), reply.title, tokens[0], reply.topics,
        list(reply.lines), list(reply.lines.values()), tokens[1 : 1 + lines],
    )  # fmt: skip
    memories = await anyio.to_thread.run_sync(_memories, shown, number, reply.memories)
    wishes = list(_wishes(runtime, shown, number, reply.wishes, tokens[1 + lines :]))
    return _Indexed(index, reply, memories, wishes)


def _with_speakers(reply: PageReply, names: Mapping[int, str | None]) -> PageReply:
    """Return a reply whose memories and wishes name the participants who said them."""
    wishes = [replace(one, wish=one.wish.of(names.get(one.seq))) for one in reply.wishes]
    memories = [replace(one, text=said_by(names.get(one.seq), one.text)) for one in reply.memories]
    return replace(reply, wishes=tuple(wishes), memories=tuple(memories))


def _wishes(
    runtime: Runtime, shown: _ForModel, page: int, found: Sequence[WishFound], tokens: Sequence[int]
) -> Iterator[NewWish]:
    conversation, now = shown.conversation, datetime.now(UTC)
    policy = runtime.policy(conversation)
    for one, weight in zip(found, tokens, strict=True):
        since = min(shown.said_at.get(one.seq, now), now)
        until = since if one.wish.ends else one.until
        is_own = one.seq not in shown.others
        for memory in keep(one.wish, conversation, policy, is_own=is_own, is_certain=one.is_certain):
            yield NewWish(
                uuid7(), (conversation.scope if memory.is_alone else memory.scope).owner, memory.scope.owner,
                memory.scope.text, memory.status, one.wish.key, one.seq, page,
                one.wish.text, weight, one.wish.sensitive, since, None if until is None else max(until, since),
            )  # fmt: skip


def _memories(shown: _ForModel, page: int, found: Sequence[MemoryFound]) -> list[Remembered]:
    return [_memory(shown.conversation, page, memory, shown.said_at.get(memory.seq)) for memory in found]


def _memory(conversation: Conversation, page: int, memory: MemoryFound, said_at: datetime | None) -> Remembered:
    content, offsets = without_nul(memory.text)
    passages = [(dated(uuid7(), said_at), *passage) for passage in vectors(memory.text)]
    return Remembered(
        id=passages[0][0], scope=conversation.scope, type="fact", content=content, quote=memory.quote,
        nul_offsets=f"{{{','.join(map(str, offsets))}}}", keywords=(), metadata="{}", source="llm", sensitive=False,
        expires_at=None, created_at=said_at or datetime.now(UTC), passages=passages, conversation_id=conversation.id,
        conversation_uid=conversation.uid, seq=memory.seq, page=page,
    )  # fmt: skip


# --- Apply ------------------------------------------------------------------------------------------


async def _apply(runtime: Runtime, claimed: Claimed, page: _Page, indexed: _Indexed) -> None:
    tenant, name = claimed.tenant, page.conversation_id
    index = replace(indexed.index, topics=merged(features_of(page.found.topics), indexed.index.topics))
    async with runtime.database.begin(tenant) as tx:
        is_stored = await page_index.index(tx, name, page.uid, page.found.generation, index)
        if is_stored is None:  # the page is not what it was: once more, unless the conversation is gone
            await table.requeue(tx, claimed)
        elif is_stored and indexed.reply is not None and page.shown is not None:
            await appending.keep_wishes(tx, page.shown.conversation, indexed.wishes, source="llm")
            await insertion.insert_remembered(runtime, tx, indexed.memories)
        if is_stored is not None and indexed.refused is None:
            await table.finish(tx, claimed)
    if is_stored is not None and indexed.refused is not None:
        raise indexed.refused
