"""The files of an agent's memory tool: keyed memories of its user, space or conversation.

Changes hold the lock of the files' owner, so that concurrent changes of a path are serialised.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from app import errors
from app.core.dialects.memory_files import MEMORIES_MAX, content_problem, path_problem
from app.core.scope import Scope
from app.ids import uuid7
from app.postgres.sight import widen
from app.postgres.transactions import Tx
from app.queue import outbox
from app.runtime import Runtime
from app.services.memory import insertion
from app.store import locks
from app.store.memory import files, remembered
from app.store.memory.files import MemoryFile
from app.store.memory.kept import NO_TERMS
from app.store.memory.remembered import Remembered
from app.store.operators import limits


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file to store: its scope, key and content."""

    scope: Scope
    key: str
    content: str


async def hold(tx: Tx, scope: Scope) -> None:
    """Lock the files of a scope until the transaction ends, and make them visible to it."""
    await locks.lock_owner(tx, scope.files.owner)
    await widen(tx, scope.files)


async def create(
    runtime: Runtime, tx: Tx, new: StoredFile, file: UUID | None = None, created_at: datetime | None = None
) -> None:
    """Create a file in a held scope. An import gives its id and time. Raises Invalid, and Conflict for a taken path."""
    _check(new)
    taken = await files.keys(tx, new.scope)
    if new.key in taken:
        raise errors.Conflict.at(["path"], "is taken", "The path of the file is taken.")
    if len(taken) >= MEMORIES_MAX:
        raise errors.Conflict(f"A memory tool has at most {MEMORIES_MAX:,} files.")
    await _insert(runtime, tx, new, file or uuid7(), created_at or datetime.now(UTC))


async def change(runtime: Runtime, tx: Tx, row: MemoryFile, new: StoredFile) -> None:
    """Change the path or content of a file in a held scope. Raises Invalid and Conflict."""
    _check(new)
    if new.key != row.key and new.key in await files.keys(tx, new.scope):
        raise errors.Conflict.at(["path"], "is taken", "The path of the file is taken.")
    if new.content != row.content:
        await remembered.delete(tx, row.id, sensitive=True)
        await _insert(runtime, tx, new, row.id, row.created_at)
    elif new.key != row.key:
        await files.rename(tx, row.id, new.key)


async def delete(tx: Tx, row: MemoryFile, user_id: str | None) -> None:
    """Delete a file in a held scope."""
    await remembered.delete(tx, row.id, sensitive=True)
    await limits.recount(tx, user_id)
    await outbox.tell(tx, outbox.event("erasure.done", of="memory", id=str(row.id)))


def _check(new: StoredFile) -> None:
    found: list[errors.FieldError] = [
        {"loc": ["body", name], "msg": problem}
        for name, problem in (("path", path_problem(f"/{new.key}")), ("content", content_problem(new.content)))
        if problem is not None
    ]
    if found:
        raise errors.Invalid(errors=found)


async def _insert(runtime: Runtime, tx: Tx, new: StoredFile, file: UUID, created_at: datetime) -> None:
    row = Remembered(
        id=file, scope=new.scope.files, type="general", content=runtime.masks.text(new.content), nul_offsets="{}",
        keywords=(), metadata="{}", source="tool", sensitive=False, expires_at=None, created_at=created_at,
        passages=[(file, 0, 0, NO_TERMS)], key=new.key,
    )  # fmt: skip
    await insertion.insert_remembered(runtime, tx, [row])
