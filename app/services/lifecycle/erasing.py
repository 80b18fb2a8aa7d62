"""Erasing: what somebody wants gone is in no table, index, summary, epoch, kept answer or cache afterwards.

A message keeps its place as a mark (see app.core.erasure); all that was made of it, or of its page, goes: archives,
memories and vectors, notes that were found in it, the page's index and topics, summaries that cover it, epochs. Jobs
make the index and the summary again from what is left. What a recall tool brought back of it, into this or another
conversation of the user's, and what was kept of it for an Idempotency-Key, is found by comparing texts.

A new generation begins, so that no window is continued that showed it, and no job applies what it read before.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import anyio.to_thread
from asyncpg import Record

from app import errors
from app.core.canonical import dumps
from app.core.conversation import Conversation
from app.core.erasure import CALL_NAME, ERASED, Forms, Repeats, erased_forms, mark, swapped, without_content
from app.core.groups import chat_messages
from app.core.ingest import ConversationEnd
from app.core.messages import weigh
from app.core.model import Language
from app.core.neutral import neutral
from app.core.placeholder import ArchiveCard, placeholder
from app.core.quote import plain_text
from app.core.scope import owner_of, scope_of
from app.extractive.lines import result_line
from app.postgres.database import Connection
from app.queue import enqueue
from app.recall.tools import TOOL_NAMES
from app.runtime import Runtime
from app.services.memory import archiving
from app.store import archives, conversations, erasing, keys, messages, notes, remembered

MESSAGES_AT_ONCE = 200
LOADED_AT_ONCE = 200
ARCHIVES_AT_ONCE = 50
MEMORIES_AT_ONCE = 500
LONG = 20_000
"""Characters from which on a text is compared off the event loop."""


@dataclass
class Erasure:
    """What an erasure has done so far."""

    counts: Counter[str] = field(default_factory=Counter)
    touched: set[str] = field(default_factory=set)
    """Conversations that this process must not go on remembering."""
    gone: set[str] = field(default_factory=set)
    """Conversations that are erased as a whole."""


def forget(runtime: Runtime, tenant: UUID, conversation_ids: Iterable[str]) -> None:
    """Take conversations out of this process's memory. (Others' is checked against the database before it is used.)"""
    gone = set(conversation_ids)
    for conversation_id in gone:
        runtime.conversations.pop((tenant, conversation_id), None)
    for cache in (runtime.epochs, runtime.windows):
        for key in [k for k in cache if k[0] == tenant and k[1] in gone]:
            cache.pop(key, None)
    for texts in (runtime.counts, runtime.query_vectors, runtime.expansions, runtime.turns.given):
        texts.clear()


# --- Messages and pages -------------------------------------------------------------------------------


async def erase_message(
    runtime: Runtime, connection: Connection, tenant: UUID, known: Conversation, name: str
) -> tuple[int, Erasure]:
    """Erase a message of a (locked) conversation, by its seq or id; its seq. Raises NotFound."""
    seq = await _seq(connection, tenant, known, name)
    found = await erasing.rows(connection, tenant, known.id, [seq]) if seq is not None else []
    if not found:
        raise errors.NotFound("There is no such message.")
    return found[0]["seq"], await _erase(runtime, connection, tenant, known, found)


async def _seq(connection: Connection, tenant: UUID, known: Conversation, name: str) -> int | None:
    if name.isascii() and name.isdecimal():
        return int(name) if len(name) < 10 else None
    try:
        return await erasing.seq_of(connection, tenant, known.id, UUID(name))
    except ValueError:
        return None


async def erase_page(runtime: Runtime, connection: Connection, tenant: UUID, known: Conversation, page: int) -> Erasure:
    """Erase all messages of a page of a (locked) conversation. Raises NotFound."""
    stored = await messages.page_messages(connection, tenant, known.id, page)
    if not stored:
        raise errors.NotFound(f"There is no page {page}; pages 1–{known.totals.last_page} exist.")
    found = await erasing.rows(connection, tenant, known.id, [row["seq"] for row in stored])
    return await _erase(runtime, connection, tenant, known, found)


async def _erase(
    runtime: Runtime, connection: Connection, tenant: UUID, known: Conversation, found: Sequence[Record]
) -> Erasure:
    done = Erasure(touched={known.id})
    seqs, pages = [row["seq"] for row in found], sorted({row["page"] for row in found})
    said = [text async for text in _texts(connection, tenant, known.id, seqs[0], seqs[-1], set(seqs))]
    for row in await erasing.archives_of(connection, tenant, known.id, seqs):
        gone = await archiving.erase_row(connection, tenant, row, embeds=runtime.embedder is not None)
        done.counts.update({name: gone[name] for name in ("archives", "archive_contents")})
        done.counts["memories"] += gone["memories"]
    found = await erasing.rows(connection, tenant, known.id, seqs)
    language = known.language or "en"
    more = 0
    for row in found:
        more += await _replace(runtime, connection, tenant, known.id, row, language)
    near = [seq + 1 for seq in seqs]
    for call in [row["seq"] for row in found if row["kind"] == "call"]:
        for row in await erasing.results(connection, tenant, known.id, call):
            if row["seq"] not in seqs:
                near.append(row["seq"])
                await _unask(runtime, connection, tenant, known, row, done)
    done.counts["messages"] += len(found)
    derived = await erasing.drop_derived(connection, tenant, known.id, known.uid, seqs, pages, near)
    done.counts.update(derived)
    await erasing.settle(
        connection, tenant, known.id, seqs, first_page=pages[0], said=(mark(language), _marked(runtime, language)),
        prompt_tokens=more, open_calls=_open_calls(known.end, found),
    )  # fmt: skip
    await _redo(runtime, connection, tenant, known, pages)
    scope = known.scope
    await _redact_naming(connection, tenant, owner_of(scope), [row["id"] for row in found], done)
    await _erase_repeats(runtime, connection, tenant, scope, _again(said), done)
    done.counts["epochs"] += await conversations.begin_generation(connection, tenant, known.id)
    return done


async def _replace(
    runtime: Runtime, connection: Connection, tenant: UUID, conversation_id: str, row: Record, language: Language
) -> int:
    """Put the mark in a message's place; by how much a prompt became heavier."""
    view = [] if row["kind"] == "orphan" else chat_messages(row["view"] if row["view"] is not None else row["body"])
    anthropic = json.loads(row["anthropic"]) if row["anthropic"] else None
    forms = erased_forms(json.loads(row["body"]), view, anthropic, mark(language), TOOL_NAMES)
    if row["kind"] == "orphan":
        forms = Forms(forms.body, "", None)
    weight = weight_of(runtime, chat_messages(forms.view if forms.view is not None else forms.body))
    counted = weight if row["kind"] not in ("prompt", "orphan") else 0
    line = (mark(language), _marked(runtime, language))
    await erasing.replace(connection, tenant, (conversation_id, row["seq"]), forms, line, counted)
    return max(0, weight - weight_of(runtime, view)) if row["kind"] == "prompt" else 0


async def _unask(
    runtime: Runtime, connection: Connection, tenant: UUID, known: Conversation, row: Record, done: Erasure
) -> None:
    """Take what an erased call said out of what was made of its result: line, placeholder, archive."""
    if row["loaded"] is not None:
        await _erase_loaded(runtime, connection, tenant, known.id, row["seq"], done)
        return
    owner = owner_of(known.scope)
    await _redact_naming(connection, tenant, owner, [row["id"], *row["archive_ids"]], done)
    texts = [row[name] for name in ("body", "view", "short", "anthropic")]
    for card in await erasing.cards(connection, tenant, row["archive_ids"]):
        bare = ArchiveCard(
            card["id"], CALL_NAME, "", card["created_at"], card["length"], card["result_summary"],
            tuple(card["key_terms"]), tuple(card["sources"]),
        )  # fmt: skip
        said = placeholder(bare, card["language"])
        await erasing.unask_archive(connection, tenant, card["id"], CALL_NAME, said)
        texts = [text and dumps(swapped(json.loads(f"[{text}]"), card["placeholder"], said))[1:-1] for text in texts]
    view = chat_messages(texts[1] if texts[1] is not None else texts[0])
    line = neutral(result_line(CALL_NAME, plain_text(view)))
    await erasing.unask(connection, tenant, (known.id, row["seq"]), texts, (line, runtime.tokens.count(line)))


def weight_of(runtime: Runtime, view: Sequence[dict[str, Any]]) -> int:
    weighed = [weigh(message) for message in view]
    return sum(sum(map(runtime.tokens.count, texts)) + overhead for texts, overhead in weighed)


def _marked(runtime: Runtime, language: Language) -> int:
    return runtime.tokens.count(mark(language))


def _open_calls(end: ConversationEnd, found: Sequence[Record]) -> str:
    """The calls that await results, without what an erased one said."""
    gone = {
        call["id"]
        for row in found
        if row["kind"] == "call"
        for message in chat_messages(row["view"] if row["view"] is not None else row["body"])
        for call in message.get("tool_calls") or []
    }
    kept = [
        replace(c, name=c.name if c.name in TOOL_NAMES else CALL_NAME, arguments="{}") if c.id in gone else c
        for c in end.open_calls
    ]
    return conversations.calls_text(replace(end, open_calls=tuple(kept)))


async def _redo(
    runtime: Runtime, connection: Connection, tenant: UUID, known: Conversation, pages: Sequence[int]
) -> None:
    """What jobs have to make again from what is left."""
    work = [enqueue.page(known.id, known.uid, page) for page in pages if page < known.totals.last_page]
    if runtime.chat is not None and known.totals.last_seq >= runtime.settings.memory_summary_threshold:
        work.append(enqueue.summary(known.id, known.uid))
    if runtime.embedder is not None:
        work.append(enqueue.embed(owner_of(known.scope)))
    if work:
        await enqueue.enqueue(connection, tenant, work)


# --- What repeats it ----------------------------------------------------------------------------------


async def _texts(
    connection: Connection, tenant: UUID, conversation_id: str, first: int, last: int, wanted: set[int] | None = None
) -> AsyncIterator[str]:
    """What messages say, and what is archived of them."""
    after = first - 1
    while after < last:
        rows = await erasing.texts(connection, tenant, conversation_id, after, MESSAGES_AT_ONCE)
        for row in rows:
            if row["seq"] <= last and (wanted is None or row["seq"] in wanted):
                yield plain_text([json.loads(row["body"])])
                if row["view"] and row["kind"] != "orphan":
                    yield plain_text(chat_messages(row["view"]))
                for text in row["archived"]:
                    yield text
        if len(rows) < MESSAGES_AT_ONCE:
            return
        after = rows[-1]["seq"]


Source = Callable[[], AsyncIterator[str]]
"""What is erased, as often as it is wanted."""


def _again(texts: Sequence[str]) -> Source:
    async def source() -> AsyncIterator[str]:
        for text in texts:
            yield text

    return source


async def _erase_repeats(
    runtime: Runtime,
    connection: Connection,
    tenant: UUID,
    scope: str | UUID,
    source: Source,
    done: Erasure,
    *,
    answers_only: bool = False,
) -> None:
    """Erase what repeats some texts: what recall tools brought into a scope's conversations, and answers of theirs
    that were kept. Of a scope the hash will do.
    """
    after = ("", 0)
    while not answers_only and (rows := await erasing.loaded(connection, tenant, scope, after, LOADED_AT_ONCE)):
        after = (rows[-1]["conversation_id"], rows[-1]["seq"])
        known: dict[Hashable, str] = {
            (row["conversation_id"], row["seq"]): plain_text(chat_messages(row["loaded"]))
            for row in rows
            if row["conversation_id"] not in done.gone
            and (isinstance(scope, str) or owner_of(scope_of(row["user_id"], row["conversation_id"])) == scope)
        }
        for conversation_id, seq in sorted(await _repeating(known, source)):
            await _erase_loaded(runtime, connection, tenant, conversation_id, seq, done)
    by_key: dict[str, Record] = {}
    owner = scope if isinstance(scope, UUID) else owner_of(scope)
    async for answer in erasing.answers_said(connection, tenant, owner):
        by_key[answer["key"]] = answer
        if len(by_key) == LOADED_AT_ONCE:
            await _redact_repeating(connection, tenant, by_key, source, done)
            by_key = {}
    await _redact_repeating(connection, tenant, by_key, source, done)


async def _redact_repeating(
    connection: Connection, tenant: UUID, by_key: dict[str, Record], source: Source, done: Erasure
) -> None:
    said: dict[Hashable, str] = {k: "\n".join(_strings(json.loads(a["response"]))) for k, a in by_key.items()}
    for name in await _repeating(said, source):
        await _redact(connection, tenant, by_key[name], None, done)


async def _repeating(known: dict[Hashable, str], source: Source) -> set[Any]:
    """The names of the texts that repeat something of a source."""
    if not known:
        return set()
    repeats = await anyio.to_thread.run_sync(Repeats, known)
    found: set[Hashable] = set()
    async for text in source():
        found |= await anyio.to_thread.run_sync(repeats.of, text) if len(text) > LONG else repeats.of(text)
    return found


def _strings(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings(item)


async def _erase_loaded(
    runtime: Runtime, connection: Connection, tenant: UUID, conversation_id: str, seq: int, done: Erasure
) -> None:
    """Erase what a recall tool brought in. It was never indexed or summarised, so nothing else knows of it."""
    known = await conversations.lock(connection, tenant, conversation_id)
    if known is None:
        return
    for row in await erasing.rows(connection, tenant, conversation_id, [seq]):
        await _replace(runtime, connection, tenant, conversation_id, row, known.language or "en")
        await _redact_naming(connection, tenant, owner_of(known.scope), [row["id"]], done)
        done.counts["messages"] += 1
    if conversation_id not in done.touched:
        done.counts["epochs"] += await conversations.begin_generation(connection, tenant, conversation_id)
    done.touched.add(conversation_id)


async def _redact_naming(connection: Connection, tenant: UUID, owner: UUID, ids: Sequence[UUID], done: Erasure) -> None:
    if ids:
        async for answer in erasing.answers_naming(connection, tenant, owner, ids):
            await _redact(connection, tenant, answer, {str(i) for i in ids}, done)


async def _redact(connection: Connection, tenant: UUID, answer: Record, ids: set[str] | None, done: Erasure) -> None:
    """A request that is sent again is still answered, but what is erased is not said again."""
    kept = without_content(json.loads(answer["response"]), ids, ERASED)
    await erasing.correct(connection, tenant, answer["key"], dumps(kept))
    done.counts["idempotency"] += 1


async def erase_note(connection: Connection, tenant: UUID, known: Conversation, note: UUID) -> Erasure:
    """Delete a standing note of a (locked) conversation, and what was kept of it. Raises NotFound."""
    if not await notes.delete(connection, tenant, known.id, note):
        raise errors.NotFound("There is no such note.")
    done = Erasure(touched={known.id})
    done.counts["notes"] += 1
    await _redact_naming(connection, tenant, owner_of(known.scope), [note], done)
    done.counts["epochs"] += await conversations.begin_generation(connection, tenant, known.id)
    return done


# --- Memories, conversations, users -------------------------------------------------------------------


async def erase_memory(
    runtime: Runtime, connection: Connection, tenant: UUID, key: UUID, scope: str | None = None, *, sensitive: bool
) -> tuple[UUID, Erasure]:
    """Delete a memory (with a scope, only one of that scope's) with its vectors, and what repeats it; whose it was.
    What it was found in stays. Raises NotFound.
    """
    done = Erasure()
    known = (await remembered.contents(connection, tenant, [key], sensitive=sensitive)).get(key)
    asked = owner_of(scope) if scope is not None else None
    owner = await remembered.delete(connection, tenant, key, owner=asked, sensitive=sensitive)
    if owner is None:
        raise errors.NotFound("There is no such memory.")
    done.counts["memories"] += 1
    if known is None:
        return owner, done
    await _redact_naming(connection, tenant, owner, [key], done)
    await _erase_repeats(runtime, connection, tenant, owner, _again([known["content"]]), done)
    return owner, done


async def erase_archive(
    runtime: Runtime, connection: Connection, tenant: UUID, uuid: UUID, scope: str | None = None
) -> tuple[UUID, Erasure]:
    """Erase an archive (with a scope, only one of that scope's) and what repeats it; whose it was. Its placeholder
    then says so, in every window. Raises NotFound.
    """
    row = await archives.read(connection, tenant, scope, uuid, 0, 2**31 - 1)
    if row is None:
        raise errors.NotFound("There is no such archive.")
    done = Erasure()
    await _forget_made(runtime, connection, tenant, row, done)
    done.counts.update(await archiving.erase_row(connection, tenant, row, embeds=runtime.embedder is not None))
    await _erase_repeats(runtime, connection, tenant, row["scope"], _again([row["text"]]), done)
    return owner_of(row["scope"]), done


async def _forget_made(runtime: Runtime, connection: Connection, tenant: UUID, row: Record, done: Erasure) -> None:
    """Delete what a model made of the page that an archive's placeholder stands in, which says something of it."""
    known = None
    if row["conversation_id"] is not None and row["seq"] is not None:
        known = await conversations.lock(connection, tenant, row["conversation_id"])
    found = await erasing.rows(connection, tenant, known.id, [row["seq"]]) if known is not None else []
    if known is None or not found:
        return
    done.touched.add(known.id)
    page, language = found[0]["page"], known.language or "en"
    done.counts.update(await erasing.drop_derived(connection, tenant, known.id, known.uid, [], [page], [row["seq"]]))
    await erasing.settle(
        connection, tenant, known.id, [], first_page=page, said=(mark(language), _marked(runtime, language)),
        prompt_tokens=0, open_calls=conversations.calls_text(known.end),
    )  # fmt: skip
    await _redo(runtime, connection, tenant, known, [page])


async def erase_expired_archives(runtime: Runtime, tenant: UUID) -> int:
    """Erase what is past its time, with what recall tools brought of it, a transaction for each scope; how many they
    were. What a model wrote on the pages of their placeholders stays: that it would be written anew every day costs
    more than it is worth.
    """
    async with runtime.database.snapshot(tenant) as connection:
        due = await archives.expired(connection, tenant)
    for scope in sorted({row["scope"] for row in due}):
        rows = [row for row in due if row["scope"] == scope]
        done = Erasure()
        async with runtime.database.begin(tenant) as connection:

            async def contents(connection: Connection = connection, rows: list[Record] = rows) -> AsyncIterator[str]:
                for row in rows:
                    yield await archives.content(connection, tenant, row["scope"], row["digest"])

            await _erase_repeats(runtime, connection, tenant, scope, contents, done)
            for row in rows:
                await archiving.erase_row(connection, tenant, row, embeds=runtime.embedder is not None)
        forget(runtime, tenant, done.touched)
    return len(due)


async def erase_conversation(
    runtime: Runtime, connection: Connection, tenant: UUID, known: Conversation, *, alone: bool = True
) -> Erasure:
    """Delete a (locked) conversation with all that hangs from it or repeats it. ``alone``: its user stays."""
    done = Erasure(touched={known.id}, gone={known.id})
    scope = known.scope
    async for answer in erasing.answers_of(connection, tenant, owner_of(scope), known.id, dumps(known.id)):
        await _redact(connection, tenant, answer, None, done)

    def everything() -> AsyncIterator[str]:
        return _texts(connection, tenant, known.id, 1, known.totals.last_seq)

    answers_only = not alone or known.user_id is None
    await _erase_repeats(runtime, connection, tenant, scope, everything, done, answers_only=answers_only)
    done.counts.update(await conversations.erase(connection, tenant, known))
    return done


async def erase_user(runtime: Runtime, tenant: UUID, user_id: str) -> Erasure:
    """Everything of a user's: each conversation in a transaction of its own, then what is in none, at last the keys
    that are bound to the user. Cut off, it is gone on with when it is asked for again.
    """
    done, since = Erasure(), datetime.now(UTC)
    while True:
        async with runtime.database.begin(tenant) as connection:
            name = await connection.fetchval(erasing.CONVERSATION_OF, tenant, user_id, since)
            known = await conversations.lock(connection, tenant, name) if name is not None else None
            one = Erasure()
            if known is not None:
                one = await erase_conversation(runtime, connection, tenant, known, alone=False)
        if name is None:
            break
        _add(runtime, tenant, done, one)
    scope = scope_of(user_id, None)
    while True:
        one = Erasure()
        async with runtime.database.begin(tenant) as connection:
            rows = await connection.fetch(erasing.ARCHIVES_OF, tenant, scope, ARCHIVES_AT_ONCE)
            await _redact_naming(connection, tenant, owner_of(scope), [row["id"] for row in rows], one)
            for row in rows:
                one.counts["archives"] += 1
                one.counts.update(await archives.delete(connection, tenant, row["id"], row["scope"]))
        _add(runtime, tenant, done, one)
        if not rows:
            break
    done = await _erase_owned(runtime, tenant, owner_of(scope), done)
    async with runtime.database.begin(tenant) as connection:
        if gone := await keys.delete_of_user(connection, tenant, user_id):
            done.counts["keys"] += gone
    return done


async def _erase_owned(runtime: Runtime, tenant: UUID, owner: UUID, done: Erasure) -> Erasure:
    while True:
        one = Erasure()
        async with runtime.database.begin(tenant) as connection:
            gone = await connection.fetch(erasing.FORGET_OWNED, tenant, owner, MEMORIES_AT_ONCE)
            await _redact_naming(connection, tenant, owner, [row["id"] for row in gone], one)
            one.counts["memories"] += len(gone)
            if not gone:
                await connection.execute(erasing.DROP_EMBEDDING, tenant, str(owner))
        _add(runtime, tenant, done, one)
        if not gone:
            return done


def _add(runtime: Runtime, tenant: UUID, done: Erasure, one: Erasure) -> None:
    done.counts.update(one.counts)
    done.touched |= one.touched
    forget(runtime, tenant, one.touched)
