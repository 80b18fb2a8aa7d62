"""Spaces and their members.

A user who is no member cannot see that a space exists. A member's rights are read in the transaction that needs them,
so that a removal takes effect with the next request in every process.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from app.core.scope import Scope, scope_of
from app.errors import Forbidden, existing
from app.postgres.transactions import ReadTx, Tx
from app.queue import outbox

Right = Literal["read", "write"]


@dataclass(frozen=True, slots=True)
class NewSpace:
    id: str
    name: str | None = None
    participants: str = "{}"
    """JSON: users by the names that messages give them."""
    metadata: str = "{}"


@dataclass(frozen=True, slots=True)
class StoredSpace:
    id: str
    name: str | None
    participants: str
    metadata: str
    created_at: datetime
    rights: Right | None = None
    """Those of the member that it was asked for."""


@dataclass(frozen=True, slots=True)
class StoredMember:
    user_id: str
    rights: Right
    created_at: datetime


FIND = """
SELECT s.id, s.name, s.participants, s.metadata, s.created_at, m.rights FROM spaces s
  LEFT JOIN space_members m ON m.tenant_id = $1 AND m.space_id = s.id AND m.user_id = $3
 WHERE s.tenant_id = $1 AND s.id = $2 AND ($3::text IS NULL OR m.rights IS NOT NULL)
"""


async def get(tx: ReadTx, space_id: str, bound_to: str | None = None, *, right: Right = "read") -> StoredSpace:
    """Return a space. Raises NotFound, also for a user who is no member, and Forbidden without the needed right."""
    space = StoredSpace(*existing(await tx.fetchrow(FIND, space_id, bound_to), "space"))
    if right == "write" and space.rights == "read":
        raise Forbidden("You can read this space, not write to it.")
    return space


LOCK = "SELECT FROM spaces WHERE tenant_id = $1 AND id = $2 FOR UPDATE"
HOLD = "SELECT FROM spaces WHERE tenant_id = $1 AND id = $2 FOR KEY SHARE"


async def exists(tx: ReadTx, space_id: str) -> bool:
    return await tx.fetchrow(HOLD, space_id) is not None


async def lock(tx: Tx, space_id: str, bound_to: str | None = None) -> StoredSpace:
    """Return a space as ``get`` does for a member who writes, locked against changes of it and its members."""
    await tx.fetchrow(LOCK, space_id)
    return await get(tx, space_id, bound_to, right="write")


async def hold(tx: ReadTx, space_id: str, bound_to: str | None = None, *, right: Right = "write") -> StoredSpace:
    """Return a space as ``get`` does, protected from erasure."""
    await tx.fetchrow(HOLD, space_id)
    return await get(tx, space_id, bound_to, right=right)


CREATE = """
INSERT INTO spaces (tenant_id, id, name, participants, metadata) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (tenant_id, id) DO NOTHING RETURNING id
"""
CHANGE = "UPDATE spaces SET name = $3, participants = $4, metadata = $5 WHERE tenant_id = $1 AND id = $2"
DELETE = "DELETE FROM spaces WHERE tenant_id = $1 AND id = $2"


async def create(tx: Tx, new: NewSpace) -> bool:
    """Create a space. Return False if its id is taken."""
    is_made = await tx.fetchrow(CREATE, new.id, new.name, new.participants, new.metadata) is not None
    if is_made:
        await _tell(tx, new.id)
    return is_made


async def _tell(tx: Tx, space_id: str) -> None:
    await outbox.tell(tx, outbox.event("space.changed", space_id=space_id))


async def change(tx: Tx, new: NewSpace) -> None:
    await _tell(tx, new.id)
    await tx.execute(CHANGE, new.id, new.name, new.participants, new.metadata)


async def delete(tx: Tx, space_id: str) -> None:
    await tx.execute(DELETE, space_id)


# Spaces by id, or those of a user, after a cursor's.
LIST = """
SELECT id, name, participants, metadata, created_at FROM spaces
 WHERE tenant_id = $1 AND ($2::text IS NULL OR id > $2) ORDER BY id LIMIT $3
"""
LIST_OF_USER = """
SELECT s.id, s.name, s.participants, s.metadata, s.created_at
  FROM (SELECT space_id FROM space_members
         WHERE tenant_id = $1 AND member = $4 AND ($2::text IS NULL OR space_id > $2)
         ORDER BY space_id LIMIT $3) m
  JOIN spaces s ON s.tenant_id = $1 AND s.id = m.space_id
 ORDER BY s.id
"""


async def browse(tx: ReadTx, user_id: str | None, after: str | None, limit: int) -> list[StoredSpace]:
    """List spaces by id: all, or those that a user is a member of."""
    whose = () if user_id is None else (member(user_id),)
    return [StoredSpace(*row) for row in await tx.fetch(LIST_OF_USER if whose else LIST, after, limit, *whose)]


def member(user_id: str) -> UUID:
    """Return a user as an index key of fixed size: the owner of the user's data."""
    return scope_of(user_id, None).owner


# --- Members ------------------------------------------------------------------------------------------

# Of the member that a space's keys are the scope is the space's own; it is neither listed nor counted.
MEMBERS = """
SELECT user_id, rights, created_at FROM space_members
 WHERE tenant_id = $1 AND space_id = $2 AND member <> owner AND ($3::text IS NULL OR user_id > $3)
 ORDER BY user_id LIMIT $4
"""
MEMBER = "SELECT user_id, rights, created_at FROM space_members WHERE tenant_id = $1 AND space_id = $2 AND user_id = $3"
COUNT = """
SELECT count(*) AS members, count(*) FILTER (WHERE rights = 'write') AS writers FROM space_members
 WHERE tenant_id = $1 AND space_id = $2 AND member <> owner
"""
COUNT_SPACES = "SELECT count(*) FROM space_members WHERE tenant_id = $1 AND member = $2"
PUT = """
INSERT INTO space_members (tenant_id, space_id, user_id, rights, owner, member) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (tenant_id, space_id, user_id) DO UPDATE SET rights = excluded.rights
RETURNING user_id, rights, created_at
"""
REMOVE = "DELETE FROM space_members WHERE tenant_id = $1 AND space_id = $2 AND user_id = $3"


async def members(tx: ReadTx, space_id: str, after: str | None, limit: int) -> list[StoredMember]:
    return [StoredMember(*row) for row in await tx.fetch(MEMBERS, space_id, after, limit)]


async def find_member(tx: ReadTx, space_id: str, user_id: str) -> StoredMember | None:
    row = await tx.fetchrow(MEMBER, space_id, user_id)
    return StoredMember(*row) if row is not None else None


AMONG = "SELECT user_id FROM space_members WHERE tenant_id = $1 AND space_id = $2 AND user_id = ANY ($3::text[])"


async def members_among(tx: ReadTx, space_id: str, users: Collection[str]) -> set[str]:
    return {row["user_id"] for row in await tx.fetch(AMONG, space_id, [*users])}


async def count(tx: ReadTx, space_id: str) -> tuple[int, int]:
    """Return the numbers of a space's members and of those who write."""
    row = await tx.fetchrow(COUNT, space_id)
    return (row["members"], row["writers"]) if row else (0, 0)


async def count_of(tx: ReadTx, user_id: str) -> int:
    return int(await tx.fetchval(COUNT_SPACES, member(user_id)))


async def put(tx: Tx, space_id: str, user_id: str, right: Right) -> StoredMember:
    await _tell(tx, space_id)
    row = await tx.fetchrow(PUT, space_id, user_id, right, Scope("space", space_id).owner, member(user_id))
    assert row is not None
    return StoredMember(*row)


# Conversations that read a space, of a user or of all: it goes out of their view at once, whatever else they show, in
# windows of epochs that were made with it too.
LEAVE = """
UPDATE conversations c SET scopes = array_remove(scopes, $3::uuid), version = version + 1, recalled = NULL,
       generation = generation + last_seq + 1 + coalesce(
         (SELECT d.count FROM withdrawals d WHERE d.tenant_id = $1 AND d.owner = $3), 0)
 WHERE c.tenant_id = $1 AND {whose} AND c.scopes @> ARRAY[$3::uuid]
RETURNING c.id
"""
LEAVE_OF_USER = LEAVE.format(whose="c.user_id = $2")
LEAVE_ALL = LEAVE.format(
    whose="c.user_id IN (SELECT user_id FROM space_members WHERE tenant_id = $1 AND space_id = $2)"
)


async def remove(tx: Tx, space_id: str, user_id: str) -> int:
    """Remove a member. Return the number of the user's conversations that could read the space."""
    await _tell(tx, space_id)
    await tx.execute(REMOVE, space_id, user_id)
    rows = await tx.fetch(LEAVE_OF_USER, user_id, Scope("space", space_id).owner)
    tx.changes.conversations.update(row["id"] for row in rows)
    return len(rows)


async def forget_readers(tx: Tx, space_id: str) -> None:
    """Stop every conversation from reading a space that is about to be deleted."""
    rows = await tx.fetch(LEAVE_ALL, space_id, Scope("space", space_id).owner)
    tx.changes.conversations.update(row["id"] for row in rows)


FORGET_MEMBER = "DELETE FROM space_members WHERE tenant_id = $1 AND member = $2"


async def forget_member(tx: Tx, user_id: str) -> int:
    """Remove a user from every space, even as the last writer. Return the number of spaces."""
    return await tx.execute(FORGET_MEMBER, member(user_id))


# The spaces of a user, the oldest membership first.
OF_USER = """
SELECT space_id FROM space_members WHERE tenant_id = $1 AND member = $2 ORDER BY space_id
"""


async def of_user(tx: ReadTx, user_id: str) -> list[str]:
    return [row["space_id"] for row in await tx.fetch(OF_USER, member(user_id))]
