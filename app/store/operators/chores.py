"""Find what is due of each tenant, of many in one statement. The worker asks once a minute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from app.postgres.database import Database
from app.postgres.statements import SqlFile

_SQL = SqlFile(__file__)
DUE = _SQL.statement("due", id="t.id")
DUE_OF_TENANT = _SQL.statement("due_of_tenant", id=":tenant::uuid")


async def due(database: Database, tenants: Sequence[UUID], since: Mapping[str, Any]) -> dict[str, set[UUID]]:
    """Return the tenants that may have something to do, by chore."""
    found: dict[str, set[UUID]] = {}
    for row in await database.fetch_of_each(DUE, DUE_OF_TENANT, tenants, **since):
        found.setdefault(row["chore"], set()).add(row["tenant"])
    return found
