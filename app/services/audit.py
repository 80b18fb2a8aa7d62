"""Write and list the audit log."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, TypeAlias
from uuid import UUID

from app import errors
from app.core.edge.audit import AuditEntry
from app.core.times import time_of, time_text
from app.postgres.database import Database
from app.store.operators import audit

_Waiting: TypeAlias = tuple[AuditEntry, "asyncio.Future[None]"]


class AuditLog:
    """Stores entries. A tenant's entries that arrive while another is being stored share the next commit."""

    def __init__(self) -> None:
        self._waiting: dict[UUID, list[_Waiting]] = {}
        """Of each tenant of which something is being stored."""
        self._storing: dict[UUID, asyncio.Task[None]] = {}

    async def add(self, database: Database, tenant: UUID, entry: AuditEntry) -> None:
        """Store an entry and return after the commit. Raises whatever prevented it."""
        if (waiting := self._waiting.get(tenant)) is not None:
            stored: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            waiting.append((entry, stored))
            await stored
            return
        self._waiting[tenant] = []
        try:
            await audit.add(database, tenant, [entry])
        finally:
            if self._waiting[tenant]:
                self._storing[tenant] = asyncio.create_task(self._store(database, tenant))
            else:
                del self._waiting[tenant]

    async def _store(self, database: Database, tenant: UUID) -> None:
        waiting: list[_Waiting] = []
        try:
            while waiting := self._waiting[tenant]:
                self._waiting[tenant] = []
                failure: Exception | None = None
                try:
                    await audit.add(database, tenant, [entry for entry, _ in waiting])
                except Exception as error:  # noqa: BLE001 - those who wait raise it
                    failure = error
                _tell(waiting, failure)
        finally:  # those who still wait do so because this task was cancelled
            _tell([*waiting, *self._waiting.pop(tenant)], errors.Overdue("The service is shutting down."))
            del self._storing[tenant]


def _tell(waiting: Iterable[_Waiting], failure: Exception | None) -> None:
    for stored in (stored for _, stored in waiting if not stored.done()):  # others' requests were given up
        if failure is None:
            stored.set_result(None)
        else:
            stored.set_exception(failure)


def view(name: UUID, entry: AuditEntry) -> dict[str, Any]:
    return {
        "id": str(name), "at": time_text(time_of(name)), "action": entry.action, "route": entry.route,
        "ids": entry.ids, "key_id": str(entry.key) if entry.key else None, "user_id": entry.user_id,
        "address": entry.address, "status": entry.status, "request_id": entry.request_id,
    }  # fmt: skip
