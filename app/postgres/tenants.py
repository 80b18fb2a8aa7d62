"""List tenants."""

from uuid import UUID

import asyncpg

from app import errors
from app.postgres import admission
from app.postgres.database import Database

DEFAULT_TENANT = UUID("00000000-0000-7000-8000-000000000001")
"""The only tenant of a deployment without keys, and the tenant of keys that name no other."""

# Row-level security lets everyone list them.
LIST = "SELECT tenant_id FROM tenants ORDER BY tenant_id"


async def tenants(database: Database) -> list[UUID]:
    """Return every tenant, for work that visits each in its own transaction."""
    rows = await database.fetch_all(LIST)
    return sorted({DEFAULT_TENANT, *(row["tenant_id"] for row in rows)})


async def is_keyed(database: Database) -> bool:
    """Return whether callers need a key. Raises StorageUnavailable if the schema is too old to tell."""
    row = await row_of(database, admission.IS_KEYED)
    return bool(row and row["found"])


async def row_of(database: Database, sql: str, *arguments: object) -> asyncpg.Record | None:
    """Read a row about tenants. Raises StorageUnavailable if the schema is too old."""
    try:
        return await database.fetch_row(sql, *arguments)
    except asyncpg.UndefinedTableError:
        raise errors.StorageUnavailable(
            "The schema is not the one this version expects; run `quire migrate`."
        ) from None
