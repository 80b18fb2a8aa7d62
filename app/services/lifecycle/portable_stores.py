"""Memory stores as lines of an export: a store, its versions, then its files as they are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from uuid import UUID

from asyncpg import Record

from app import errors
from app.core.canonical import dumps
from app.core.dialects.memory_files import MEMORIES_MAX
from app.core.times import time_text
from app.postgres.transactions import ReadTx, Tx
from app.runtime import Runtime
from app.services.lifecycle.lines import StoredFileLine, StoredVersionLine, StoreLine
from app.services.memory import stores as service
from app.services.memory.stores import StoredFile
from app.store.memory import remembered, stores
from app.store.memory.stores import ListedStores, ListedVersions, NewStore, PastVersion

AT_ONCE = 50


async def of_user(tx: ReadTx, user_id: str) -> list[Record]:
    """Return a user's stores, the archived ones too."""
    found: list[Record] = []
    while rows := await stores.browse(tx, ListedStores(user_id, True, found[-1]["id"] if found else None), AT_ONCE):
        found += rows
    return found


def store_line(row: Record) -> str:
    return dumps(
        {
            "type": "memory_store",
            **{name: row[name] for name in ("name", "description", "user_id")},
            "id": str(row["id"]),
            "metadata": json.loads(row["metadata"]),
            "archived": row["archived_at"] is not None,
        }
    )


async def versions(tx: ReadTx, store: UUID, before: UUID | None) -> Sequence[Record]:
    """Return some versions of a store, the newest first."""
    return await stores.versions(tx, store, ListedVersions(before=before), AT_ONCE)


def version_line(store: UUID, row: Record) -> str:
    return dumps(
        {
            "type": "memory_version",
            "store_id": str(store),
            "id": str(row["id"]),
            "memory_id": str(row["memory_id"]),
            **{name: row[name] for name in ("operation", "path", "content")},
            "created_at": time_text(row["created_at"]),
            "redacted": row["redacted_at"] is not None,
        }
    )


async def files(tx: ReadTx, store: UUID, after: str) -> Sequence[Record]:
    """Return some files of a store, by path."""
    await service.opened(tx, store, None)
    ids = [row["id"] for row in await stores.keys(tx, store) if row["key"] > after][:AT_ONCE]
    found = await stores.memories(tx, store, ids)
    return [found[one] for one in ids]


def file_line(store: UUID, row: Record) -> str:
    return dumps(
        {
            "type": "memory_file",
            "store_id": str(store),
            "id": str(row["id"]),
            "path": f"/{row['key']}",
            "content": row["content"],
            "created_at": time_text(row["created_at"]),
        }
    )


# --- Import -------------------------------------------------------------------------------------------


async def take_store(tx: Tx, line: StoreLine) -> bool:
    """Make a store and return True; False where it is there. Raises Conflict for another user's."""
    made = await stores.create(tx, NewStore(line.id, line.name, line.description, dumps(line.metadata), line.user_id))
    if made is None:
        known = await stores.find(tx, line.id, None)
        if known is None or known["user_id"] != line.user_id:
            raise errors.Conflict("The id of the memory store is taken.", errors=[{"loc": ["id"], "msg": "is taken"}])
    elif line.archived:
        await stores.archive(tx, line.id)
    return made is not None


async def take_version(tx: Tx, line: StoredVersionLine, bound_to: str | None) -> bool:
    await service.held(tx, line.store_id, bound_to, live=False)
    past = PastVersion(
        line.id, line.store_id, line.memory_id, line.operation, line.path, line.content, line.created_at, line.redacted
    )
    return await stores.take_version(tx, past)


async def take_file(runtime: Runtime, tx: Tx, line: StoredFileLine, bound_to: str | None) -> bool:
    """Put a file in and return True; False where it is there. Raises Conflict and Invalid."""
    await service.held(tx, line.store_id, bound_to, live=False)
    key = line.path.removeprefix("/")
    service.check(key, line.content)
    known = {row["id"]: row["key"] for row in await stores.keys(tx, line.store_id)}
    if line.id in known:
        return False
    if await remembered.owner(tx, line.id) is not None:
        raise errors.Conflict("The id of the file is taken.", errors=[{"loc": ["id"], "msg": "is taken"}])
    if key in known.values():
        raise errors.Conflict("The path of the file is taken.", errors=[{"loc": ["path"], "msg": "is taken"}])
    if len(known) >= MEMORIES_MAX:
        raise errors.Conflict(f"A memory store has at most {MEMORIES_MAX:,} memories.")
    await service.put_back(runtime, tx, StoredFile(line.store_id, key, line.content), line.id, line.created_at)
    return True
