"""The depth of the queue: how much work waits, runs or is dead, and whether any worker takes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from app.postgres.database import PLANNED_ANEW as _PLANNED_ANEW
from app.postgres.database import Database
from app.postgres.transactions import ReadTx
from app.queue.enqueue import INDEXING
from app.queue.table import LANES

COUNTED_MAX = 100_000
"""Rows of a state that are counted at most."""
UNCLAIMED_SECONDS = 60.0
"""Work unclaimed for this long although claimable: there are too few workers, or none."""


@dataclass(frozen=True, slots=True)
class Depth:
    """The amount of work; each number stops counting at ``COUNTED_MAX``."""

    pending: int = 0
    running: int = 0
    dead: int = 0
    oldest_pending_seconds: float | None = None
    """Age of the oldest pending work that is due."""
    unclaimed: int = 0
    """Work that could have been claimed for longer than a minute."""
    error: str | None = None
    """The error of the longest-waiting work's latest attempt, if it failed."""


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


async def by_lane(tx: ReadTx) -> dict[str, Depth]:
    """Return the depth of each lane; lanes without work are left out."""
    by_lane: dict[str, dict[str, Any]] = {}
    for row in await tx.fetch(DEPTH):
        of_lane = by_lane.setdefault(row["lane"], {})
        of_lane[row["state"]] = row["jobs"]
        if row["state"] == "pending":
            of_lane |= {"oldest_pending_seconds": row["age"], "unclaimed": row["unclaimed"], "error": row["error"]}
    return {lane: Depth(**values) for lane, values in by_lane.items()}


# The same of one conversation.
DEPTH_OF = f"""
SELECT count(*) FILTER (WHERE failed_at IS NULL AND token IS NULL) AS pending,
       count(*) FILTER (WHERE token IS NOT NULL) AS running,
       count(*) FILTER (WHERE failed_at IS NOT NULL) AS dead,
       max(CASE WHEN failed_at IS NULL AND token IS NULL THEN extract(epoch FROM now() - created_at) END)::float8
         AS oldest_pending_seconds,
       count(*) FILTER (WHERE kind IN ({INDEXING})) AS unindexed
  FROM work WHERE tenant_id = $1 AND conversation_id = $2
"""


async def of_conversation(tx: ReadTx, conversation_id: str) -> tuple[Depth, int]:
    """Return the depth of a conversation, and how many of its closed pages and long texts are not indexed yet."""
    row = await tx.fetchrow(DEPTH_OF, conversation_id)
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
    """Return the lanes with work that has been claimable for over a minute, each with the latest error."""
    return {row["lane"]: row["error"] for row in await database.fetch_ordered(NEGLECTED, str(tenant))}


# Jobs whose lease ended a while ago: a worker that looked for them would have taken them back.
ABANDONED = f"""
SELECT count(*) FROM (SELECT FROM work
  WHERE tenant_id = $1 AND token IS NOT NULL AND due < now() - interval '{UNCLAIMED_SECONDS} seconds'
  LIMIT {COUNTED_MAX}) w
"""


async def abandoned(tx: ReadTx) -> int:
    count: int = await tx.fetchval(ABANDONED)
    return count
