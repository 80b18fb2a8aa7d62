"""Exports: a user or a conversation as lines (see app.services.lifecycle.lines), read a little at a time.

No transaction is held while a slow client receives a line. A conversation is exported up to its end at the beginning of
the export; messages never change, so later ones are simply left out.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from operator import attrgetter, itemgetter
from typing import Any, TypeVar
from uuid import UUID

from app.concurrency import run_in_thread_if_large
from app.core.canonical import dumps
from app.core.conversation import Conversation
from app.core.groups import chat_messages
from app.core.history.placeholder import as_sent
from app.core.history.rows import HistoryMessage, StoredArchive
from app.core.history.sync import INNER
from app.core.messages import NOT_SENT
from app.core.scope import Scope, scope_of
from app.core.times import said_text, time_text
from app.core.window.kept import StoredMemory
from app.errors import StorageUnavailable
from app.postgres.sight import widen
from app.postgres.transactions import ReadTx
from app.runtime import Runtime
from app.services import spaces
from app.services.conversations import receipts, serving
from app.services.lifecycle.lines import FORMAT, VERSION
from app.services.spaces import MEMBERS_MAX
from app.services.views import inspect
from app.store import archives, conversations, messages, portable, served
from app.store import spaces as stored_spaces
from app.store.memory import files
from app.store.memory.files import MemoryFile

MESSAGES_AT_ONCE, AT_ONCE = 100, 50
CONNECTION_TRIES = 6
"""Each waits as long for the pool as any request does."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Export:
    """An export of a tenant's data, with sensitive memories or without."""

    runtime: Runtime
    tenant: UUID
    sensitive: bool

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[ReadTx]:
        """Open a snapshot, with retries: a response that has begun cannot report an error."""
        async with AsyncExitStack() as stack:
            left, tx = CONNECTION_TRIES, None
            while tx is None:
                left -= 1
                try:
                    tx = await stack.enter_async_context(self.runtime.database.snapshot(self.tenant))
                except StorageUnavailable:
                    if not left:
                        raise
            yield tx

    async def each(
        self, read: Callable[[ReadTx, Any], Awaitable[Sequence[T]]], place: Callable[[T], Any]
    ) -> AsyncIterator[T]:
        """Yield rows in batches of AT_ONCE. ``read`` takes the ``place`` of the last row so far, None at first."""
        after = None
        while True:
            async with self.snapshot() as tx:
                rows = await read(tx, after)
            for row in rows:
                yield row
            if len(rows) < AT_ONCE:
                return
            after = place(rows[-1])


def header(of: Export, **whose: str) -> str:
    keys = {"keys": of.runtime.signer.document} if of.runtime.signer else {}
    return dumps({"type": "header", "format": FORMAT, "version": VERSION, **whose, **keys})


async def user(of: Export, user_id: str) -> AsyncIterator[str]:
    """Yield a user's data: conversations in order of creation, each with its own rows, then data outside of them."""
    yield header(of, user_id=user_id)
    async for line in _conversations(of, Scope("user", user_id)):
        yield line
    async for line in _beside(of, None, user_id):
        yield line
    async for line in _files(of, scope_of(user_id, None), {"user_id": user_id}):
        yield line


async def _files(of: Export, scope: Scope, whose: dict[str, str]) -> AsyncIterator[str]:
    """Yield the memory tool's files of a scope, by path."""

    async def some(tx: ReadTx, after: str | None) -> list[MemoryFile]:
        await widen(tx, scope.files)
        ids = [file for key, (file, _) in (await files.keys(tx, scope)).items() if key > (after or "")][:AT_ONCE]
        return await files.contents(tx, scope, ids)

    async for file in of.each(some, attrgetter("key")):
        shown = {"id": str(file.id), "path": f"/{file.key}", "content": file.content}
        yield dumps({"type": "memory_file", **whose, **shown, "created_at": time_text(file.created_at)})


async def space(of: Export, space_id: str) -> AsyncIterator[str]:
    """Yield a space with its members, its conversations, and data outside of any conversation."""
    yield header(of, space_id=space_id)
    async with of.snapshot() as tx:
        found = spaces.view(await stored_spaces.get(tx, space_id))
        rows = await stored_spaces.members(tx, space_id, None, MEMBERS_MAX)
    del found["created_at"]
    yield dumps({"type": "space", **found, "members": {row.user_id: row.rights for row in rows}})
    async for line in _conversations(of, Scope("space", space_id)):
        yield line
    async for line in _beside(of, None, None, space_id):
        yield line
    async for line in _files(of, Scope("space", space_id), {"space_id": space_id}):
        yield line


async def _conversations(of: Export, scope: Scope) -> AsyncIterator[str]:
    async for name, _ in of.each(lambda tx, after: portable.conversations(tx, scope, after, AT_ONCE), itemgetter(1)):
        async for line in _conversation(of, name, scope.user_id, alone=False):
            yield line


async def conversation(of: Export, conversation_id: str, bound_to: str | None) -> AsyncIterator[str]:
    yield header(of, conversation_id=conversation_id)
    async for line in _conversation(of, conversation_id, bound_to, alone=True):
        yield line


async def _conversation(of: Export, conversation_id: str, bound_to: str | None, *, alone: bool) -> AsyncIterator[str]:
    """Yield a conversation. A branch that is exported ``alone`` brings the messages it shares, else only its own."""
    async with of.snapshot() as tx:
        conversation = await conversations.find(tx, conversation_id, bound_to=bound_to)
        if conversation is None:  # erased meanwhile; perhaps another user's now
            return
        branch = {} if alone or not conversation.line.stretches else await _branch(tx, conversation)
    yield dumps(_conversation_line(conversation) | branch)
    after = 0
    if branch:
        after = conversation.line.stretches[-1].seq
        conversation = replace(conversation, id=conversation.line.own)
    while after < conversation.totals.last_seq:
        async with of.snapshot() as tx:
            last = conversation.totals.last_seq
            rows = await portable.messages(tx, conversation.id, after, last, MESSAGES_AT_ONCE)
        if not rows:
            return
        for row, digest in rows:
            texts, cards = await _archived_texts(of, row.archive_ids)
            size = len(row.body) + sum(map(len, texts.values()))
            yield await run_in_thread_if_large(size, _message_line, conversation, row, digest, texts, cards)
            after = row.seq
    async for line in _learnt(of, conversation):
        yield line
    async for line in _beside(of, conversation.id, conversation.user_id):
        yield line
    async for line in _cuts(of, conversation):
        yield line
    async for line in _receipts(of, conversation.line.own):
        yield line
    yield dumps({"type": "end", "conversation_id": conversation.id})


async def _receipts(of: Export, name: str) -> AsyncIterator[str]:
    """Yield the chain of a conversation's receipts, closed by a signed statement of its present end."""
    last: dict[str, Any] | None = None
    await serving.write(of.runtime)
    async for row in of.each(lambda tx, after: served.rows_after(tx, name, after or 0, AT_ONCE), attrgetter("first")):
        for last in row.receipts(name):
            yield dumps(receipts.line(name, last))
    if last is not None and of.runtime.signer is not None:
        yield dumps(receipts.line(name, receipts.head(of.runtime.signer, last)))


async def _branch(tx: ReadTx, conversation: Conversation) -> dict[str, Any]:
    line = conversation.line
    trunk = await conversations.find(tx, line.root)
    is_shown = trunk is not None and trunk.shown == conversation.id
    return {"parent_id": conversation.parent_id, "forked_after": line.stretches[-1].seq, "shown": is_shown}


def _conversation_line(conversation: Conversation) -> dict[str, Any]:
    view = inspect.conversation_view(conversation)
    names = ("id", "user_id", "title", "system", "model", "budget", "settings", "metadata", "created_at")
    return {
        "type": "conversation",
        **{name: view[name] for name in names},
        "has_earlier": conversation.has_earlier,
        **({} if conversation.space_id is None else {"space_id": conversation.space_id}),
    }


async def _archived_texts(of: Export, archive_ids: Sequence[UUID]) -> tuple[dict[UUID, str], Sequence[StoredArchive]]:
    if not archive_ids:
        return {}, ()
    async with of.snapshot() as tx:
        return await messages.archived_texts(tx, archive_ids), await archives.known(tx, archive_ids)


def _message_line(
    conversation: Conversation,
    row: HistoryMessage,
    digest: bytes | None,
    texts: dict[UUID, str],
    cards: Sequence[StoredArchive],
) -> str:
    by_call = _calls(row) if cards else {}
    line = {
        "type": "message",
        "conversation_id": conversation.id,
        "seq": row.seq,
        "id": str(row.id),
        "created_at": time_text(row.created_at),
        "message": _dated(row, as_sent(json.loads(row.body), texts, conversation.language or "en")),
        "archives": {by_call[str(c.id)]: _card(c) for c in cards if str(c.id) in by_call},
    }
    inner = {"inner": True} if digest == INNER else {}
    refused = {"refused": True} if row.kind == "refused" else {}
    return dumps({**line, **inner, **refused})


def _dated(row: HistoryMessage, message: dict[str, Any]) -> dict[str, Any]:
    """Return the message with its author, if its form does not show it, and the time it was said, if known."""
    said_at = {"said_at": said_text(row.said_at, row.said_offset)} if row.said_at else {}
    author = {"author": row.author} if row.author in ("machine", "sub-agent") else {}
    return {**{name: value for name, value in message.items() if name not in NOT_SENT}, **said_at, **author}


def _calls(row: HistoryMessage) -> dict[str, str]:
    calls = {}
    for message in chat_messages(row.view if row.view is not None else row.body):
        if message["role"] == "tool" and isinstance(message["content"], str):
            for uuid in row.archive_ids:
                if str(uuid) in message["content"].split("\n", 1)[0]:
                    calls[str(uuid)] = str(message["tool_call_id"])
    return calls


def _card(row: StoredArchive) -> dict[str, Any]:
    return {
        "uuid": str(row.id),
        "query_summary": row.query_summary,
        "result_summary": row.result_summary,
        "key_terms": row.key_terms,
        "sources": row.sources,
        "expires_at": time_text(row.expires_at) if row.expires_at else None,
    }


async def _learnt(of: Export, conversation: Conversation) -> AsyncIterator[str]:
    """Yield what jobs and recalls learned, each with its time: a branch shares what is older than itself."""
    for kind in portable.LEARNT:
        read = partial(portable.learnt, kind, conversation.id, AT_ONCE)
        async for row in of.each(read, itemgetter("place")):
            yield dumps({"type": kind, "conversation_id": conversation.id, **_learnt_line(row)})


def _learnt_line(row: dict[str, Any]) -> dict[str, Any]:
    values = row | {"created_at": time_text(row["created_at"])}
    del values["place"]
    if (seqs := values.pop("seqs", None)) is not None:
        values["lines"] = dict(zip(map(str, seqs), values["lines"], strict=True))
    return values


async def _cuts(of: Export, conversation: Conversation) -> AsyncIterator[str]:
    """Yield the current cuts, except those that quote text which this export must not contain."""
    generation = conversation.totals.generation
    async with of.snapshot() as tx:
        rows = await portable.cuts(tx, conversation.id, generation, sensitive=of.sensitive)
    for cut, made_at in rows:
        found = replace(cut, generation=0)  # how often the past was changed stays behind
        line = {"type": "cut", "conversation_id": conversation.id, "created_at": time_text(made_at)}
        yield dumps(line | {"cut": asdict(found) | {"sources": list(map(str, found.sources))}})


async def _beside(
    of: Export, conversation_id: str | None, user_id: str | None, space_id: str | None = None
) -> AsyncIterator[str]:
    place = {"user_id": user_id, "conversation_id": conversation_id}
    if space_id is not None:
        place["space_id"] = space_id

    at = (scope_of(user_id, conversation_id, space_id), conversation_id)
    read = partial(portable.memories, sensitive=of.sensitive)
    async for memory in of.each(lambda tx, after: read(tx, *at, after, AT_ONCE), attrgetter("id")):
        yield await run_in_thread_if_large(len(memory.content), _memory_line, place, memory)
    async for archive in of.each(lambda tx, after: portable.archives(tx, *at, after, AT_ONCE), attrgetter("id")):
        async with of.snapshot() as tx:
            text = (await messages.archived_texts(tx, [archive.id])).get(archive.id)
        if text is not None:
            line = {"type": "archive", **place, **_archive(archive), "result": text, "card": _card(archive)}
            yield await run_in_thread_if_large(len(text), dumps, line)


def _memory_line(place: Mapping[str, str | None], row: StoredMemory) -> str:
    line = {
        "type": "memory",
        **place,
        "id": str(row.id),
        "memory_type": row.type,
        "content": row.text,
        "keywords": row.keywords,
        "metadata": json.loads(row.metadata),
        "source": row.source,
        "scope": "conversation" if row.scope.is_alone else "user",
        "is_found": row.length > 0,
        **{name: getattr(row, name) for name in ("key", "pinned", "status", "quote")},
        "valid_from": time_text(row.valid_from),
        "valid_to": time_text(row.valid_to) if row.valid_to else None,
        "learnt_at": time_text(row.learnt_at),
        "sensitive": row.sensitive,
        "seq": row.seq,
        "page": row.page,
        "expires_at": time_text(row.expires_at) if row.expires_at else None,
        "created_at": time_text(row.created_at),
    }
    return dumps(line)


def _archive(row: StoredArchive) -> dict[str, Any]:
    names = ("tool_name", "tool_input", "language")
    return {**{name: getattr(row, name) for name in names}, "created_at": time_text(row.created_at)}
