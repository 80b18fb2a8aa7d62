"""Count what search and contents pages do not cover yet, up to a bound, because this happens often."""

from __future__ import annotations

from uuid import UUID

from app.postgres.transactions import ReadTx
from app.queue.enqueue import INDEXING

UNINDEXED_MAX = 10_000
"""The bound of each count."""

# Closed pages and long texts whose indexing is not done, and memories without a vector.
UNINDEXED = f"""
SELECT (SELECT count(*) FROM (
          SELECT FROM work WHERE tenant_id = $1 AND kind IN ({INDEXING}) LIMIT {UNINDEXED_MAX}) w) AS pages,
       (SELECT count(*) FROM (SELECT FROM unembedded WHERE tenant_id = $1 LIMIT {UNINDEXED_MAX}) u) AS memories
"""


async def count(tx: ReadTx) -> tuple[int, bool]:
    row = await tx.fetchrow(UNINDEXED)
    assert row is not None
    return row["pages"] + row["memories"], UNINDEXED_MAX in (row["pages"], row["memories"])


# A conversation's memories without a vector, among the first of its owner's.
WITHOUT_VECTOR = f"""
SELECT count(*) FROM (SELECT memory_id FROM unembedded WHERE tenant_id = $1 AND owner = $2 LIMIT {UNINDEXED_MAX}) u,
  LATERAL (SELECT conversation_id FROM memories
            WHERE tenant_id = $1 AND id = u.memory_id OFFSET 0) m -- each by itself, never by another scan
 WHERE m.conversation_id = $3
"""


async def without_vector(tx: ReadTx, owner: UUID, conversation_id: str) -> int:
    return int(await tx.fetchval(WITHOUT_VECTOR, owner, conversation_id))
