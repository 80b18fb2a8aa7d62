"""Statements that only export and import need."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from app.core.history.rows import HistoryMessage, StoredArchive
from app.core.model import Cut
from app.core.scope import Scope
from app.core.window.kept import StoredMemory
from app.postgres.statements import SqlFile
from app.postgres.transactions import ReadTx, Tx
from app.store.archives import ALIVE, CARD_FIELDS, JOINED
from app.store.memory import kept
from app.store.messages import MESSAGE_FIELDS
from app.store.windows import CUT_FIELDS, read_cut

# Conversations of a user or a space in the order in which they were made, so that branches come after what they share.
_CONVERSATIONS = """
SELECT id, uid FROM conversations WHERE tenant_id = $1 AND {of} = $2 AND uid > $3 ORDER BY uid LIMIT $4
"""
CONVERSATIONS, CONVERSATIONS_OF_SPACE = (_CONVERSATIONS.format(of=of) for of in ("user_id", "space_id"))
MESSAGES = f"""
SELECT m.digest, {MESSAGE_FIELDS} FROM messages m
 WHERE m.tenant_id = $1 AND m.conversation_id = $2 AND m.seq > $3 AND m.seq <= $4 ORDER BY m.seq LIMIT $5
"""
_SQL = SqlFile(__file__, cut_fields=CUT_FIELDS)
LEARNT = {
    "page": _SQL.statement("page"),
    "chapter": _SQL.statement("chapter"),
    "summary": _SQL.statement("summary"),
    "recall": _SQL.statement("recall"),
}
CUTS = _SQL.statement("cuts")
# Memories with content of their own: a conversation's ($2), or those of an owner ($3) outside of any.
MEMORIES = f"""
SELECT {kept.FIELDS.format(until="m.valid_to")} FROM memories /*line*/ m
 WHERE m.tenant_id = $1 AND m.content IS NOT NULL AND m.part_of IS NULL AND m.type <> 'episode' AND m.id > $4
   AND (m.conversation_id = $2 OR ($2 IS NULL AND m.owner = $3 AND m.conversation_id IS NULL))
   AND (NOT m.sensitive OR $5) AND (m.expires_at IS NULL OR m.expires_at > now())
 ORDER BY m.id LIMIT $6
"""
# The same of archives that are in no message.
ARCHIVES = f"""
SELECT {CARD_FIELDS} FROM {JOINED}
 WHERE a.tenant_id = $1 AND a.seq IS NULL AND a.id > $4
   AND (a.conversation_id = $2 OR ($2 IS NULL AND a.scope = $3 AND a.conversation_id IS NULL)) AND {ALIVE}
 ORDER BY a.id LIMIT $5
"""
FIRST_ID = UUID(int=0)


async def conversations(tx: ReadTx, of: Scope, after: UUID | None, limit: int) -> list[tuple[str, UUID]]:
    sql = CONVERSATIONS if of.space_id is None else CONVERSATIONS_OF_SPACE
    return [(row["id"], row["uid"]) for row in await tx.fetch(sql, of.id, after or FIRST_ID, limit)]


async def messages(
    tx: ReadTx, conversation_id: str, after: int, through: int, limit: int
) -> list[tuple[HistoryMessage, bytes | None]]:
    """Return a stretch of the messages, each with its digest."""
    rows = await tx.fetch(MESSAGES, conversation_id, after, through, limit)
    return [(HistoryMessage(*fields), digest) for digest, *fields in rows]


async def learnt(
    kind: str, conversation_id: str, limit: int, tx: ReadTx, after: Sequence[int] | None
) -> list[dict[str, Any]]:
    """Return what jobs and recalls learned, from a ``place`` on."""
    rows = await tx.fetch(LEARNT[kind], conversation=conversation_id, after=after or [], limit=limit)
    return list(map(dict, rows))


async def cuts(tx: ReadTx, conversation_id: str, generation: int, *, sensitive: bool) -> list[tuple[Cut, datetime]]:
    rows = await tx.fetch(CUTS, conversation=conversation_id, generation=generation, sensitive=sensitive)
    return [(read_cut(row), row["created_at"]) for row in rows]


async def memories(
    tx: ReadTx, of: Scope, conversation_id: str | None, after: UUID | None, limit: int, *, sensitive: bool
) -> list[StoredMemory]:
    rows = await tx.fetch(MEMORIES, conversation_id, of.owner, after or FIRST_ID, sensitive, limit)
    return [kept.read(row) for row in rows]


async def archives(
    tx: ReadTx, of: Scope, conversation_id: str | None, after: UUID | None, limit: int
) -> list[StoredArchive]:
    rows = await tx.fetch(ARCHIVES, conversation_id, of.text, after or FIRST_ID, limit)
    return [StoredArchive.from_row(row) for row in rows]


# --- Import -------------------------------------------------------------------------------------------

_STORED = f"""
SELECT m.digest, {MESSAGE_FIELDS} FROM messages m WHERE m.tenant_id = $1 AND m.conversation_id = $2 AND m.{{by}} = $3
"""
STORED, STORED_BY_CLIENT = (_STORED.format(by=by) for by in ("seq", "client_id"))
DATE = "UPDATE conversations SET created_at = $3, updated_at = $3 WHERE tenant_id = $1 AND id = $2"
HAS_SUMMARY = "SELECT FROM summaries WHERE tenant_id = $1 AND conversation_id = $2 AND version >= $3"
HAS_RECALL = "SELECT FROM recalls WHERE tenant_id = $1 AND conversation_id = $2 AND page = $3 AND count = $4"
UNINDEXED_PAGES = """
SELECT p.page FROM pages p JOIN conversations c ON c.tenant_id = p.tenant_id AND c.id = p.conversation_id
 WHERE p.tenant_id = $1 AND p.conversation_id = $2 AND p.page < c.last_page AND p.page > c.indexed_through
   AND NOT EXISTS (SELECT FROM page_index i
                    WHERE i.tenant_id = $1 AND i.conversation_id = $2 AND i.page = p.page)
"""


async def stored(
    tx: ReadTx, conversation_id: str, seq: int | None, client_id: str | None
) -> tuple[HistoryMessage, bytes | None] | None:
    """Return a message by seq or client id, with its digest."""
    sql, value = (STORED, seq) if seq is not None else (STORED_BY_CLIENT, client_id)
    row = await tx.fetchrow(sql, conversation_id, value)
    return (HistoryMessage(*tuple(row)[1:]), row["digest"]) if row is not None else None


async def date(tx: Tx, conversation_id: str, created_at: datetime) -> None:
    await tx.execute(DATE, conversation_id, created_at)


async def has_summary(tx: ReadTx, conversation_id: str, version: int) -> bool:
    """Return whether this version or a later one exists."""
    return await tx.fetchrow(HAS_SUMMARY, conversation_id, version) is not None


async def has_recall(tx: ReadTx, conversation_id: str, page: int, count: int) -> bool:
    return await tx.fetchrow(HAS_RECALL, conversation_id, page, count) is not None


async def unindexed_pages(tx: ReadTx, conversation_id: str) -> list[int]:
    return [row["page"] for row in await tx.fetch(UNINDEXED_PAGES, conversation_id)]
