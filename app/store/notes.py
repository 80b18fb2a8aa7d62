"""Standing notes: what must always be in view."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from asyncpg import Record

from app.db import Connection

LIST = """
SELECT id, seq, text, tokens, source, created_at FROM notes
 WHERE tenant_id = $1 AND conversation_id = $2 ORDER BY seq, id
"""


async def browse(connection: Connection, tenant: UUID, conversation_id: str) -> Sequence[Record]:
    """What people wrote first, then what was found, in the order of the conversation."""
    return await connection.fetch(LIST, tenant, conversation_id)


# Those that a head needs: written by a person, or found in a message that is no longer in view.
FOR_HEAD = """
SELECT text, tokens FROM notes
 WHERE tenant_id = $1 AND conversation_id = $2 AND seq < $3 ORDER BY seq, id
"""


async def for_head(
    connection: Connection, tenant: UUID, conversation_id: str, before_seq: int
) -> list[tuple[str, int]]:
    """Text and tokens of each."""
    rows = await connection.fetch(FOR_HEAD, tenant, conversation_id, before_seq)
    return [(row["text"], row["tokens"]) for row in rows]


INSERT = """
INSERT INTO notes (tenant_id, conversation_id, id, seq, text, tokens, source) VALUES ($1, $2, $3, 0, $4, $5, 'person')
RETURNING id, seq, text, tokens, source, created_at
"""
CHANGE = """
UPDATE notes SET text = $4, tokens = $5, source = 'person' WHERE tenant_id = $1 AND conversation_id = $2 AND id = $3
RETURNING id, seq, text, tokens, source, created_at
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
