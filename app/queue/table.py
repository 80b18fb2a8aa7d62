"""The work table: what is to be done in the background, who is doing it, and what became of it.

A row is in one of three states.

    enqueue ──► waiting ──claim──► running ──finish──► gone; or waiting again, if it was enqueued meanwhile
                 ▲ ▲ ▲               │ │ │
                 │ │ └─fail, release─┘ │ └─fail for good──► dead ──retry, enqueue──► waiting
                 │ └──────reap─────────┘

* **waiting**: ``token`` and ``failed_at`` are null. It may be claimed from ``due`` on, while no other work of its
  conversation runs in its lane.
* **running**: ``token`` names the lease, ``due`` is the lease's end and ``claimed`` the version that is worked on.
* **dead**: ``failed_at`` is set. Nobody tries it again until a person says so, or until it is enqueued again.

``version`` counts enqueueings. Whoever finishes compares it with the version that was claimed: what arrived while
the job ran makes the row wait again, so no wake-up is lost. An attempt is counted when it begins, so a worker that
dies has made one. Attempts that failed for a passing reason, such as a provider that is away, are transient
(``excused`` in the table): they do not lead to a dead letter early.

``finish`` belongs into the transaction that writes the result, as its last statement: either both happen or
neither. It raises LeaseLost when the row is no longer ours (the lease ended and was reaped, or the conversation
was erased), which rolls the result back. It deletes the row on the condition that no version came since the claim.
In READ COMMITTED that condition is looked at again once the row's lock is had, on the row as it is then: a DELETE
keeps work that came while it waited. (A version read before, even by the same statement, would be that of before.)

Two workers may find different rows of one conversation claimable at the same moment. The unique index
``work_running_key`` lets one of them have it; the other looks again.

Why no library: the two that were tried left conversations behind after kills (their deduplication drops what comes
while a job runs, or a retry collides with its queued twin), and none can enqueue within the append's statement.

Every statement names the tenant; a tenant's work is claimed in a transaction of its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, get_args
from uuid import UUID, uuid4

import asyncpg
from asyncpg import Record

from app.core.nul import replace_nul
from app.errors import StorageUnavailable
from app.postgres.database import PLANNED_ANEW as _PLANNED_ANEW
from app.postgres.database import Connection, Database
from app.queue.enqueue import Lane

LEASE_SECONDS = 45.0
"""A killed worker's jobs run again after a lease and a look at the expired ones: within a minute."""
ATTEMPTS_MAX = 8
"""Attempts, without the transient ones, after which a job is a dead letter."""
TRANSIENT_ATTEMPTS_MAX = 1000
"""More than a day of attempts five minutes apart at most."""
BACKOFF_BASE_SECONDS = 2.0
BACKOFF_MAX_SECONDS = 300.0
BACKOFF_MIN_SECONDS = 1.0
RETRY_AFTER_MAX_SECONDS = 3600.0
ERROR_MAX = 500
"""Characters of an error that are kept."""
COUNTED_MAX = 100_000
"""Rows of a state that are counted at most."""
UNCLAIMED_SECONDS = 60.0
"""Work that nobody claimed for so long although it could be: too few workers, or none."""
RACES_MAX = 3
REAPED_AT_ONCE = 100
DIED = "worker died"


class LeaseLost(Exception):  # noqa: N818 - not a fault: somebody else has the job, or it is gone
    """The work is no longer ours to finish; what was done for it must not be kept."""


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
        """Attempts that count towards a dead letter, this one included."""
        return self.attempts - self.transient_attempts


def backoff(attempts: int, random: float, retry_after: float | None = None) -> float:
    """Seconds to wait after so many attempts: exponential with full jitter.

    ``random`` is from 0 to 1. What the provider asked for is waited for at least, but no longer than an hour.
    """
    ceiling = min(BACKOFF_MAX_SECONDS, BACKOFF_BASE_SECONDS * 2.0 ** min(max(attempts, 1) - 1, 30))
    delay = max(BACKOFF_MIN_SECONDS, random * ceiling)
    if retry_after is None:
        return delay
    return min(max(retry_after, 0.0), RETRY_AFTER_MAX_SECONDS) + delay


# --- Claiming ---------------------------------------------------------------------------------------

LANES = ", ".join(f"'{lane}'" for lane in get_args(Lane))

# Lanes in which something is due. Like all that is `ordered` it sets the tenant itself.
DUE = f"""
SELECT l.lane FROM unnest(ARRAY[{LANES}]) AS l (lane), LATERAL (
  SELECT FROM work w
   WHERE w.tenant_id = $1::uuid AND w.lane = l.lane AND w.failed_at IS NULL AND w.token IS NULL AND w.due <= now()
   ORDER BY w.due LIMIT 1) w
 LIMIT length(set_config('app.tenant', $1::text, true)) / 4
"""


async def due(database: Database, tenant: UUID) -> set[str]:
    """Lanes in which there may be something to claim."""
    return {row["lane"] for row in await database.fetch_ordered(DUE, str(tenant))}


# A lease on the work that is due longest, of a conversation with nothing running in the lane. It is `ordered`, and
# written so that there is one plan for each part whatever is known of the table: what runs in the lane is read in the
# order of work_running_key, what is due in that of work_due_idx, and the row is found by its place.
CLAIM = """
WITH found AS MATERIALIZED (
  SELECT w.ctid AS place FROM work w
   WHERE w.tenant_id = $1::uuid AND w.lane = $2 AND w.kind = ANY ($3::text[])
     AND w.failed_at IS NULL AND w.token IS NULL AND w.due <= now()
     AND (w.conversation_id IS NULL OR w.conversation_id <> ALL (ARRAY(
       SELECT r.conversation_id FROM work r
        WHERE r.tenant_id = $1::uuid AND r.lane BETWEEN $2 AND $2
          AND r.conversation_id IS NOT NULL AND r.token IS NOT NULL
        ORDER BY r.lane, r.conversation_id)))
   ORDER BY w.due LIMIT 1 FOR UPDATE OF w SKIP LOCKED
), taken AS (
  UPDATE work w SET claimed = w.version, token = $4, due = now() + $5::interval, attempts = w.attempts + 1
    FROM found WHERE w.tenant_id = $1::uuid AND w.ctid = found.place
  RETURNING w.id, w.kind, w.subject, w.conversation_id, w.args, w.attempts, w.version, w.token, w.lane,
         w.excused AS transient_attempts
)
SELECT * FROM taken LIMIT length(set_config('app.tenant', $1::text, true)) / 36
"""


async def claim(
    database: Database,
    tenant: UUID,
    lane: Lane,
    kinds: Sequence[str],
    limit: int,
    *,
    lease_seconds: float = LEASE_SECONDS,
) -> list[Claimed]:
    """Up to ``limit`` jobs. Each in a transaction of its own: one that held several could meet another crosswise."""
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
                CLAIM, str(tenant), lane, list(kinds), uuid4(), timedelta(seconds=lease_seconds)
            )
        except asyncpg.UniqueViolationError:
            continue  # another worker took the conversation; it is seen to be busy now
        return Claimed(tenant=tenant, **{**rows[0], "args": json.loads(rows[0]["args"])}) if rows else None
    return None


_HELD = f"tenant_id = $1 AND kind = $2 AND subject = $3 AND token = $4 AND {_PLANNED_ANEW}"

# The lease is ours for longer.
BEAT = f"UPDATE work SET due = now() + $5::interval WHERE {_HELD}"


async def beat(database: Database, claimed: Claimed, *, lease_seconds: float = LEASE_SECONDS) -> bool:
    """Whether the job is still ours. One job at a time: holding one row, it can be in no deadlock."""
    async with database.begin(claimed.tenant) as connection:
        done = await connection.execute(BEAT, *_key(claimed), timedelta(seconds=lease_seconds))
    return _changed(done)


def _key(claimed: Claimed) -> tuple[object, ...]:
    return claimed.tenant, claimed.kind, claimed.subject, claimed.token


def _changed(command: str) -> bool:
    return not command.endswith(" 0")


# --- Ending -----------------------------------------------------------------------------------------

DELETE = f"DELETE FROM work WHERE {_HELD} AND version = claimed"
# What was enqueued while it ran is to be done. A transaction that changed the row before must not use this: PostgreSQL
# would then look at the conversation again, and wait for it, while whoever erases the conversation waits for the row.
REARM = f"""
UPDATE work SET token = NULL, claimed = NULL, due = now(), created_at = now(), attempts = 0, excused = 0, error = NULL
 WHERE {_HELD}
"""


async def finish(connection: Connection, claimed: Claimed) -> None:
    """The last statement of the transaction that writes the result. Raises LeaseLost."""
    if _changed(await connection.execute(DELETE, *_key(claimed))):
        return
    await requeue(connection, claimed)


async def requeue(connection: Connection, claimed: Claimed) -> None:
    """In place of ``finish``: what was done has come to nothing, or only to a part of it. Raises LeaseLost."""
    if not _changed(await connection.execute(REARM, *_key(claimed))):
        raise LeaseLost


# The attempt has failed; the next one is due later.
FAIL = f"""
UPDATE work SET token = NULL, claimed = NULL, error = $5, due = now() + $6::interval, excused = excused + $7
 WHERE {_HELD}
"""
# A dead letter; but what was enqueued meanwhile has its own attempts.
BURY = f"""
UPDATE work SET token = NULL, claimed = NULL, error = $5, due = now(),
                failed_at = CASE WHEN version = claimed THEN now() END,
                attempts = CASE WHEN version = claimed THEN attempts ELSE 0 END,
                excused = CASE WHEN version = claimed THEN excused ELSE 0 END
 WHERE {_HELD}
"""


async def fail(
    database: Database, claimed: Claimed, error: str, retry_in: float | None, *, is_transient: bool = False
) -> bool:
    """Try again in ``retry_in`` seconds, or never (None). ``error`` must hold nothing that somebody said, nor a key.

    False if the job was no longer ours.
    """
    async with database.begin(claimed.tenant) as connection:
        if retry_in is None:
            return _changed(await connection.execute(BURY, *_key(claimed), _storable(error)))
        later = timedelta(seconds=retry_in)
        return _changed(await connection.execute(FAIL, *_key(claimed), _storable(error), later, int(is_transient)))


# As if it had not been claimed; the error, if there is one, says why.
RELEASE = f"""
UPDATE work SET token = NULL, claimed = NULL, attempts = attempts - 1, due = now() + $5::interval,
                error = coalesce($6, error)
 WHERE {_HELD}
"""


async def release(database: Database, claimed: Claimed, *, error: str | None = None, after_seconds: float = 0) -> bool:
    """Give the job back without burning the attempt. False if it was no longer ours."""
    later = timedelta(seconds=after_seconds)
    async with database.begin(claimed.tenant) as connection:
        return _changed(await connection.execute(RELEASE, *_key(claimed), later, error and _storable(error)))


def _storable(error: str) -> str:
    return replace_nul(error).encode("utf-8", "replace").decode()[:ERROR_MAX]


# --- Mending ----------------------------------------------------------------------------------------

# Work whose worker was not heard of until the lease ended.
EXPIRED = f"""
SELECT kind, subject, token, attempts, excused FROM work
 WHERE tenant_id = $1 AND token IS NOT NULL AND due <= now() AND {_PLANNED_ANEW}
 ORDER BY due LIMIT {REAPED_AT_ONCE} FOR UPDATE SKIP LOCKED
"""
# Waiting again after a delay; without one it is dead, as what took its worker down every time.
REAP = f"""
UPDATE work SET token = NULL, claimed = NULL, error = $5, due = now() + coalesce($6::interval, interval '0'),
                failed_at = CASE WHEN $6::interval IS NULL AND version = claimed THEN now() END,
                attempts = CASE WHEN $6::interval IS NULL AND version > claimed THEN 0 ELSE attempts END,
                excused = CASE WHEN $6::interval IS NULL AND version > claimed THEN 0 ELSE excused END
 WHERE {_HELD}
"""


async def reap(database: Database, tenant: UUID, random: Callable[[], float]) -> int:
    """Take back what dead workers left, a hundred jobs at once; how many. Their attempts count."""
    async with database.begin(tenant) as connection:
        if rows := await connection.fetch(EXPIRED, tenant):
            await connection.executemany(REAP, [_reaped(tenant, row, random()) for row in rows])
    return len(rows)


def _reaped(tenant: UUID, row: Record, random: float) -> tuple[object, ...]:
    delay = _delay_after_death(row["attempts"] - row["excused"], random)
    return tenant, row["kind"], row["subject"], row["token"], DIED, delay


def _delay_after_death(attempts: int, random: float) -> timedelta | None:
    return None if attempts >= ATTEMPTS_MAX else timedelta(seconds=backoff(attempts, random))


# A person wants it tried again, at once.
_REVIVED = "failed_at = NULL, due = now(), created_at = now(), attempts = 0, excused = 0"
RETRY = f"UPDATE work SET {_REVIVED} WHERE tenant_id = $1 AND id = $2 AND failed_at IS NOT NULL"
RETRY_SOME = f"""
UPDATE work SET {_REVIVED} WHERE tenant_id = $1 AND id = ANY (ARRAY(
  SELECT id FROM work WHERE tenant_id = $1 AND failed_at IS NOT NULL ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED))
   AND failed_at IS NOT NULL
"""


async def retry(connection: Connection, tenant: UUID, job: UUID) -> Record | None:
    """Bring a dead letter back; what is not dead stays as it is. The job as it is then, None if there is none."""
    await revive(connection, tenant, job)
    return await connection.fetchrow(FIND, tenant, job)


async def revive(connection: Connection, tenant: UUID, job: UUID) -> int:
    """One if it was dead, else none."""
    return int(_changed(await connection.execute(RETRY, tenant, job)))


async def retry_some(connection: Connection, tenant: UUID, limit: int) -> int:
    """Bring up to so many dead letters back; how many."""
    done = await connection.execute(RETRY_SOME, tenant, limit)
    return int(done.rsplit(" ", 1)[-1])


# --- Looking ----------------------------------------------------------------------------------------

_JOB = """id, kind, lane, conversation_id, attempts, error, failed_at, created_at,
 CASE WHEN failed_at IS NOT NULL THEN 'dead' WHEN token IS NOT NULL THEN 'running' ELSE 'pending' END AS state"""

FIND = f"SELECT {_JOB} FROM work WHERE tenant_id = $1 AND id = $2"
ALL = f"SELECT {_JOB} FROM work WHERE tenant_id = $1 ORDER BY id LIMIT $2"
ALL_OF = f"SELECT {_JOB} FROM work WHERE tenant_id = $1 AND conversation_id = $2 ORDER BY id LIMIT $3"
DEAD = f"""
SELECT {_JOB} FROM work WHERE tenant_id = $1 AND failed_at IS NOT NULL AND id > $2 ORDER BY id LIMIT $3
"""


async def dead_letters(connection: Connection, tenant: UUID, after: UUID | None, limit: int) -> Sequence[Record]:
    """In the order in which they were first enqueued."""
    return await connection.fetch(DEAD, tenant, after or UUID(int=0), limit)


async def browse(connection: Connection, tenant: UUID, conversation_id: str | None, limit: int) -> Sequence[Record]:
    """Jobs in every state, of a conversation or of all, in the order in which they were first enqueued."""
    if conversation_id is None:
        return await connection.fetch(ALL, tenant, limit)
    return await connection.fetch(ALL_OF, tenant, conversation_id, limit)


@dataclass(frozen=True, slots=True)
class Depth:
    """How much work there is; each number stops counting at ``COUNTED_MAX``."""

    pending: int = 0
    running: int = 0
    dead: int = 0
    oldest_pending_seconds: float | None = None
    """Since when the oldest of the pending work has been wanted."""
    unclaimed: int = 0
    """Work that could have been claimed for longer than a minute."""
    error: str | None = None
    """What the latest attempt at the work that waits longest came to, where it failed."""


# Work by lane and state. Of a conversation's rows, those whose conversation is busy in the lane wait rightly.
DEPTH = f"""
SELECT lane, 'pending' AS state, count(*) AS jobs, max(extract(epoch FROM now() - created_at))::float8 AS age,
       count(*) FILTER (WHERE due < now() - interval '{UNCLAIMED_SECONDS} seconds' AND NOT EXISTS (
         SELECT FROM work r WHERE r.tenant_id = $1 AND r.lane = w.lane AND r.conversation_id = w.conversation_id
                              AND r.token IS NOT NULL)) AS unclaimed,
       (array_agg(error ORDER BY created_at) FILTER (WHERE error IS NOT NULL))[1] AS error
  FROM (SELECT lane, due, created_at, conversation_id, error FROM work
         WHERE tenant_id = $1 AND failed_at IS NULL AND token IS NULL AND {_PLANNED_ANEW}
         LIMIT {COUNTED_MAX}) w
 GROUP BY lane
UNION ALL
SELECT lane, 'running', count(*), NULL, 0, NULL FROM work WHERE tenant_id = $1 AND token IS NOT NULL GROUP BY lane
UNION ALL
SELECT lane, 'dead', count(*), NULL, 0, NULL
  FROM (SELECT lane FROM work WHERE tenant_id = $1 AND failed_at IS NOT NULL LIMIT {COUNTED_MAX}) d
 GROUP BY lane
"""


async def depth(connection: Connection, tenant: UUID) -> dict[str, Depth]:
    """By lane; lanes without work are left out."""
    found: dict[str, dict[str, Any]] = {}
    for row in await connection.fetch(DEPTH, tenant):
        of_lane = found.setdefault(row["lane"], {})
        of_lane[row["state"]] = row["jobs"]
        if row["state"] == "pending":
            of_lane |= {"oldest_pending_seconds": row["age"], "unclaimed": row["unclaimed"], "error": row["error"]}
    return {lane: Depth(**values) for lane, values in found.items()}


# The same of one conversation.
DEPTH_OF = """
SELECT count(*) FILTER (WHERE failed_at IS NULL AND token IS NULL) AS pending,
       count(*) FILTER (WHERE token IS NOT NULL) AS running,
       count(*) FILTER (WHERE failed_at IS NOT NULL) AS dead,
       max(CASE WHEN failed_at IS NULL AND token IS NULL THEN extract(epoch FROM now() - created_at) END)::float8
         AS oldest_pending_seconds,
       count(*) FILTER (WHERE kind IN ('page', 'passages')) AS unindexed
  FROM work WHERE tenant_id = $1 AND conversation_id = $2
"""


async def depth_of(connection: Connection, tenant: UUID, conversation_id: str) -> tuple[Depth, int]:
    """Of a conversation, and how many of its closed pages and long texts are not indexed yet."""
    row = await connection.fetchrow(DEPTH_OF, tenant, conversation_id)
    assert row is not None
    values = dict(row)
    unindexed: int = values.pop("unindexed")
    return Depth(**values), unindexed


# Lanes with work that could have been claimed a minute ago. It is `ordered`, so that it can be asked often.
NEGLECTED = f"""
SELECT l.lane, w.error FROM unnest(ARRAY[{LANES}]) AS l (lane), LATERAL (
  SELECT w.error FROM work w
   WHERE w.tenant_id = $1::uuid AND w.lane = l.lane AND w.failed_at IS NULL AND w.token IS NULL
     AND w.due < now() - interval '{UNCLAIMED_SECONDS} seconds'
     AND (w.conversation_id IS NULL OR w.conversation_id <> ALL (ARRAY(
       SELECT r.conversation_id FROM work r
        WHERE r.tenant_id = $1::uuid AND r.lane BETWEEN l.lane AND l.lane
          AND r.conversation_id IS NOT NULL AND r.token IS NOT NULL
        ORDER BY r.lane, r.conversation_id)))
   ORDER BY w.due LIMIT 1) w
 LIMIT length(set_config('app.tenant', $1::text, true)) / 4
"""


async def neglected(database: Database, tenant: UUID) -> dict[str, str | None]:
    """Lanes in which something could have been claimed for longer than a minute, with what it last failed on."""
    return {row["lane"]: row["error"] for row in await database.fetch_ordered(NEGLECTED, str(tenant))}


# Jobs whose lease ended a while ago: a worker that looked for them would have taken them back.
ABANDONED = f"""
SELECT count(*) FROM (SELECT FROM work
  WHERE tenant_id = $1 AND token IS NOT NULL AND due < now() - interval '{UNCLAIMED_SECONDS} seconds'
  LIMIT {COUNTED_MAX}) w
"""


async def abandoned(connection: Connection, tenant: UUID) -> int:
    found: int = await connection.fetchval(ABANDONED, tenant)
    return found
