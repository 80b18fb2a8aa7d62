"""The depth of the queue: how much work waits, runs or is dead, and whether workers take it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
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

    def __add__(self, other: Depth) -> Depth:
        ages = [one.oldest_pending_seconds for one in (self, other) if one.oldest_pending_seconds is not None]
        return Depth(
            self.pending + other.pending,
            self.running + other.running,
            self.dead + other.dead,
            max(ages, default=None),
            self.unclaimed + other.unclaimed,
            self.error or other.error,
        )


_SQL = SqlFile(__file__, counted_max=COUNTED_MAX, unclaimed_seconds=UNCLAIMED_SECONDS, lanes=LANES, indexing=INDEXING)
DEPTH = _SQL.statement("depth", id=":tenant::uuid")
DEPTH_OF_EACH = _SQL.statement("depth_of_each", id="t.id")
NEGLECTED = _SQL.statement("neglected", id=":tenant::uuid")
DEPTH_OF, ABANDONED = _SQL.statement("depth_of_conversation"), _SQL.statement("abandoned")
NEGLECTED_OF_EACH = _SQL.statement("neglected_of_each", id="t.id")


async def by_lane(database: Database, tenants: Sequence[UUID]) -> dict[str, Depth]:
    """Return the depth of each lane with work, summed over some tenants."""
    lanes: dict[str, Depth] = {}
    for row in await database.fetch_of_each(DEPTH_OF_EACH, DEPTH, tenants):
        depth = Depth(**{row["state"]: row["jobs"]}, unclaimed=row["unclaimed"], error=row["error"])
        lanes[row["lane"]] = lanes.get(row["lane"], Depth()) + replace(depth, oldest_pending_seconds=row["age"])
    return lanes


async def of_conversation(tx: ReadTx, conversation_id: str) -> tuple[Depth, int]:
    """Return the depth of a conversation's work, and the number of its closed pages and long texts without an index."""
    row = await tx.fetchrow(DEPTH_OF, conversation=conversation_id)
    assert row is not None
    values = dict(row)
    unindexed: int = values.pop("unindexed")
    return Depth(**values), unindexed


async def neglected(database: Database, tenants: Sequence[UUID]) -> dict[str, str | None]:
    """Return the lanes with work that has been claimable for over a minute, each with a latest error."""
    rows = await database.fetch_of_each(NEGLECTED_OF_EACH, NEGLECTED, tenants)
    return {row["lane"]: row["error"] for row in rows}


async def abandoned(database: Database) -> int:
    async with database.watching() as connection:
        return int(await connection.fetchval(str(ABANDONED)))
