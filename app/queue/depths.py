"""The depth of the queue: how much work waits, runs or is dead, and whether any worker takes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from app.postgres.database import Database
from app.postgres.statements import SqlFile
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


_SQL = SqlFile(__file__, counted_max=COUNTED_MAX, unclaimed_seconds=UNCLAIMED_SECONDS, lanes=LANES)
DEPTH = _SQL.statement("depth")
NEGLECTED = _SQL.statement("neglected")


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
