"""What background work has made of a conversation so far, and how many conversations there are."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from asyncpg import Record

from app.db import Connection

COUNTED_MAX = 10_000

# How many conversations there are, no further than is worth counting.
COUNT = f"SELECT count(*) FROM (SELECT FROM conversations WHERE tenant_id = $1 LIMIT {COUNTED_MAX + 1}) c"


async def count_conversations(connection: Connection, tenant: UUID) -> int:
    """Up to ``COUNTED_MAX``; one more stands for any larger number."""
    return int(await connection.fetchval(COUNT, tenant))


# The newest versions of the rolling summary.
SUMMARIES = """
SELECT version, through_seq, tokens, model, text, created_at FROM summaries
 WHERE tenant_id = $1 AND conversation_id = $2 ORDER BY version DESC LIMIT $3
"""
# The topics that were mentioned last, each with its mentions so far.
TOPICS = """
SELECT topic, max(count) AS mentions, max(page) AS last_page
  FROM (SELECT topic, count, page FROM topic_mentions
         WHERE tenant_id = $1 AND conversation_id = $2 ORDER BY page DESC LIMIT 200) m
 GROUP BY topic ORDER BY mentions DESC, last_page DESC, topic LIMIT $3
"""
# How far pages are indexed and the summary reaches.
REACH = "SELECT indexed_through, summary_through FROM conversations WHERE tenant_id = $1 AND id = $2"


async def summaries(connection: Connection, tenant: UUID, conversation_id: str, limit: int) -> Sequence[Record]:
    return await connection.fetch(SUMMARIES, tenant, conversation_id, limit)


async def topics(connection: Connection, tenant: UUID, conversation_id: str, limit: int) -> Sequence[Record]:
    return await connection.fetch(TOPICS, tenant, conversation_id, limit)


async def reach(connection: Connection, tenant: UUID, conversation_id: str) -> Record | None:
    return await connection.fetchrow(REACH, tenant, conversation_id)
