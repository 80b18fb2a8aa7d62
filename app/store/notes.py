"""Standing notes: what must always be in view."""

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
    """What people wrote first, then what was found, in the order of the conversation; ``replaced`` ones on demand."""
    return await connection.fetch(LIST, tenant, conversation_id, replaced)


NOTES_READ_MAX = 200
"""The newest; nobody keeps to more."""

# Those that a head needs, as they were known at a revision: written by a person, or found in a message that is no
# longer in view; the newest.
FOR_HEAD = """
SELECT seq, text, tokens, source FROM notes
 WHERE tenant_id = $1 AND conversation_id = $2 AND (source = 'person' OR seq < $3)
   AND revision <= $4 AND (replaced IS NULL OR replaced > $4)
 ORDER BY source = 'person' DESC, seq DESC, id DESC LIMIT $5
"""


async def for_head(
    connection: Connection, tenant: UUID, conversation_id: str, before_seq: int, revision: int
) -> Sequence[Record]:
    """Seq, text, tokens and source of each: people's first, then the newest first."""
    return await connection.fetch(FOR_HEAD, tenant, conversation_id, before_seq, revision, NOTES_READ_MAX)


# Those that hold now, the newest.
CURRENT = """
SELECT id, seq, text, source FROM notes
 WHERE tenant_id = $1 AND conversation_id = $2 AND replaced IS NULL ORDER BY seq DESC, id DESC LIMIT $3
"""


async def current(connection: Connection, tenant: UUID, conversation_id: str, limit: int) -> Sequence[Record]:
    """The newest first."""
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
    found: Sequence[tuple[UUID, int, str, int]],
    replaced: Sequence[UUID],
) -> None:
    """Notes that a model found: id, seq, text and tokens of each; and which others hold no longer."""
    if found:
        await connection.execute(FIND_MORE, tenant, conversation_id, revision, *(zip(*found, strict=True)))
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
