"""Archived tool results."""

from __future__ import annotations

from uuid import UUID

from asyncpg import Record

from app.db import Connection

# A range of characters of an archive's content, if it is in the scope and has not expired.
READ = """
SELECT a.tool_name, t.length, substr(t.content, $4::int + 1, $5::int) AS text
  FROM archives a
  JOIN archive_contents t ON t.tenant_id = a.tenant_id AND t.scope = a.scope AND t.digest = a.digest
 WHERE a.tenant_id = $1 AND a.scope = $2 AND a.id = $3 AND (a.expires_at IS NULL OR a.expires_at > now())
"""


async def read(
    connection: Connection, tenant: UUID, scope: str, uuid: UUID, offset: int, length: int
) -> Record | None:
    return await connection.fetchrow(READ, tenant, scope, uuid, offset, length)
