"""Conversations that are held through the proxy, found by what was said in them."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from asyncpg import Record

from app.core.proxy import Candidate
from app.postgres.database import Connection

CANDIDATES_MAX = 20

_FIELDS = "id, chain, asked, answered, system, updated_at"
# A user's conversations that end with one of some beginnings of a list, or were asked last what the whole list asks.
# (Nobody's conversations have a statement of their own, so that an index finds them too.)
_FIND = f"""
SELECT * FROM (
  (SELECT f.* FROM unnest($3::bytea[]) AS e (ended) CROSS JOIN LATERAL (
     SELECT {_FIELDS} FROM conversations
      WHERE tenant_id = $1 AND {{user}} AND answered IS NOT NULL AND chain = e.ended
      ORDER BY updated_at DESC LIMIT {CANDIDATES_MAX}) f)
  UNION ALL
  (SELECT {_FIELDS} FROM conversations
    WHERE tenant_id = $1 AND {{user}} AND asked IS NOT NULL AND asked = $4
    ORDER BY updated_at DESC LIMIT {CANDIDATES_MAX})
) c ORDER BY updated_at DESC
"""
FIND = _FIND.format(user="user_id = $2")
FIND_NOBODYS = _FIND.format(user="user_id IS NULL AND $2::text IS NULL")


async def candidates(
    connection: Connection, tenant: UUID, user_id: str | None, ends: Sequence[bytes], asked: bytes
) -> list[Candidate]:
    """The latest first."""
    sql = FIND if user_id is not None else FIND_NOBODYS
    return [_candidate(row) for row in await connection.fetch(sql, tenant, user_id, ends, asked)]


def _candidate(row: Record) -> Candidate:
    return Candidate(row["id"], row["chain"] or b"", row["asked"] or b"", row["answered"], row["system"])
