"""Standing notes: instructions that must always be in view."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from asyncpg import Record

from app.postgres.database import Connection

LIST = """
SELECT id, seq, text, tokens, source, replaced, created_at FROM notes
 WHERE tenant_id = $1 AND conversation_id = $2 AND (replaced IS NULL OR $3) ORDER BY seq, id
"""


async def browse(
    connection: Connection, tenant: UUID, conversation_id: str, *, replaced: bool = False
) -> Sequence[Record]:
    """List notes: those written by people first, then extracted ones, in conversation order; optionally ``replaced``
    ones.
    """
    return await connection.fetch(LIST, tenant, conversation_id, replaced)


NOTES_READ_MAX = 200
"""The newest notes are read for a head."""

# Those that hold now, the newest.
CURRENT = """
SELECT id, seq, text, source FROM notes
 WHERE tenant_id = $1 AND conversation_id = $2 AND replaced IS NULL ORDER BY seq DESC, id DESC LIMIT $3
"""


async def current(connection: Connection, tenant: UUID, conversation_id: str, limit: int) -> Sequence[Record]:
    """Return the notes in force, newest first."""
    return await connection.fetch(CURRENT, tenant, conversation_id, limit)


# Notes that a model found; and those that they replace, which must not have become a person's own meanwhile.
FIND_MORE = """
INSERT INTO notes (tenant_id, conversation_id, id, seq, text, tokens, source, revision)
SELECT $1, $2, n.id, n.seq, n.text, n.tokens, 'llm', $3
  FROM unnest($4::uuid[], $5::int[], $6::text[], $7::int[]) AS n (id, seq, text, tokens)
"""
REPLACE = """
UPDATE notes SET replaced = $3
 WHERE tenant_id = $1 AND conversation_id = $2 AND id = ANY ($4::uuid[]) AND replaced IS NULL AND source <> 'person'
"""


async def find_more(
    connection: Connection,
    tenant: UUID,
    conversation_id: str,
    revision: int,
    new: Sequence[tuple[UUID, int, str, int]],
    replaced: Sequence[UUID],
) -> None:
    """Store the notes that a model found (id, seq, text and tokens of each), and retire those they replace."""
    if new:
        await connection.execute(FIND_MORE, tenant, conversation_id, revision, *(zip(*new, strict=True)))
    if replaced:
        await connection.execute(REPLACE, tenant, conversation_id, revision, replaced)


INSERT = """
INSERT INTO notes (tenant_id, conversation_id, id, seq, text, tokens, source) VALUES ($1, $2, $3, 0, $4, $5, 'person')
RETURNING id, seq, text, tokens, source, replaced, created_at
"""
CHANGE = """
UPDATE notes SET text = $4, tokens = $5, source = 'person', revision = 0, replaced = NULL
 WHERE tenant_id = $1 AND conversation_id = $2 AND id = $3
RETURNING id, seq, text, tokens, source, replaced, created_at
"""
DELETE = "DELETE FROM notes WHERE tenant_id = $1 AND conversation_id = $2 AND id = $3 RETURNING id"


async def insert(
    connection: Connection, tenant: UUID, conversation_id: str, note: UUID, text: str, tokens: int
) -> Record:
    row = await connection.fetchrow(INSERT, tenant, conversation_id, note, text, tokens)
    assert row is not None
    return row


async def change(
    connection: Connection, tenant: UUID, conversation_id: str, note: UUID, text: str, tokens: int
) -> Record | None:
    return await connection.fetchrow(CHANGE, tenant, conversation_id, note, text, tokens)


async def delete(connection: Connection, tenant: UUID, conversation_id: str, note: UUID) -> bool:
    return await connection.fetchrow(DELETE, tenant, conversation_id, note) is not None
