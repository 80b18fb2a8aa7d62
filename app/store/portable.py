"""Statements that only export and import need."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.postgres.statements import SqlFile
from app.postgres.transactions import ReadTx, Tx
from app.store.windows import CUT_FIELDS

# Conversations of a user in the order in which they were made, so that branches come after what they share.
CONVERSATIONS = """
SELECT id, uid FROM conversations WHERE tenant_id = $1 AND user_id = $2 AND uid > $3 ORDER BY uid LIMIT $4
"""
CONVERSATIONS_OF_SPACE = """
SELECT id, uid FROM conversations WHERE tenant_id = $1 AND space_id = $2 AND uid > $3 ORDER BY uid LIMIT $4
"""
# A stretch of the messages, with the call that each archive answers.
MESSAGES = """
SELECT seq, id, kind, author, body, view, archive_ids, created_at, said_at, said_offset, digest FROM messages
 WHERE tenant_id = $1 AND conversation_id = $2 AND seq > $3 AND seq <= $4 ORDER BY seq LIMIT $5
"""
CARDS = """
SELECT id, tool_name, query_summary, result_summary, key_terms, sources, expires_at FROM archives
 WHERE tenant_id = $1 AND id = ANY ($2::uuid[]) ORDER BY array_position($2::uuid[], id)
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
MEMORIES = """
SELECT id, conversation_id, type, content, nul_offsets, keywords, metadata, source, sensitive, seq, page, expires_at,
       created_at, scope, key, pinned, status, quote, valid_from, valid_to, learnt_at, length FROM memories /*line*/
 WHERE tenant_id = $1 AND content IS NOT NULL AND part_of IS NULL AND type <> 'episode' AND id > $4
   AND (conversation_id = $2 OR ($2 IS NULL AND owner = $3 AND conversation_id IS NULL))
   AND (NOT sensitive OR $5) AND (expires_at IS NULL OR expires_at > now())
 ORDER BY id LIMIT $6
"""
# The same of archives that are in no message.
ARCHIVES = """
SELECT id, conversation_id, scope, digest, tool_name, tool_input, query_summary, result_summary, key_terms, sources,
       language, expires_at, created_at FROM archives
 WHERE tenant_id = $1 AND seq IS NULL AND id > $4
   AND (conversation_id = $2 OR ($2 IS NULL AND scope = $3 AND conversation_id IS NULL))
   AND (expires_at IS NULL OR expires_at > now())
 ORDER BY id LIMIT $5
"""

# --- Import -------------------------------------------------------------------------------------------

STORED = """
SELECT seq, id, client_id, digest FROM messages WHERE tenant_id = $1 AND conversation_id = $2 AND seq = $3
"""
STORED_BY_CLIENT = """
SELECT seq, id, client_id, digest FROM messages WHERE tenant_id = $1 AND conversation_id = $2 AND client_id = $3
"""
DATE = "UPDATE conversations SET created_at = $3, updated_at = $3 WHERE tenant_id = $1 AND id = $2"
HAS_SUMMARY = "SELECT FROM summaries WHERE tenant_id = $1 AND conversation_id = $2 AND version >= $3"
HAS_RECALL = "SELECT FROM recalls WHERE tenant_id = $1 AND conversation_id = $2 AND page = $3 AND count = $4"
UNINDEXED_PAGES = """
SELECT p.page FROM pages p JOIN conversations c ON c.tenant_id = p.tenant_id AND c.id = p.conversation_id
 WHERE p.tenant_id = $1 AND p.conversation_id = $2 AND p.page < c.last_page AND p.page > c.indexed_through
   AND NOT EXISTS (SELECT FROM page_index i
                    WHERE i.tenant_id = $1 AND i.conversation_id = $2 AND i.page = p.page)
"""
OWNER_OF_MEMORY = "SELECT owner FROM memories WHERE tenant_id = $1 AND id = $2"
PLACE_OF_ARCHIVE = "SELECT scope, conversation_id, seq FROM archives WHERE tenant_id = $1 AND id = $2"


@dataclass(frozen=True, slots=True)
class ImportedMessage:
    """A message that an import finds in its place."""

    seq: int
    id: UUID
    client_id: str | None
    digest: bytes | None


async def stored(tx: ReadTx, conversation_id: str, seq: int | None, client_id: str | None) -> ImportedMessage | None:
    """Return a message by its place, or by its client's id."""
    sql, value = (STORED, seq) if seq is not None else (STORED_BY_CLIENT, client_id)
    row = await tx.fetchrow(sql, conversation_id, value)
    return ImportedMessage(*row) if row is not None else None


async def date(tx: Tx, conversation_id: str, created_at: datetime) -> None:
    await tx.execute(DATE, conversation_id, created_at)
