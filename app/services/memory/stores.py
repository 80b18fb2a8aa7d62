"""Memory stores: an agent's files, each a keyed memory with its versions.

A store belongs to a user or to the whole tenant. Whoever changes one of its memories holds the store's row, so that two
changes of one path cannot pass each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

import anyio.to_thread
from asyncpg import Record

from app import errors
from app.core.dialects.memory_files import MEMORIES_MAX, content_problem, path_problem
from app.core.scope import owner_of
from app.ids import uuid7
from app.postgres.database import widen
from app.postgres.transactions import ReadTx, Tx
from app.runtime import Runtime
from app.services.memory import insertion
from app.services.memory.archiving import all_vectors
from app.store import locks
from app.store.memory import remembered, stores
from app.store.memory.kept import NO_TERMS
from app.store.memory.remembered import Remembered
from app.store.memory.stores import NewVersion, Operation, scope_of_store


def unknown(what: str = "memory store") -> errors.NotFound:
    return errors.NotFound(f"There is no such {what}.")


async def opened(tx: ReadTx, store: UUID, bound_to: str | None) -> Record:
    """Return a store to read from. Raises NotFound."""
    row = await stores.find(tx, store, bound_to)
    if row is None:
        raise unknown()
    await widen(tx, owner_of(scope_of_store(store)))
    return row


async def held(tx: Tx, store: UUID, bound_to: str | None, *, live: bool = True) -> Record:
    """Return a store that nobody else changes meanwhile. Raises NotFound, and Conflict for an archived one."""
    await locks.lock_owner(tx, owner_of(scope_of_store(store)))
    row = await stores.find(tx, store, bound_to, locked=True)
    if row is None:
        raise unknown()
    if live and row["archived_at"] is not None:
        raise errors.Conflict("The memory store is archived: it can be read, and its memories deleted.")
    await widen(tx, owner_of(scope_of_store(store)))
    return row


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A memory that is wanted in a store: its key, what it says, and the key of the caller who wants it."""

    store: UUID
    key: str
    content: str
    by: UUID | None = None


async def create(runtime: Runtime, tx: Tx, new: StoredFile) -> UUID:
    """Create a memory in a held store. Raises Invalid, and PathTaken."""
    check(new.key, new.content)
    taken = {row["key"] for row in await stores.keys(tx, new.store)}
    if new.key in taken:
        raise errors.PathTaken("A memory of this path exists.")
    if len(taken) >= MEMORIES_MAX:
        raise errors.Conflict(f"A memory store has at most {MEMORIES_MAX:,} memories.")
    memory = uuid7()
    await _write(runtime, tx, new, memory, datetime.now(UTC), "created")
    return memory


async def change(runtime: Runtime, tx: Tx, row: Record, new: StoredFile, expected_sha256: str | None = None) -> None:
    """Give a memory of a held store another path or content. Raises Invalid, PathTaken and PreconditionFailed."""
    check(new.key, new.content)
    _check_sha256(row, expected_sha256)
    if new.key != row["key"] and any(new.key == one["key"] for one in await stores.keys(tx, new.store)):
        raise errors.PathTaken("A memory of this path exists.")
    if new.content != row["content"]:
        await remembered.delete(tx, row["id"], sensitive=True)
        await _write(runtime, tx, new, row["id"], row["created_at"], "modified")
    elif new.key != row["key"]:
        await stores.rename(tx, row["id"], new.key)
        await _note(tx, new, row["id"], "modified", new.content)


async def delete(tx: Tx, row: Record, store: UUID, by: UUID | None, expected_sha256: str | None = None) -> None:
    """Delete a memory of a held store; its versions stay. Raises PreconditionFailed."""
    _check_sha256(row, expected_sha256)
    await remembered.delete(tx, row["id"], sensitive=True)
    await _note(tx, StoredFile(store, row["key"], "", by), row["id"], "deleted", None)


def check(key: str, content: str) -> None:
    """Raise Invalid for a path or a content that a memory cannot have."""
    found: list[errors.FieldError] = [
        {"loc": ["body", name], "msg": problem}
        for name, problem in (("path", path_problem(f"/{key}")), ("content", content_problem(content)))
        if problem is not None
    ]
    if found:
        raise errors.Invalid(errors=found)


def _check_sha256(row: Record, expected: str | None) -> None:
    if expected is not None and expected != row["sha256"]:
        raise errors.PreconditionFailed("The memory has another `content_sha256` now. Read it again.")


async def put_back(runtime: Runtime, tx: Tx, new: StoredFile, memory: UUID, created_at: datetime) -> None:
    """Put a file of an export into a held store; its versions have been put in, or it gets a first one."""
    await _insert(runtime, tx, new, memory, created_at)
    if not await stores.versions(tx, new.store, stores.ListedVersions(memory), 1):
        await _note(tx, new, memory, "created", new.content)


async def _write(
    runtime: Runtime, tx: Tx, new: StoredFile, memory: UUID, created_at: datetime, operation: Operation
) -> None:
    await _insert(runtime, tx, new, memory, created_at)
    await _note(tx, new, memory, operation, new.content)


async def _insert(runtime: Runtime, tx: Tx, new: StoredFile, memory: UUID, created_at: datetime) -> None:
    found = await anyio.to_thread.run_sync(all_vectors, new.content) if new.content.strip() else [(0, 0, NO_TERMS)]
    ids = [memory, *(uuid7() for _ in found[1:])]
    row = Remembered(
        id=memory, scope=scope_of_store(new.store), type="general", content=new.content, nul_offsets="{}", keywords=(),
        metadata="{}", source="tool", sensitive=False, expires_at=None, created_at=created_at,
        passages=[(i, *passage) for i, passage in zip(ids, found, strict=True)], key=new.key,
    )  # fmt: skip
    await insertion.insert_remembered(runtime, tx, [row])


async def _note(tx: Tx, new: StoredFile, memory: UUID, operation: Operation, content: str | None) -> None:
    await stores.add_version(tx, NewVersion(uuid7(), new.store, memory, operation, f"/{new.key}", content, new.by))


async def redact(tx: Tx, store: UUID, version: UUID, by: UUID | None) -> Record:
    """Erase what a version of a held store says. Raises NotFound, and Conflict for one that a memory is at."""
    row = await stores.version(tx, store, version)
    if row is None:
        raise unknown("memory version")
    current = (await stores.memories(tx, store, [row["memory_id"]])).get(row["memory_id"])
    if current is not None and current["version"] == version:
        raise errors.Conflict("The memory is at this version. Change or delete the memory first.")
    redacted = await stores.redact(tx, store, version, by)
    assert redacted is not None
    return redacted
