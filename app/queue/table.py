"""The work table: background jobs, who is running them, and their outcomes.

A row is in one of three states.

    enqueue ──► waiting ──claim──► running ──finish──► gone; or waiting again, if it was enqueued meanwhile
                 ▲ ▲ ▲               │ │ │
                 │ │ └─fail, release─┘ │ └─fail for good──► dead ──retry, enqueue──► waiting
                 │ └──────reap─────────┘

* **waiting**: ``token`` and ``failed_at`` are null. It can be claimed from ``due`` on, while no other work of its
  conversation runs in its lane.
* **running**: ``token`` identifies the lease, ``due`` is the lease's end and ``claimed`` the version being worked on.
* **dead**: ``failed_at`` is set. It is not tried again until a person requeues it or it is enqueued again.

``version`` counts enqueueings. A worker that finishes compares it with the version it claimed: if work arrived while
the job ran, the row waits again, so no wake-up is lost. An attempt is counted when it begins, so a crash counts as
one. Attempts that failed for a passing reason, such as an unavailable provider, are transient (``excused`` in the
table): they do not lead to a dead letter early.

``finish`` must be the last statement of the transaction that writes the result: either both happen or neither. It
raises LeaseLost when the row is no longer ours (the lease ended and was reaped, or the conversation was erased),
which rolls the result back. It deletes the row only if no version came since the claim. READ COMMITTED evaluates
that condition again once the row's lock is acquired, on the row as it is then: a DELETE keeps work that arrived while
it waited. (A version read earlier, even by the same statement, could be outdated.)

Two workers may find different rows of one conversation claimable at the same moment. The unique index
``work_running_key`` lets one of them have it; the other looks again.

Why no library: the two that were tried left conversations behind after kills (their deduplication drops what arrives
while a job runs, or a retry collides with its queued twin), and neither can enqueue within the append's statement.

Every statement names the tenant; a tenant's work is claimed in a transaction of its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, get_args
from uuid import UUID, uuid4

import asyncpg
from asyncpg import Record

from app.core.neutral import replace_nul
from app.errors import StorageUnavailable
from app.postgres.database import Database, wake_at_commit
from app.postgres.statements import SqlFile
from app.postgres.transactions import ReadTx, Tx
from app.queue import outbox
from app.queue.enqueue import WEBHOOK, Lane

LEASE_SECONDS = 45.0
"""A killed worker's jobs run again after a lease and a look at the expired ones: within a minute."""
ATTEMPTS_MAX = 8
"""Attempts, without the transient ones, after which a job is a dead letter."""
TRANSIENT_ATTEMPTS_MAX = 1000
"""More than a day of attempts five minutes apart at most."""
BACKOFF_BASE_SECONDS = 2.0
BACKOFF_MAX_SECONDS = 300.0
BACKOFF_MIN_SECONDS = 1.0
RETRY_AFTER_MAX_SECONDS = 60.0
"""A provider that asks for a day can be well in a minute, which only a call shows."""
ERROR_MAX = 500
"""Characters of an error that are kept."""
RACES_MAX = 3
REAPED_AT_ONCE = 100
DIED = "worker died"


class LeaseLost(Exception):  # noqa: N818 - not a fault: somebody else has the job, or it is gone
    """The job is no longer ours to finish; roll back what was done for it."""


@dataclass(frozen=True, slots=True)
class Claimed:
    """Work that is ours until the lease ends."""

    tenant: UUID
    id: UUID
    kind: str
    subject: str
    conversation_id: str | None
    args: dict[str, Any]
    attempts: int
    """This one included."""
    version: int
    token: UUID
    lane: Lane = "llm"
    transient_attempts: int = 0

    @property
    def counted(self) -> int:
        """Attempts that count towards a dead letter, including this one."""
        return self.attempts - self.transient_attempts


def backoff(attempts: int, random: float, retry_after: float | None = None) -> float:
    """Return the seconds to wait after a number of attempts: exponential with full jitter.

    ``random`` is from 0 to 1. The wait is at least what the provider asked for, which is capped at a minute.
    """
    ceiling = min(BACKOFF_MAX_SECONDS, BACKOFF_BASE_SECONDS * 2.0 ** min(max(attempts, 1) - 1, 30))
    delay = max(BACKOFF_MIN_SECONDS, random * ceiling)
    if retry_after is None:
        return delay
    return min(max(retry_after, 0.0), RETRY_AFTER_MAX_SECONDS) + delay


# --- Claiming ---------------------------------------------------------------------------------------

LANES = ", ".join(f"'{lane}'" for lane in get_args(Lane))
WAIT_MAX_SECONDS = RETRY_AFTER_MAX_SECONDS + BACKOFF_MAX_SECONDS
"""The longest wait that is ever set. What is due later was set by a clock that has been set back since."""

_SQL = SqlFile(__file__, lanes=LANES, wait_max_seconds=WAIT_MAX_SECONDS, reaped_at_once=REAPED_AT_ONCE)
BUSY, BUSY_ON_CITUS = _SQL.statement("busy"), _SQL.statement("busy_on_citus")
DUE, DUE_OF_TENANT = _SQL.statement("due", id="t.id"), _SQL.statement("due_of_tenant", id=":tenant::uuid")
ASTRAY, ASTRAY_OF_TENANT = _SQL.statement("astray", id="t.id"), _SQL.statement("astray_of_tenant", id=":tenant::uuid")
SOME, CLAIM = _SQL.statement("some"), _SQL.statement("claim")


async def busy(database: Database) -> list[UUID]:
    """Return the tenants with work, and another one if only one has: it must not fill a lane while others exist."""
    async with database.watching() as connection:
        rows = await connection.fetch(str(BUSY_ON_CITUS if database.is_sharded else BUSY))
        rows += await connection.fetch(str(SOME)) if len(rows) == 1 else []
    return sorted({row["id"] for row in rows})


async def due(database: Database, tenants: Sequence[UUID]) -> dict[str, set[UUID]]:
    """Return the tenants that can have claimable work, by lane."""
    found: dict[str, set[UUID]] = {}
    for row in await database.fetch_of_each(DUE, DUE_OF_TENANT, tenants):
        found.setdefault(row["lane"], set()).add(row["tenant"])
    return found


async def astray(database: Database, tenants: Sequence[UUID], lease_seconds: float = LEASE_SECONDS) -> list[UUID]:
    """Return the tenants with work for ``reap`` or ``bring_back``."""
    lease = timedelta(seconds=lease_seconds)
    found = await database.fetch_of_each(ASTRAY, ASTRAY_OF_TENANT, tenants, lease=lease)
    return [row["tenant"] for row in found]


BRING_BACK = f"""
UPDATE work SET due = now() + CASE WHEN token IS NULL THEN interval '0' ELSE $2::interval END
 WHERE tenant_id = $1 AND failed_at IS NULL
   AND due > now() + CASE WHEN token IS NULL THEN interval '{WAIT_MAX_SECONDS} seconds' ELSE $2::interval END
"""


async def bring_back(database: Database, tenant: UUID, lease_seconds: float = LEASE_SECONDS) -> int:
    """Make jobs due that lie further ahead than any wait, because the clock was set back. Return their number."""
    async with database.begin(tenant) as tx:
        return await tx.execute(BRING_BACK, timedelta(seconds=lease_seconds))


async def claim(
    database: Database,
    tenant: UUID,
    lane: Lane,
    kinds: Sequence[str],
    limit: int,
    *,
    lease_seconds: float = LEASE_SECONDS,
) -> list[Claimed]:
    """Claim up to ``limit`` jobs, each in its own transaction, because transactions holding several could deadlock."""
    got: list[Claimed] = []
    try:
        while len(got) < limit and (one := await _claim_one(database, tenant, lane, kinds, lease_seconds)):
            got.append(one)
    except StorageUnavailable:
        if not got:
            raise
    return got


async def _claim_one(
    database: Database, tenant: UUID, lane: Lane, kinds: Sequence[str], lease_seconds: float
) -> Claimed | None:
    for _ in range(RACES_MAX):
        try:
            rows = await database.fetch_ordered(
                CLAIM, str(tenant), lane=lane, kinds=list(kinds), token=uuid4(), lease=timedelta(seconds=lease_seconds)
            )
        except asyncpg.UniqueViolationError:
            continue  # another worker took the conversation; it is seen to be busy now
        return Claimed(tenant=tenant, **{**rows[0], "args": json.loads(rows[0]["args"])}) if rows else None
    return None


_HELD = "tenant_id = $1 AND kind = $2 AND subject = $3 AND token = $4"

# The lease is ours for longer.
BEAT = f"UPDATE work SET due = now() + $5::interval WHERE {_HELD}"


async def beat(database: Database, claimed: Claimed, *, lease_seconds: float = LEASE_SECONDS) -> bool:
    """Extend a lease. Return whether the job is still ours. One job at a time, so that no deadlock is possible."""
    async with database.begin(claimed.tenant) as tx:
        return bool(await tx.execute(BEAT, *_key(claimed), timedelta(seconds=lease_seconds)))


def _key(claimed: Claimed) -> tuple[object, ...]:
    return claimed.kind, claimed.subject, claimed.token


# --- Ending -----------------------------------------------------------------------------------------

DELETE = f"DELETE FROM work WHERE {_HELD} AND version = claimed"
# Keep what was enqueued while the job ran. A transaction that changed the row before must not use this: PostgreSQL
# would then check the conversation again and wait for it, while a transaction that erases the conversation waits for
# the row.
REARM = f"""
UPDATE work SET token = NULL, claimed = NULL, due = now(), created_at = now(), attempts = 0, excused = 0, error = NULL
 WHERE {_HELD}
"""


async def finish(tx: Tx, claimed: Claimed) -> None:
    """Finish a job, as the last statement of the transaction that writes its result. Raises LeaseLost."""
    if not await tx.execute(DELETE, *_key(claimed)):
        await requeue(tx, claimed)


async def requeue(tx: Tx, claimed: Claimed) -> None:
    """Requeue a job that did nothing or only part of its work, instead of finishing it. Raises LeaseLost."""
    if not await tx.execute(REARM, *_key(claimed)):
        raise LeaseLost


# The attempt has failed; the next one is due later.
FAIL = f"""
UPDATE work SET token = NULL, claimed = NULL, error = $5, due = now() + $6::interval, excused = excused + $7
 WHERE {_HELD}
"""
# A dead letter; but work that was enqueued meanwhile has its own attempts.
BURY = f"""
UPDATE work SET token = NULL, claimed = NULL, error = $5, due = now(),
                failed_at = CASE WHEN version = claimed THEN (SELECT now()) END,
                attempts = CASE WHEN version = claimed THEN attempts ELSE 0 END,
                excused = CASE WHEN version = claimed THEN excused ELSE 0 END
 WHERE {_HELD}
RETURNING failed_at IS NOT NULL AS dead
"""


async def fail(
    database: Database, claimed: Claimed, error: str, retry_in: float | None, *, is_transient: bool = False
) -> bool:
    """Retry a job in ``retry_in`` seconds, or never (None). ``error`` must contain no user content and no key.

    Return False if the job was no longer ours.
    """
    async with database.begin(claimed.tenant) as tx:
        if retry_in is None:
            row = await tx.fetchrow(BURY, *_key(claimed), _storable(error))
            if row is not None and row["dead"]:
                await _tell_of_death(tx, claimed.kind, claimed.id, claimed.conversation_id)
            return row is not None
        later = timedelta(seconds=retry_in)
        return bool(await tx.execute(FAIL, *_key(claimed), _storable(error), later, int(is_transient)))


async def _tell_of_death(tx: Tx, kind: str, id_: UUID, conversation_id: str | None) -> None:
    """Write the event that a job is dead, except for a delivery job, whose own event would never end."""
    if kind != WEBHOOK.name:
        dead = outbox.event("job.dead", job_id=str(id_), kind=kind, conversation_id=conversation_id)
        await outbox.tell(tx, dead)


# As if it had not been claimed; the error, if there is one, says why.
RELEASE = f"""
UPDATE work SET token = NULL, claimed = NULL, attempts = attempts - 1, due = now() + $5::interval,
                error = coalesce($6, error)
 WHERE {_HELD}
"""


async def release(database: Database, claimed: Claimed, *, error: str | None = None, after_seconds: float = 0) -> bool:
    """Give a job back without counting the attempt. Return False if it was no longer ours."""
    later = timedelta(seconds=after_seconds)
    async with database.begin(claimed.tenant) as tx:
        return bool(await tx.execute(RELEASE, *_key(claimed), later, error and _storable(error)))


def _storable(error: str) -> str:
    return replace_nul(error).encode("utf-8", "replace").decode()[:ERROR_MAX]


# --- Repairing ----------------------------------------------------------------------------------------

EXPIRED = _SQL.statement("expired")
# Waiting again after a delay; without one it is dead, as what took its worker down every time.
REAP = f"""
UPDATE work SET token = NULL, claimed = NULL, error = $5, due = now() + coalesce($6::interval, interval '0'),
                failed_at = CASE WHEN $6::interval IS NULL AND version = claimed THEN (SELECT now()) END,
                attempts = CASE WHEN $6::interval IS NULL AND version > claimed THEN 0 ELSE attempts END,
                excused = CASE WHEN $6::interval IS NULL AND version > claimed THEN 0 ELSE excused END
 WHERE {_HELD}
"""


async def reap(database: Database, tenant: UUID, random: Callable[[], float]) -> int:
    """Take back up to a hundred jobs of dead workers and return their number. Their attempts count."""
    async with database.begin(tenant) as tx:
        if rows := await tx.fetch(EXPIRED):
            reaped = [_reaped(tenant, row, random()) for row in rows]
            await tx.connection.executemany(REAP, reaped)
            for row, done in zip(rows, reaped, strict=True):
                if done[-1] is None and row["is_whole"]:
                    await _tell_of_death(tx, row["kind"], row["id"], row["conversation_id"])
    return len(rows)


def _reaped(tenant: UUID, row: Record, random: float) -> tuple[object, ...]:
    attempts = row["attempts"] - row["excused"]
    delay = None if attempts >= ATTEMPTS_MAX else timedelta(seconds=backoff(attempts, random))
    return tenant, row["kind"], row["subject"], row["token"], DIED, delay


# A person wants it tried again, at once.
_REVIVED = "failed_at = NULL, due = now(), created_at = now(), attempts = 0, excused = 0"
RETRY = f"UPDATE work SET {_REVIVED} WHERE tenant_id = $1 AND id = $2 AND failed_at IS NOT NULL"
RETRY_SOME = f"""
UPDATE work SET {_REVIVED} WHERE tenant_id = $1 AND id = ANY (ARRAY(
  SELECT id FROM work WHERE tenant_id = $1 AND failed_at IS NOT NULL ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED))
   AND failed_at IS NOT NULL
"""


async def retry(tx: Tx, job: UUID) -> ListedJob | None:
    """Revive a job if it is dead. Return it afterwards; None if it does not exist."""
    await revive(tx, job)
    row = await tx.fetchrow(FIND, job)
    return ListedJob(*row) if row is not None else None


async def revive(tx: Tx, job: UUID) -> int:
    """Revive a dead job; return 1, or 0 if it was not dead."""
    wake_at_commit(tx)
    return await tx.execute(RETRY, job)


async def retry_some(tx: Tx, limit: int) -> int:
    """Revive up to ``limit`` dead jobs and return their number."""
    wake_at_commit(tx)
    return await tx.execute(RETRY_SOME, limit)


# --- Inspecting ----------------------------------------------------------------------------------------

_JOB = """id, kind, lane, conversation_id, attempts, error, failed_at, created_at,
 CASE WHEN failed_at IS NOT NULL THEN 'dead' WHEN token IS NOT NULL THEN 'running' ELSE 'pending' END AS state"""


@dataclass(frozen=True, slots=True)
class ListedJob:
    id: UUID
    kind: str
    lane: str
    conversation_id: str | None
    attempts: int
    error: str | None
    failed_at: datetime | None
    created_at: datetime
    state: Literal["dead", "running", "pending"]


FIND = f"SELECT {_JOB} FROM work WHERE tenant_id = $1 AND id = $2"
ALL = f"SELECT {_JOB} FROM work WHERE tenant_id = $1 ORDER BY id LIMIT $2"
ALL_OF = f"SELECT {_JOB} FROM work WHERE tenant_id = $1 AND conversation_id = $2 ORDER BY id LIMIT $3"
DEAD = f"""
SELECT {_JOB} FROM work WHERE tenant_id = $1 AND failed_at IS NOT NULL AND id > $2 ORDER BY id LIMIT $3
"""


async def dead_letters(tx: ReadTx, after: UUID | None, limit: int) -> list[ListedJob]:
    """List dead jobs in order of their first enqueueing."""
    return [ListedJob(*row) for row in await tx.fetch(DEAD, after or UUID(int=0), limit)]


async def browse(tx: ReadTx, conversation_id: str | None, limit: int) -> list[ListedJob]:
    """List jobs in every state, of one conversation or all, in order of their first enqueueing."""
    rows = await (tx.fetch(ALL, limit) if conversation_id is None else tx.fetch(ALL_OF, conversation_id, limit))
    return [ListedJob(*row) for row in rows]
