"""The files of the memory tool: keyed memories of a scope, which no search finds."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from asyncpg import Record

from app.core.scope import files_of, owner_of
from app.postgres.transactions import ReadTx, Tx

_CURRENT = "tenant_id = $1 AND holder = $2 AND key IS NOT NULL AND part_of IS NULL"
KEYS = f"SELECT id, key, octet_length(content) AS size FROM memories WHERE {_CURRENT} ORDER BY key"
CONTENTS = f"""
SELECT id, key, content, created_at FROM memories WHERE {_CURRENT} AND id = ANY ($3::uuid[])
"""
RENAME = "UPDATE memories SET key = $3 WHERE tenant_id = $1 AND id = $2"
DELETE_ALL = "DELETE FROM memories WHERE tenant_id = $1 AND holder = $2 AND key IS NOT NULL"


async def keys(tx: ReadTx, scope: str) -> Sequence[Record]:
    """Return id, key and bytes of the files of a scope, by key."""
    return await tx.fetch(KEYS, owner_of(files_of(scope)))


async def contents(tx: ReadTx, scope: str, ids: Sequence[UUID]) -> dict[UUID, Record]:
    return {row["id"]: row for row in await tx.fetch(CONTENTS, owner_of(files_of(scope)), ids)}


async def rename(tx: Tx, file: UUID, key: str) -> None:
    await tx.execute(RENAME, file, key)


async def delete_all(tx: Tx, scope: str) -> None:
    await tx.execute(DELETE_ALL, owner_of(files_of(scope)))
