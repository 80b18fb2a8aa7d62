"""Compute chains for messages stored before chains existed: see core.history.sync."""

from __future__ import annotations

import json
from uuid import UUID

from app.core.conversation import Conversation
from app.core.history.placeholder import as_sent
from app.core.history.sync import digest, link
from app.core.messages import read
from app.postgres.transactions import Tx
from app.runtime import Runtime
from app.services.conversations.lists import UNLIMITED
from app.store import conversations, messages

BATCH = 200
"""Messages that get their chains in one transaction."""


async def complete(runtime: Runtime, tenant: UUID, conversation_id: str) -> None:
    """Give the messages of an old conversation their digests and chains, in steps; others can append meanwhile."""
    uid, seq, chain, done = None, 0, b"", False
    while not done:
        async with runtime.database.begin(tenant) as tx:
            conversation = await conversations.lock(tx, conversation_id)
            if conversation is None or conversation.chain is not None or uid not in (None, conversation.uid):
                break
            uid = conversation.uid
            seq, chain = await _chain_some(tx, conversation, seq, chain)
            if done := seq >= conversation.end.last_seq:
                await messages.set_chain(tx, conversation_id, chain)
    runtime.caches.forget_conversation(tenant, conversation_id)


async def _chain_some(tx: Tx, conversation: Conversation, after: int, chain: bytes) -> tuple[int, bytes]:
    rows = await messages.history(tx, conversation.id, after, BATCH, newest_first=False)
    archived = [uuid for row in rows for uuid in row["archive_ids"]]
    texts = await messages.archived_texts(tx, archived) if archived else {}
    chains = []
    for row in rows:
        if row["seq"] != after + 1:
            chain = link(chain, b"")  # messages are gone: no list has this chain, but its end can still be found
        after = row["seq"]
        sent = as_sent(json.loads(row["body"]), texts, conversation.language or "en")
        [draft] = read([{**sent, "said_at": None}], UNLIMITED)  # older versions kept a member of the name unread
        if row["kind"] != "prompt":
            chain = link(chain, digest(draft))
        chains.append((after, digest(draft), chain))
    if chains:
        await messages.set_chains(tx, conversation.id, chains)
    return (after if rows else conversation.end.last_seq), chain
