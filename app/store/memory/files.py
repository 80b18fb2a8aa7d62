"""The files of the memory tool: memories of a scope with keys, which no search finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.core.scope import Scope
from app.postgres.transactions import ReadTx, Tx

_CURRENT = "tenant_id = $1 AND holder = $2 AND key IS NOT NULL AND part_of IS NULL"
KEYS = f"SELECT id, key, octet_length(content) AS size FROM memories WHERE {_CURRENT} ORDER BY key"
CONTENTS = f"""
SELECT id, key, content, created_at FROM memories WHERE {_CURRENT} AND id = ANY ($3::uuid[]) ORDER BY key
"""
RENAME = "UPDATE memories SET key = $3 WHERE tenant_id = $1 AND id = $2"
DELETE_ALL = "DELETE FROM memories WHERE tenant_id = $1 AND holder = $2 AND key IS NOT NULL"


@dataclass(frozen=True, slots=True)
class MemoryFile:
    id: UUID
    key: str
    content: str
    created_at: datetime


async def keys(tx: ReadTx, scope: Scope) -> dict[str, tuple[UUID, int]]:
    """Return id and size in bytes of a scope's files, by key in alphabetical order."""
    return {row["key"]: (row["id"], row["size"]) for row in await tx.fetch(KEYS, scope.files.owner)}


async def contents(tx: ReadTx, scope: Scope, ids: Sequence[UUID]) -> list[MemoryFile]:
    """Return some of a scope's files, ordered by key."""
    return [MemoryFile(*row) for row in await tx.fetch(CONTENTS, scope.files.owner, ids)]


async def rename(tx: Tx, file: UUID, key: str) -> None:
    await tx.execute(RENAME, file, key)


async def delete_all(tx: Tx, scope: Scope) -> None:
    await tx.execute(DELETE_ALL, scope.files.owner)
