"""Standing notes: instructions that must always be in view."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from asyncpg import Record

from app.postgres.transactions import ReadTx, Tx

LIST = """
SELECT id, seq, text, tokens, source, replaced, created_at FROM notes
 WHERE tenant_id = $1 AND conversation_id = $2 AND (replaced IS NULL OR $3) ORDER BY seq, id
"""


async def browse(tx: ReadTx, conversation_id: str, *, replaced: bool = False) -> Sequence[Record]:
    """List notes: those written by people first, then extracted ones, in conversation order; optionally ``replaced``
    ones.
    """
    return await tx.fetch(LIST, conversation_id, replaced)


NOTES_READ_MAX = 200
"""The newest notes are read for a head."""

# Those that hold now, the newest.
CURRENT = """
SELECT id, seq, text, source FROM notes
 WHERE tenant_id = $1 AND conversation_id = $2 AND replaced IS NULL ORDER BY seq DESC, id DESC LIMIT $3
"""


async def current(tx: ReadTx, conversation_id: str, limit: int) -> Sequence[Record]:
    """Return the notes in force, newest first."""
    return await tx.fetch(CURRENT, conversation_id, limit)


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
    tx: Tx,
    conversation_id: str,
    revision: int,
    new: Sequence[tuple[UUID, int, str, int]],
    replaced: Sequence[UUID],
) -> None:
    """Store the notes that a model found (id, seq, text and tokens of each), and retire those they replace."""
    if new:
        await tx.execute(FIND_MORE, conversation_id, revision, *(zip(*new, strict=True)))
    if replaced:
        await tx.execute(REPLACE, conversation_id, revision, replaced)


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


async def insert(tx: Tx, conversation_id: str, note: UUID, text: str, tokens: int) -> Record:
    row = await tx.fetchrow(INSERT, conversation_id, note, text, tokens)
    assert row is not None
    return row


async def change(tx: ReadTx, conversation_id: str, note: UUID, text: str, tokens: int) -> Record | None:
    return await tx.fetchrow(CHANGE, conversation_id, note, text, tokens)


async def delete(tx: Tx, conversation_id: str, note: UUID) -> bool:
    return await tx.fetchrow(DELETE, conversation_id, note) is not None
