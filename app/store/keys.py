"""API keys and their tenants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.core.edge.limits import KINDS
from app.postgres.admission import IS_ALIVE, OF_KEY
from app.postgres.database import Database
from app.postgres.transactions import ReadTx, Tx


@dataclass(frozen=True, slots=True)
class KnownKey:
    """A key's facts for a request, and its tenant's own limits and switches."""

    digest: bytes
    scopes: Sequence[str]
    user_id: str | None
    per_minute: int | None
    limits: Mapping[str, int | None]
    is_alive: bool
    use_unknown: bool
    """It was not noted in the last minute."""
    tells: bool
    """The tenant has events."""
    known: str
    """All that the key lets in by, as ``admission.UNCHANGED`` compares it."""


# A key by its public parts. Alone and outside any transaction block: it sets the tenant as the hot statements do.
LOOK_UP = f"""
SELECT k.digest, k.scopes, k.user_id, k.requests_per_minute AS per_minute,
       {IS_ALIVE} AS alive,
       k.last_used_at IS NULL OR k.last_used_at < now() - interval '1 minute' AS use_unknown,
       {", ".join(f"t.{kind}" for kind in KINDS)}, t.events, {OF_KEY} AS known
  FROM keys k JOIN tenants t ON t.tenant_id = k.tenant_id
 WHERE k.tenant_id = $1::uuid AND k.id = $2
 LIMIT length(set_config('app.tenant', $1::text || '*', true)) / 36
"""


async def look_up(database: Database, tenant: UUID, key: UUID) -> KnownKey | None:
    row = await database.fetch_row(LOOK_UP, str(tenant), key)
    if row is None:
        return None
    digest, scopes, user_id, per_minute, alive, use_unknown, *limits, events, known = row
    own = dict(zip(KINDS, limits, strict=True))
    return KnownKey(digest, scopes, user_id, per_minute, own, alive, use_unknown, events, known)


# Record the minute of a key's last use. A row that another transaction is writing is left to it.
USED = """
UPDATE keys SET last_used_at = now()
 WHERE tenant_id = $1 AND id = (
   SELECT id FROM keys WHERE tenant_id = $1 AND id = $2
      AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute') FOR UPDATE SKIP LOCKED)
"""


async def used(tx: Tx, key: UUID) -> None:
    await tx.execute(USED, key)


@dataclass(frozen=True, slots=True)
class NewKey:
    id: UUID
    digest: bytes
    name: str
    scopes: Sequence[str]
    user_id: str | None
    expires_at: datetime | None
    requests_per_minute: int | None = None


@dataclass(frozen=True, slots=True)
class StoredKey:
    tenant_id: UUID
    id: UUID
    name: str
    scopes: Sequence[str]
    user_id: str | None
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None
    requests_per_minute: int | None


FIELDS = "tenant_id, id, name, scopes, user_id, created_at, expires_at, revoked_at, last_used_at, requests_per_minute"
# From its first key on a tenant's row says that keys are required.
DEMAND = """
INSERT INTO tenants (tenant_id, name, keyed_at) VALUES ($1, $2, clock_timestamp())
ON CONFLICT (tenant_id) DO UPDATE SET keyed_at = coalesce(tenants.keyed_at, excluded.keyed_at)
"""
INSERT = f"""
INSERT INTO keys (tenant_id, id, digest, name, scopes, user_id, expires_at, requests_per_minute)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING {FIELDS}
"""


async def insert(tx: Tx, new: NewKey) -> StoredKey:
    """Insert a key. From the commit on, the deployment requires keys."""
    await tx.execute(DEMAND, "default")
    [row] = await tx.fetch(
        INSERT, new.id, new.digest, new.name, list(new.scopes), new.user_id, new.expires_at, new.requests_per_minute
    )
    return StoredKey(*row)


# Keys, the newest first, after a cursor's id. Two statements, because one with an OR would read all users' keys.
LIST = f"SELECT {FIELDS} FROM keys WHERE tenant_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3"
LIST_OF_USER = f"""
SELECT {FIELDS} FROM keys WHERE tenant_id = $1 AND id < $2 AND user_id = $4 ORDER BY user_id DESC, id DESC LIMIT $3
"""


async def browse(tx: ReadTx, bound_to: str | None, after: UUID | None, limit: int) -> list[StoredKey]:
    page = (after or UUID(int=2**128 - 1), limit)
    rows = await (tx.fetch(LIST, *page) if bound_to is None else tx.fetch(LIST_OF_USER, *page, bound_to))
    return [StoredKey(*row) for row in rows]


REVOKE = f"""
UPDATE keys SET revoked_at = coalesce(revoked_at, (SELECT now()))
 WHERE tenant_id = $1 AND id = $2 AND ($3::text IS NULL OR user_id = $3) RETURNING {FIELDS}
"""


async def revoke(tx: ReadTx, key: UUID, bound_to: str | None) -> StoredKey | None:
    """Revoke a key; None if it does not exist. A revoked key keeps its first time of revocation."""
    row = await tx.fetchrow(REVOKE, key, bound_to)
    return StoredKey(*row) if row is not None else None


LIMIT = f"""
UPDATE keys SET requests_per_minute = $4
 WHERE tenant_id = $1 AND id = $2 AND ($3::text IS NULL OR user_id = $3) RETURNING {FIELDS}
"""


async def limit(tx: Tx, key: UUID, bound_to: str | None, per_minute: int | None) -> StoredKey | None:
    """Set or remove a key's own limit; None if the key does not exist."""
    row = await tx.fetchrow(LIMIT, key, bound_to, per_minute)
    return StoredKey(*row) if row is not None else None


DELETE_OF_USER = "DELETE FROM keys WHERE tenant_id = $1 AND user_id = $2"


async def delete_of_user(tx: Tx, user_id: str) -> int:
    """Delete a user's keys, also revoked ones, and return their number. The tenant still requires keys."""
    return await tx.execute(DELETE_OF_USER, user_id)


CREATE_TENANT = "INSERT INTO tenants (tenant_id, name) VALUES ($1, $2)"
# Every tenant's row, which row-level security shows to everybody: nothing to filter by.
ALL_TENANTS = f"""
SELECT tenant_id, name, keyed_at, created_at, {", ".join(KINDS)} FROM tenants ORDER BY created_at, tenant_id
"""


async def create_tenant(tx: Tx, name: str) -> None:
    await tx.execute(CREATE_TENANT, name)


@dataclass(frozen=True, slots=True)
class Tenant:
    tenant_id: UUID
    name: str
    keyed_at: datetime | None
    created_at: datetime
    limits: Mapping[str, int | None]


async def all_tenants(database: Database) -> list[Tenant]:
    rows = await database.fetch_all(ALL_TENANTS)
    return [
        Tenant(id_, name, keyed_at, created_at, dict(zip(KINDS, own, strict=True)))
        for id_, name, keyed_at, created_at, *own in rows
    ]
