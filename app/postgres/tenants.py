"""Which tenants there are."""

from uuid import UUID

import asyncpg

from app import errors
from app.postgres.database import Database

DEFAULT_TENANT = UUID("00000000-0000-7000-8000-000000000001")
"""The one tenant of a deployment without keys, and of keys that name no other."""

# The one statement that sees more than one tenant: their list, which row-level security shows to everybody.
LIST = "SELECT tenant_id FROM tenants ORDER BY tenant_id"
# Whether any tenant ever had a key. One that is revoked or expired counts too: a door that was locked stays so.
IS_KEYED = "SELECT EXISTS (SELECT FROM tenants WHERE keyed_at IS NOT NULL) AS found"


async def tenants(database: Database) -> list[UUID]:
    """Every tenant, for work that goes through all of them, one transaction for each."""
    rows = await database.fetch_all(LIST)
    return sorted({DEFAULT_TENANT, *(row["tenant_id"] for row in rows)})


async def is_keyed(database: Database) -> bool:
    """Whether callers need a key. Raises StorageUnavailable where the schema is too old to say."""
    try:
        row = await database.fetch_row(IS_KEYED)
    except asyncpg.UndefinedTableError:
        raise errors.StorageUnavailable(
            "The schema is not the one this version expects; run `quire migrate`."
        ) from None
    return bool(row and row["found"])
