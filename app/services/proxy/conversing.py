"""Conversations as OpenAI's clients know them: lists of items that are added, read page by page and deleted.

An item is a part of a message, so it is stored, archived, found and erased with it. Quire's own recalls, and the marks
of what was erased or pruned, are no items.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from asyncpg import Record

from app import errors
from app.concurrency import run_in_thread_if_large
from app.core.conversation import Conversation
from app.core.dialects.conversation_items import MessageName, identified_items, is_mark, named_item
from app.core.dialects.question import Json
from app.core.edge.caller import Caller
from app.core.history.placeholder import as_sent
from app.core.history.sync import digest
from app.core.messages import Draft, read
from app.core.model import INTEGER_MAX
from app.postgres.transactions import ReadTx
from app.runtime import Runtime
from app.services.conversations.append import append
from app.services.conversations.lists import UNLIMITED
from app.services.conversations.requests import PostedMessages
from app.services.idempotency import IdempotencyKey
from app.store import conversations, messages
from app.store.proxy import proxied

ROWS_AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class ItemsPage:
    """A stretch of a conversation's items."""

    items: Sequence[Json]
    has_more: bool


@dataclass(frozen=True, slots=True)
class WantedItems:
    """The items to list."""

    limit: int
    newest_first: bool
    after: str | None = None
    """The id of the item that they follow."""


def unknown_item() -> errors.NotFound:
    """Return the one answer for an item that does not exist, was deleted, or is another user's."""
    return errors.NotFound("There is no such item.")


async def conversation_of(runtime: Runtime, caller: Caller, name: str) -> Conversation:
    """Return a conversation that a request may see. Raises NotFound."""
    async with runtime.database.snapshot(caller.tenant) as tx:
        return await conversations.get(tx, name, bound_to=caller.user_id)


def first_items_key(made: Conversation) -> IdempotencyKey:
    """Return the key under which a new conversation gets its first items, however often its creation is sent."""
    return IdempotencyKey(f"first items:{made.uid}", hashlib.sha256(made.uid.bytes).digest())


async def add(
    runtime: Runtime, caller: Caller, conversation: Conversation, request: PostedMessages, key: IdempotencyKey | None,
    *, retried: bool,
) -> list[Json]:  # fmt: skip
    """Append messages and return their items. A request that is marked as a retry finds what the first one stored."""
    rows = await _stored_before(runtime, caller, conversation, request.drafts) if retried else []
    if not rows:
        done = await append(runtime, caller.tenant, conversation.id, request, key)
        seqs = [message["seq"] for message in json.loads(done.response)["messages"]]
        async with runtime.database.snapshot(caller.tenant) as tx:
            rows = await proxied.told(tx, conversation.id, seqs[0] - 1, len(seqs))
    async with runtime.database.snapshot(caller.tenant) as tx:
        return await items_of_rows(tx, conversation, rows)


async def _stored_before(
    runtime: Runtime, caller: Caller, conversation: Conversation, drafts: Sequence[Draft]
) -> list[Record]:
    async with runtime.database.snapshot(caller.tenant) as tx:
        rows = await proxied.told(
            tx, conversation.id, INTEGER_MAX, len(drafts), newest_first=True
        )  # fmt: skip
    same = [row["digest"] for row in reversed(rows)] == [digest(draft) for draft in drafts]
    return rows[::-1] if same else []


async def page(runtime: Runtime, caller: Caller, conversation: Conversation, wanted: WantedItems) -> ItemsPage:
    """Return a page of items. Raises NotFound if there is no item that it is to follow."""
    found: list[Json] = []
    async with runtime.database.snapshot(caller.tenant) as tx:
        at = INTEGER_MAX if wanted.newest_first else 0
        if wanted.after is not None:
            row, place = await named_row(tx, conversation, wanted.after)
            items = await items_of_rows(tx, conversation, [row])
            found += items[:place][::-1] if wanted.newest_first else items[place + 1 :]
            at = row["seq"]
        while len(found) <= wanted.limit:
            rows = await proxied.told(tx, conversation.id, at, ROWS_AT_ONCE, newest_first=wanted.newest_first)
            for row in rows:
                items = await items_of_rows(tx, conversation, [row])
                found += items[::-1] if wanted.newest_first else items
            if len(rows) < ROWS_AT_ONCE:
                break
            at = rows[-1]["seq"]
    return ItemsPage(found[: wanted.limit], len(found) > wanted.limit)


async def item(runtime: Runtime, caller: Caller, conversation: Conversation, item_id: str) -> Json:
    """Return an item. Raises NotFound."""
    async with runtime.database.snapshot(caller.tenant) as tx:
        row, place = await named_row(tx, conversation, item_id)
        return (await items_of_rows(tx, conversation, [row]))[place]


async def named_row(tx: ReadTx, conversation: Conversation, item_id: str) -> tuple[Record, int]:
    """Return the message of an item, and the item's place in it. Raises NotFound."""
    if (named := named_item(item_id)) is None:
        raise unknown_item()
    name, place = named
    if name.response_id is not None:
        row = await proxied.told_answer(tx, conversation.id, name.response_id)
    else:
        row = next(iter(await proxied.told(tx, conversation.id, name.seq - 1, 1)), None)
    if row is None or MessageName.of(row["id"], row["seq"], row["client_id"]) != name:
        raise unknown_item()
    items = await items_of_rows(tx, conversation, [row])
    if place >= len(items) or items[place]["id"] != item_id:
        raise unknown_item()
    return row, place


async def items_of_rows(tx: ReadTx, conversation: Conversation, rows: Sequence[Record]) -> list[Json]:
    archive_ids = [uuid for row in rows for uuid in row["archive_ids"]]
    texts = await messages.archived_texts(tx, archive_ids) if archive_ids else {}
    language = conversation.language or "en"

    def made() -> list[Json]:
        drafts = [read([as_sent(json.loads(row["body"]), texts, language)], UNLIMITED)[0] for row in rows]
        return [
            item
            for row, draft in zip(rows, drafts, strict=True)
            if not is_mark(draft, row["digest"])
            for item in identified_items(draft, MessageName.of(row["id"], row["seq"], row["client_id"]))
        ]

    return await run_in_thread_if_large(sum(len(row["body"]) for row in rows), made)
