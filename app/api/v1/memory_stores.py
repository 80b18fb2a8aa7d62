"""Memory stores for clients of Anthropic's API: an agent's files, kept as keyed memories."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Annotated, Any
from uuid import UUID

from asyncpg import Record
from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from app import errors
from app.api.http import cursors
from app.api.http.answers import json_text, json_value
from app.api.http.body import json_body
from app.api.http.callers import Reader
from app.api.http.runtime import Wired
from app.api.http.times import Time
from app.api.http.writes import Write, WriteRequest
from app.api.schemas import memory_stores as schemas
from app.api.schemas.memory_stores import Operation, View
from app.core.canonical import dumps
from app.core.dialects.memory_files import grouped
from app.core.scope import owner_of
from app.core.times import time_text
from app.ids import uuid7
from app.postgres.transactions import ReadTx, Tx
from app.services import limits
from app.services.idempotency import StoredResponse
from app.services.lifecycle import erasing_whole
from app.services.memory import stores as service
from app.services.memory.stores import StoredFile
from app.store.memory import stores
from app.store.memory.stores import ListedStores, ListedVersions, NewStore, scope_of_store

router = APIRouter(prefix="/v1/memory_stores", tags=["memory stores"])

STORE, MEMORIES, VERSIONS = "/{memory_store_id}", "/{memory_store_id}/memories", "/{memory_store_id}/memory_versions"
FULL_MAX = 20
"""Items of a page with their content."""
Limit = Annotated[int, Query(ge=1, le=100)]
Page = Annotated[str | None, Query(max_length=2_000, description="`next_page` of the previous response")]
Since = Annotated[Time | None, Query(alias="created_at[gte]")]
Until = Annotated[Time | None, Query(alias="created_at[lte]")]
Json = dict[str, Any]


def _id(name: str, prefix: str, what: str) -> UUID:
    """Read an id with its prefix. Raises NotFound: it can name nothing."""
    try:
        return UUID(hex=name.removeprefix(prefix)) if name.startswith(prefix) else UUID(int=-1)
    except ValueError as error:
        raise service.unknown(what) from error


def _store_id(name: str) -> UUID:
    return _id(name, "memstore_", "memory store")


def _memory_id(name: str) -> UUID:
    return _id(name, "mem_", "memory")


def _version_id(name: str) -> UUID:
    return _id(name, "memver_", "memory version")


def _store(row: Record) -> Json:
    return {
        "id": f"memstore_{row['id'].hex}",
        "type": "memory_store",
        "name": row["name"],
        "description": row["description"],
        "metadata": json.loads(row["metadata"]),
        "archived_at": _time(row["archived_at"]),
        "created_at": _time(row["created_at"]),
        "updated_at": _time(row["updated_at"]),
    }


def _time(value: Any) -> str | None:
    return time_text(value) if value is not None else None


def _memory(store: UUID, row: Record, view: View) -> Json:
    return {
        "id": f"mem_{row['id'].hex}",
        "type": "memory",
        "memory_store_id": f"memstore_{store.hex}",
        "memory_version_id": f"memver_{row['version'].hex}",
        "path": f"/{row['key']}",
        "content": row["content"] if view == "full" else None,
        "content_sha256": row["sha256"],
        "content_size_bytes": row["size"],
        "created_at": time_text(row["created_at"]),
        "updated_at": time_text(row["written_at"]),
    }


def _version(row: Record, view: View) -> Json:
    return {
        "id": f"memver_{row['id'].hex}",
        "type": "memory_version",
        "memory_id": f"mem_{row['memory_id'].hex}",
        "memory_store_id": f"memstore_{row['store_id'].hex}",
        "operation": row["operation"],
        "path": row["path"],
        "content": row["content"] if view == "full" else None,
        "content_sha256": row["sha256"],
        "content_size_bytes": row["size"],
        "created_at": time_text(row["created_at"]),
        "created_by": _actor(row["created_by"]),
        "redacted_at": _time(row["redacted_at"]),
        "redacted_by": _actor(row["redacted_by"]),
    }


def _actor(key: UUID | None) -> dict[str, str] | None:
    return None if key is None else {"type": "api_actor", "api_key_id": f"apikey_{key.hex}"}


async def _write(write: WriteRequest, work: Callable[[Tx], Awaitable[Json]]) -> Response:
    async def once(tx: Tx) -> StoredResponse:
        said = await work(tx)
        store = said.get("memory_store_id") or said["id"]
        about = UUID(hex=store.removeprefix("memstore_")) if store.startswith("memstore_") else None
        return StoredResponse(dumps(said), *([owner_of(scope_of_store(about))] if about else []))

    return json_text(await write.once(once))


def _page(items: list[Json], more: str | None) -> Response:
    return json_value({"data": items, "next_page": more})


# --- Stores ---------------------------------------------------------------------------------------------


@router.post("", response_model=schemas.MemoryStore, openapi_extra=json_body(schemas.StoreBody, {"name": "Notes"}))
async def create_memory_store(write: Write) -> Response:
    """Create a memory store: the user's, if the caller sees one user only."""
    body = await write.body(schemas.StoreBody)
    new = NewStore(uuid7(), body.name, body.description, dumps(body.metadata), write.caller.user_id)
    _require_storable(body.name, body.description, *body.metadata, *body.metadata.values())

    async def work(tx: Tx) -> Json:
        row = await stores.create(tx, new)
        assert row is not None
        return _store(row)

    return await _write(write, work)


def _require_storable(*texts: str | None) -> None:
    if any("\x00" in text for text in texts if text is not None):
        raise errors.Invalid.at(["body"], "must not contain U+0000")


@router.get("", response_model=schemas.MemoryStoreList)
async def list_memory_stores(
    runtime: Wired, caller: Reader, include_archived: bool = False, limit: Limit = 20, page: Page = None,
    since: Since = None, until: Until = None,
) -> Response:  # fmt: skip
    """List memory stores, the newest first."""
    among = ListedStores(caller.user_id, include_archived, cursors.decode_id(page), since, until)
    async with runtime.database.snapshot(caller.tenant) as tx:
        rows = await stores.browse(tx, among, limit + 1)
    more = cursors.encode(rows[limit - 1]["id"]) if len(rows) > limit else None
    return _page([_store(row) for row in rows[:limit]], more)


@router.get(STORE, response_model=schemas.MemoryStore)
async def get_memory_store(runtime: Wired, caller: Reader, memory_store_id: str) -> Response:
    """Get a memory store."""
    async with runtime.database.snapshot(caller.tenant) as tx:
        return json_value(_store(await service.opened(tx, _store_id(memory_store_id), caller.user_id)))


@router.post(
    STORE, response_model=schemas.MemoryStore, openapi_extra=json_body(schemas.StoreChangeBody, {"name": "Notes"})
)
async def update_memory_store(write: Write, memory_store_id: str) -> Response:
    """Change the name, description or metadata of a memory store that is not archived."""
    body, store = await write.body(schemas.StoreChangeBody), _store_id(memory_store_id)
    _require_storable(body.name, body.description, *(body.metadata or {}), *(body.metadata or {}).values())

    async def work(tx: Tx) -> Json:
        row = await service.held(tx, store, write.caller.user_id)
        merged = {**json.loads(row["metadata"]), **(body.metadata or {})}
        metadata = {name: text for name, text in merged.items() if text is not None}
        if len(metadata) > schemas.PAIRS_MAX:
            raise errors.Invalid.at(["body", "metadata"], f"must have at most {schemas.PAIRS_MAX} members")
        description = row["description"] if body.description is None else body.description
        changed = await stores.change(tx, store, body.name or row["name"], description, dumps(metadata))
        assert changed is not None
        return _store(changed)

    return await _write(write, work)


@router.delete(STORE, response_model=schemas.StoreDeleted)
async def delete_memory_store(write: Write, memory_store_id: str) -> Response:
    """Delete a memory store with its memories and all their versions."""
    store = _store_id(memory_store_id)
    async with write.runtime.database.begin(write.caller.tenant) as tx:
        await service.held(tx, store, write.caller.user_id, live=False)
    await erasing_whole.erase_store(write.runtime, write.caller.tenant, store)

    async def work(_: Tx) -> Json:
        return {"id": memory_store_id, "type": "memory_store_deleted"}

    return await _write(write, work)


@router.post(f"{STORE}/archive", response_model=schemas.MemoryStore)
async def archive_memory_store(write: Write, memory_store_id: str) -> Response:
    """Archive a memory store for good: its memories can be read and deleted, and no longer written."""
    store = _store_id(memory_store_id)

    async def work(tx: Tx) -> Json:
        await service.held(tx, store, write.caller.user_id, live=False)
        row = await stores.archive(tx, store)
        assert row is not None
        return _store(row)

    return await _write(write, work)


# --- Memories -------------------------------------------------------------------------------------------


async def _found(tx: ReadTx, store: UUID, memory: UUID) -> Record:
    row = (await stores.memories(tx, store, [memory])).get(memory)
    if row is None:
        raise service.unknown("memory")
    return row


@router.post(
    MEMORIES,
    response_model=schemas.StoredMemory,
    openapi_extra=json_body(schemas.StoredMemoryBody, {"path": "/tea.md", "content": "Likes longjing."}),
)
async def create_stored_memory(write: Write, memory_store_id: str, view: View = "basic") -> Response:
    """Create a memory at a path that is free."""
    body, store = await write.body(schemas.StoredMemoryBody), _store_id(memory_store_id)
    new = StoredFile(store, _key(body.path), body.content or "", write.caller.key)
    await limits.require_room(write.runtime, write.caller.tenant, write.caller.user_id)

    async def work(tx: Tx) -> Json:
        await service.held(tx, store, write.caller.user_id)
        memory = await service.create(write.runtime, tx, new)
        limits.note_stored(write.runtime, write.caller.tenant, write.caller.user_id, [new.content])
        return _memory(store, await _found(tx, store, memory), view)

    return await _write(write, work)


def _key(path: str) -> str:
    if not path.startswith("/"):
        raise errors.Invalid.at(["body", "path"], "must begin with /")
    return path.removeprefix("/")


@router.get(MEMORIES, response_model=schemas.StoredMemoryList)
async def list_stored_memories(
    runtime: Wired, caller: Reader, memory_store_id: str,
    path_prefix: Annotated[str, Query(max_length=1_024, description="ends with /")] = "/",
    depth: Annotated[int, Query(ge=0, le=1, description="1: deeper ones as their directory; 0: all")] = 0,
    view: View = "basic", limit: Limit = 20, page: Page = None,
) -> Response:  # fmt: skip
    """List memories by path."""
    if not (path_prefix.startswith("/") and path_prefix.endswith("/")):
        raise errors.Invalid.at(["query", "path_prefix"], "must begin and end with /")
    store, after, size = _store_id(memory_store_id), cursors.decode_text(page), limit
    if view == "full":
        size = min(limit, FULL_MAX)
    async with runtime.database.snapshot(caller.tenant) as tx:
        await service.opened(tx, store, caller.user_id)
        ids = {f"/{row['key']}": row["id"] for row in await stores.keys(tx, store)}
        inside = [path for path in ids if path.startswith(path_prefix)]
        shown = [path for path in grouped(path_prefix, inside, depth) if after is None or path > after]
        rows = await stores.memories(tx, store, [ids[path] for path in shown[:size] if path in ids])
    items = [
        _memory(store, rows[ids[path]], view) if path in ids else {"type": "memory_prefix", "path": path}
        for path in shown[:size]
    ]
    return _page(items, cursors.encode(shown[size - 1]) if len(shown) > size else None)


@router.get(f"{MEMORIES}/{{memory_id}}", response_model=schemas.StoredMemory)
async def get_stored_memory(
    runtime: Wired, caller: Reader, memory_store_id: str, memory_id: str, view: View = "full"
) -> Response:
    """Get a memory."""
    store, memory = _store_id(memory_store_id), _memory_id(memory_id)
    async with runtime.database.snapshot(caller.tenant) as tx:
        await service.opened(tx, store, caller.user_id)
        return json_value(_memory(store, await _found(tx, store, memory), view))


@router.post(
    f"{MEMORIES}/{{memory_id}}",
    response_model=schemas.StoredMemory,
    openapi_extra=json_body(schemas.StoredMemoryChangeBody, {"content": "Likes longjing and pu'er."}),
)
async def update_stored_memory(write: Write, memory_store_id: str, memory_id: str, view: View = "basic") -> Response:
    """Change a memory's content, or its path; 409 if it is not what `precondition` says, or the path is taken."""
    body = await write.body(schemas.StoredMemoryChangeBody)
    store, memory = _store_id(memory_store_id), _memory_id(memory_id)
    expected = body.precondition.content_sha256 if body.precondition else None
    await limits.require_room(write.runtime, write.caller.tenant, write.caller.user_id)

    async def work(tx: Tx) -> Json:
        await service.held(tx, store, write.caller.user_id)
        row = await _found(tx, store, memory)
        content = row["content"] if body.content is None else body.content
        new = StoredFile(store, row["key"] if body.path is None else _key(body.path), content, write.caller.key)
        await service.change(write.runtime, tx, row, new, expected)
        return _memory(store, await _found(tx, store, memory), view)

    return await _write(write, work)


@router.delete(f"{MEMORIES}/{{memory_id}}", response_model=schemas.StoredMemoryDeleted)
async def delete_stored_memory(
    write: Write,
    memory_store_id: str,
    memory_id: str,
    expected_content_sha256: Annotated[str | None, Query(pattern="^[0-9a-f]{64}$")] = None,
) -> Response:
    """Delete a memory. Its versions stay until they are redacted or the store is deleted."""
    store, memory = _store_id(memory_store_id), _memory_id(memory_id)

    async def work(tx: Tx) -> Json:
        await service.held(tx, store, write.caller.user_id, live=False)
        row = await _found(tx, store, memory)
        await service.delete(tx, row, store, write.caller.key, expected_content_sha256)
        return {"id": memory_id, "type": "memory_deleted"}

    return await _write(write, work)


# --- Versions -------------------------------------------------------------------------------------------


def _by(
    api_key_id: str | None = None, session_id: str | None = None, service_account_id: str | None = None
) -> UUID | None:
    """Return the key whose versions are listed; one that can have written none, for any other actor."""
    if session_id is not None or service_account_id is not None:
        return UUID(int=0)
    return None if api_key_id is None else _id(api_key_id, "apikey_", "API key")


def _listed(
    by: Annotated[UUID | None, Depends(_by)], memory_id: str | None = None, operation: Operation | None = None,
    page: Page = None, since: Since = None, until: Until = None,
) -> ListedVersions:  # fmt: skip
    memory = None if memory_id is None else _memory_id(memory_id)
    return ListedVersions(memory, operation, cursors.decode_id(page), by, since, until)


@router.get(VERSIONS, response_model=schemas.StoredVersionList)
async def list_memory_versions(
    runtime: Wired, caller: Reader, memory_store_id: str, among: Annotated[ListedVersions, Depends(_listed)],
    view: View = "basic", limit: Limit = 20,
) -> Response:  # fmt: skip
    """List the changes of a store's memories, the newest first; those of deleted ones too."""
    store, size = _store_id(memory_store_id), min(limit, FULL_MAX) if view == "full" else limit
    async with runtime.database.snapshot(caller.tenant) as tx:
        await service.opened(tx, store, caller.user_id)
        rows = await stores.versions(tx, store, among, size + 1)
    more = cursors.encode(rows[size - 1]["id"]) if len(rows) > size else None
    return _page([_version(row, view) for row in rows[:size]], more)


@router.get(f"{VERSIONS}/{{memory_version_id}}", response_model=schemas.StoredVersion)
async def get_memory_version(
    runtime: Wired, caller: Reader, memory_store_id: str, memory_version_id: str, view: View = "full"
) -> Response:
    """Get a version of a memory."""
    store, version = _store_id(memory_store_id), _version_id(memory_version_id)
    async with runtime.database.snapshot(caller.tenant) as tx:
        await service.opened(tx, store, caller.user_id)
        row = await stores.version(tx, store, version)
    if row is None:
        raise service.unknown("memory version")
    return json_value(_version(row, view))


@router.post(f"{VERSIONS}/{{memory_version_id}}/redact", response_model=schemas.StoredVersion)
async def redact_memory_version(write: Write, memory_store_id: str, memory_version_id: str) -> Response:
    """Erase what a version says. The one that a memory is at is refused: change or delete the memory first."""
    store, version = _store_id(memory_store_id), _version_id(memory_version_id)

    async def work(tx: Tx) -> Json:
        await service.held(tx, store, write.caller.user_id, live=False)
        return _version(await service.redact(tx, store, version, write.caller.key), "full")

    return await _write(write, work)
