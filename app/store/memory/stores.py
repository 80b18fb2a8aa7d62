"""Memory stores: keyed memories in a scope of their own, with every version of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import NAMESPACE_URL, UUID, uuid5

from asyncpg import Record

from app.core.scope import owner_of
from app.postgres.transactions import ReadTx, Tx

Operation = Literal["created", "modified", "deleted"]
STORE = "id, name, description, metadata, user_id, archived_at, created_at, updated_at"


def scope_of_store(store: UUID) -> str:
    return f"m:{store}"


def store_of(scope: str) -> UUID:
    """Return the store that the memory tool's files of a scope are in."""
    return uuid5(NAMESPACE_URL, f"quire:memory-tool:{scope}")


@dataclass(frozen=True, slots=True)
class NewStore:
    id: UUID
    name: str
    description: str = ""
    metadata: str = "{}"
    user_id: str | None = None


CREATE = f"""
INSERT INTO memory_stores (tenant_id, id, name, description, metadata, user_id) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (tenant_id, id) DO NOTHING RETURNING {STORE}
"""
FIND = f"SELECT {STORE} FROM memory_stores WHERE tenant_id = $1 AND id = $2 AND ($3::text IS NULL OR user_id = $3)"
LIST = f"""
SELECT {STORE} FROM memory_stores
 WHERE tenant_id = $1 AND ($2::text IS NULL OR user_id = $2) AND ($3 OR archived_at IS NULL)
   AND ($4::uuid IS NULL OR id < $4)
   AND ($5::timestamptz IS NULL OR created_at >= $5) AND ($6::timestamptz IS NULL OR created_at <= $6)
 ORDER BY id DESC LIMIT $7
"""
CHANGE = f"""
UPDATE memory_stores SET name = $3, description = $4, metadata = $5, updated_at = now()
 WHERE tenant_id = $1 AND id = $2 RETURNING {STORE}
"""
ARCHIVE = f"""
UPDATE memory_stores SET archived_at = coalesce(archived_at, (SELECT now())),
       updated_at = CASE WHEN archived_at IS NULL THEN (SELECT now()) ELSE updated_at END
 WHERE tenant_id = $1 AND id = $2 RETURNING {STORE}
"""
DELETE = "DELETE FROM memory_stores WHERE tenant_id = $1 AND id = $2"
DELETE_FILES = "DELETE FROM memories WHERE tenant_id = $1 AND holder = $2 AND key IS NOT NULL"
OF_USER = "SELECT id FROM memory_stores WHERE tenant_id = $1 AND user_id = $2 LIMIT 1"


async def create(tx: Tx, new: NewStore) -> Record | None:
    """Create a store and return it; None if its id is taken."""
    return await tx.fetchrow(CREATE, new.id, new.name, new.description, new.metadata, new.user_id)


async def find(tx: ReadTx, store: UUID, bound_to: str | None, *, locked: bool = False) -> Record | None:
    """Return a store; for a caller bound to a user only one of theirs."""
    return await tx.fetchrow(f"{FIND} FOR UPDATE" if locked else FIND, store, bound_to)


@dataclass(frozen=True, slots=True)
class ListedStores:
    """Filters of a list of stores."""

    user_id: str | None
    archived: bool = False
    before: UUID | None = None
    since: datetime | None = None
    until: datetime | None = None


async def browse(tx: ReadTx, among: ListedStores, limit: int) -> Sequence[Record]:
    return await tx.fetch(LIST, among.user_id, among.archived, among.before, among.since, among.until, limit)


async def change(tx: Tx, store: UUID, name: str, description: str, metadata: str) -> Record | None:
    return await tx.fetchrow(CHANGE, store, name, description, metadata)


async def archive(tx: Tx, store: UUID) -> Record | None:
    return await tx.fetchrow(ARCHIVE, store)


async def delete(tx: Tx, store: UUID) -> None:
    await tx.execute(DELETE, store)


async def delete_whole(tx: Tx, store: UUID) -> None:
    await tx.execute(DELETE_FILES, owner_of(scope_of_store(store)))
    await delete(tx, store)


async def of_user(tx: ReadTx, user_id: str) -> UUID | None:
    found: UUID | None = await tx.fetchval(OF_USER, user_id)
    return found


# --- Memories -----------------------------------------------------------------------------------------

_CURRENT = "tenant_id = $1 AND holder = $2 AND key IS NOT NULL AND part_of IS NULL"
KEYS = f"SELECT id, key, octet_length(content) AS size FROM memories WHERE {_CURRENT} ORDER BY key"
# Memories of a store ($2) by id, with the version that holds their content.
MEMORIES = """
SELECT m.id, m.key, m.content, octet_length(m.content) AS size, m.created_at, v.id AS version, v.written_at,
       encode(sha256(convert_to(m.content, 'UTF8')), 'hex') AS sha256
  FROM memories m
  JOIN LATERAL (SELECT id, created_at AS written_at FROM memory_versions
                 WHERE tenant_id = $1 AND memory_id = m.id ORDER BY id DESC LIMIT 1) v ON true
 WHERE m.tenant_id = $1 AND m.holder = $2 AND m.id = ANY ($3::uuid[]) AND m.part_of IS NULL
"""
RENAME = "UPDATE memories SET key = $3 WHERE tenant_id = $1 AND id = $2"


async def keys(tx: ReadTx, store: UUID) -> Sequence[Record]:
    """Return id, key and bytes of a store's memories, by key."""
    return await tx.fetch(KEYS, owner_of(scope_of_store(store)))


async def memories(tx: ReadTx, store: UUID, ids: Sequence[UUID]) -> dict[UUID, Record]:
    return {row["id"]: row for row in await tx.fetch(MEMORIES, owner_of(scope_of_store(store)), ids)}


async def rename(tx: Tx, memory: UUID, key: str) -> None:
    await tx.execute(RENAME, memory, key)


# --- Versions -----------------------------------------------------------------------------------------

VERSION = (
    "id, store_id, memory_id, operation, path, content, sha256, size, created_at, created_by, redacted_at, redacted_by"
)
ADD_VERSION = """
INSERT INTO memory_versions (tenant_id, id, store_id, memory_id, operation, path, content, sha256, size, created_by)
VALUES ($1, $2, $3, $4, $5, $6, $7::text, encode(sha256(convert_to($7::text, 'UTF8')), 'hex'),
        octet_length($7::text), $8)
"""
VERSIONS = f"""
SELECT {VERSION} FROM memory_versions
 WHERE tenant_id = $1 AND store_id = $2 AND ($3::uuid IS NULL OR memory_id = $3)
   AND ($4::text IS NULL OR operation = $4) AND ($5::uuid IS NULL OR id < $5) AND ($6::uuid IS NULL OR created_by = $6)
   AND ($7::timestamptz IS NULL OR created_at >= $7) AND ($8::timestamptz IS NULL OR created_at <= $8)
 ORDER BY id DESC LIMIT $9
"""
A_VERSION = f"SELECT {VERSION} FROM memory_versions WHERE tenant_id = $1 AND store_id = $2 AND id = $3"
REDACT = f"""
UPDATE memory_versions SET content = NULL, path = NULL, sha256 = NULL, size = NULL,
       redacted_at = coalesce(redacted_at, (SELECT now())), redacted_by = coalesce(redacted_by, $4)
 WHERE tenant_id = $1 AND store_id = $2 AND id = $3 RETURNING {VERSION}
"""


@dataclass(frozen=True, slots=True)
class NewVersion:
    """A change of a memory; ``content`` is None of one that was deleted, ``by`` the key of its caller."""

    id: UUID
    store: UUID
    memory: UUID
    operation: Operation
    path: str
    content: str | None
    by: UUID | None


async def add_version(tx: Tx, new: NewVersion) -> None:
    await tx.execute(
        ADD_VERSION, new.id, new.store, new.memory, new.operation, new.path, new.content, new.by
    )  # fmt: skip


# A version of an export, unless it is there.
TAKE_VERSION = """
INSERT INTO memory_versions (tenant_id, id, store_id, memory_id, operation, path, content, sha256, size, created_at,
       redacted_at)
VALUES ($1, $2, $3, $4, $5, $6, $7::text, encode(sha256(convert_to($7::text, 'UTF8')), 'hex'), octet_length($7::text),
        $8, CASE WHEN $9::boolean THEN $8::timestamptz END)
ON CONFLICT (tenant_id, id) DO NOTHING RETURNING id
"""


@dataclass(frozen=True, slots=True)
class PastVersion:
    """A version as it was; ``path`` and ``content`` are None of a redacted one."""

    id: UUID
    store: UUID
    memory: UUID
    operation: Operation
    path: str | None
    content: str | None
    created_at: datetime
    is_redacted: bool


async def take_version(tx: Tx, past: PastVersion) -> bool:
    """Put a version in; return False if it is there."""
    values = (past.id, past.store, past.memory, past.operation, past.path, past.content)
    return await tx.fetchrow(TAKE_VERSION, *values, past.created_at, past.is_redacted) is not None


@dataclass(frozen=True, slots=True)
class ListedVersions:
    """Filters of a list of versions."""

    memory: UUID | None = None
    operation: Operation | None = None
    before: UUID | None = None
    by: UUID | None = None
    since: datetime | None = None
    until: datetime | None = None


async def versions(tx: ReadTx, store: UUID, among: ListedVersions, limit: int) -> Sequence[Record]:
    return await tx.fetch(
        VERSIONS, store, among.memory, among.operation, among.before, among.by, among.since, among.until, limit
    )


async def version(tx: ReadTx, store: UUID, version_id: UUID) -> Record | None:
    return await tx.fetchrow(A_VERSION, store, version_id)


async def redact(tx: Tx, store: UUID, version_id: UUID, by: UUID | None) -> Record | None:
    return await tx.fetchrow(REDACT, store, version_id, by)
