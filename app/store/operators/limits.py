"""Limits of tenants and keys, and what is counted for them: rates, and bytes by user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from asyncpg import Record

from app.core.edge.limits import KINDS
from app.core.edge.rate import Bucket, TakenTokens, take
from app.core.scope import scope_of
from app.postgres import admission, tenants
from app.postgres.database import Database
from app.postgres.transactions import ReadTx, Tx

# Row-level security shows this row to everybody, so the statement needs no transaction of the tenant.
QUOTA = f"SELECT {', '.join(KINDS)}, events FROM tenants WHERE tenant_id = $1"
# Whether callers need a key, and the limits of those who come without one.
DOOR = f"SELECT *, {admission.OF_DOOR} AS known FROM ({admission.IS_KEYED}) k LEFT JOIN ({QUOTA}) t ON true"


async def quota(database: Database, tenant: UUID) -> tuple[Mapping[str, int | None], bool]:
    """Return a tenant's own limits, and whether it has events on."""
    return _quota(await database.fetch_row(QUOTA, tenant))


@dataclass(frozen=True, slots=True)
class OpenDoor:
    """The limits of callers without a key, where none is needed."""

    limits: Mapping[str, int | None]
    """Those of their tenant's own."""
    tells: bool
    """The tenant has events."""
    known: str
    """All that they are let in by, as ``admission.UNCHANGED`` compares it."""


async def door(database: Database, tenant: UUID) -> OpenDoor | None:
    """Return what lets callers without a key in; None: all need one. Raises StorageUnavailable for too old a schema."""
    row = await tenants.row_of(database, DOOR, tenant)
    assert row is not None
    return None if row["found"] else OpenDoor(own_limits(row), bool(row["events"]), row["known"])


async def quota_in(tx: ReadTx) -> tuple[Mapping[str, int | None], bool]:
    """Return the same within a transaction of the tenant."""
    return _quota(await tx.fetchrow(QUOTA))


def _quota(row: Record | None) -> tuple[Mapping[str, int | None], bool]:
    return (own_limits(row), row["events"]) if row is not None else ({}, False)


SET_QUOTA = f"""
INSERT INTO tenants (tenant_id, name, {", ".join(KINDS)}) VALUES ($1, 'default', $2, $3, $4, $5)
ON CONFLICT (tenant_id) DO UPDATE SET {", ".join(f"{kind} = excluded.{kind}" for kind in KINDS)}
"""


async def set_quota(tx: Tx, limits: Mapping[str, int | None]) -> None:
    await tx.execute(SET_QUOTA, *(limits.get(kind) for kind in KINDS))


# --- Rates ------------------------------------------------------------------------------------------

# The subject's bucket, locked until the transaction ends; a new one is full.
BUCKET = """
INSERT INTO rates AS r (tenant_id, subject, tokens, at) VALUES ($1, $2, $3, clock_timestamp())
ON CONFLICT (tenant_id, subject) DO UPDATE SET at = r.at
RETURNING tokens, at"""
READ_BUCKET = f"{BUCKET}, clock_timestamp() AS now"
CLOCK = "SELECT clock_timestamp()"
PUT_BUCKET = "UPDATE rates SET tokens = $3, at = $4 WHERE tenant_id = $1 AND subject = $2"


async def take_shared(tx: Tx, subject: UUID, per_minute: int, wanted: int) -> TakenTokens:
    """Take tokens of a bucket that all processes share. Its clock is the database's."""
    row = await tx.fetchrow(BUCKET if tx.is_sharded else READ_BUCKET, subject, float(per_minute))
    assert row is not None
    now: datetime = await tx.connection.fetchval(CLOCK) if tx.is_sharded else row["now"]
    taken = take(Bucket(row["tokens"], row["at"].timestamp()), now.timestamp(), per_minute, wanted)
    await tx.execute(PUT_BUCKET, subject, taken.bucket.tokens, max(now, row["at"]))
    return taken


FULL_AFTER = timedelta(hours=1)
"""A bucket that nobody used for so long is full."""
FORGET_RATES = "DELETE FROM rates WHERE tenant_id = $1 AND at < now() - $2::interval"

# --- Storage ----------------------------------------------------------------------------------------

ADD_BYTES = """
INSERT INTO storage AS s (tenant_id, user_id, bytes, counted_at)
SELECT $1, u.user_id, u.bytes, now() FROM unnest($2::text[], $3::bigint[]) AS u (user_id, bytes)
ON CONFLICT (tenant_id, user_id) DO UPDATE SET bytes = s.bytes + excluded.bytes
"""
TENANT_BYTES = "SELECT sum(bytes)::bigint FROM storage WHERE tenant_id = $1"
USER_BYTES = "SELECT user_id, bytes FROM storage WHERE tenant_id = $1 AND user_id = ANY ($2::text[])"


async def add_bytes(tx: Tx, added: Mapping[str, int]) -> None:
    """Add to what users store; the name of nobody is empty."""
    if added:
        users = sorted(added)  # in the order in which every transaction locks them
        await tx.execute(ADD_BYTES, users, [added[user] for user in users])


async def bytes_of(tx: ReadTx, users: Sequence[str]) -> tuple[int, dict[str, int]]:
    """Return what a tenant stores, and what some of its users do."""
    rows = await tx.fetch(USER_BYTES, users)
    return await tenant_bytes(tx) or 0, {row["user_id"]: row["bytes"] for row in rows}


async def tenant_bytes(tx: ReadTx) -> int | None:
    """Return what a tenant stores; None where nothing was counted."""
    found: int | None = await tx.fetchval(TENANT_BYTES)
    return found


# Users that were never counted, or whose count is old.
UNCOUNTED = """
SELECT u.user_id FROM (
  SELECT DISTINCT coalesce(user_id, '') AS user_id FROM conversations WHERE tenant_id = $1
  UNION SELECT coalesce(user_id, '') FROM archives WHERE tenant_id = $1
  UNION SELECT substr(scope, 3) FROM memories WHERE tenant_id = $1 AND scope LIKE 'u:%') AS u
 WHERE NOT EXISTS (SELECT FROM storage s WHERE s.tenant_id = $1 AND s.user_id = u.user_id
                      AND s.counted_at > now() - interval '1 day')
 ORDER BY u.user_id LIMIT $2
"""
COUNT = """
INSERT INTO storage (tenant_id, user_id, counted_at, bytes) SELECT $1, $2, now(),
  (SELECT coalesce(sum(octet_length(m.body)), 0)
     FROM conversations c JOIN messages m ON m.tenant_id = c.tenant_id AND m.conversation_id = c.id
    WHERE c.tenant_id = $1 AND (c.user_id = $2 OR ($2 = '' AND c.user_id IS NULL)))
  + (SELECT coalesce(sum(octet_length(a.content)), 0) FROM archive_contents a
      WHERE a.tenant_id = $1 AND (a.scope = $3 OR ($2 = '' AND a.scope NOT LIKE 'u:%')))
  + (SELECT coalesce(sum(octet_length(k.content)), 0) FROM memories k
      WHERE k.tenant_id = $1 AND k.owner = ANY ($4::uuid[]) AND k.content IS NOT NULL)
ON CONFLICT (tenant_id, user_id) DO UPDATE SET bytes = excluded.bytes, counted_at = excluded.counted_at
"""


async def uncounted(tx: ReadTx, limit: int) -> list[str]:
    return [row["user_id"] for row in await tx.fetch(UNCOUNTED, limit)]


async def count_bytes(tx: Tx, user: str) -> None:
    scope = scope_of(user or None, None)
    await tx.execute(COUNT, user, scope.text, [scope.owner, scope.files.owner])


RECOUNT = "UPDATE storage SET counted_at = NULL WHERE tenant_id = $1 AND user_id = $2"
FORGET_USER = "DELETE FROM storage WHERE tenant_id = $1 AND user_id = $2"


async def forget_user(tx: Tx, user: str) -> None:
    await tx.execute(FORGET_USER, user)


async def recount(tx: Tx, user: str | None) -> None:
    """Have a user's bytes counted anew: something of theirs was erased."""
    await tx.execute(RECOUNT, user or "")


STORED = "SELECT user_id, bytes FROM storage WHERE tenant_id = $1 AND user_id >= $2 ORDER BY user_id LIMIT $3"


async def bytes_by_user(tx: ReadTx, first: str, limit: int) -> dict[str, int]:
    return {row["user_id"]: row["bytes"] for row in await tx.fetch(STORED, first, limit)}


async def forget_rates(tx: Tx, unused: timedelta) -> bool:
    """Forget buckets; return False: that were all."""
    await tx.execute(FORGET_RATES, unused)
    return False


def own_limits(row: Record) -> dict[str, int | None]:
    return {kind: row[kind] for kind in KINDS}
