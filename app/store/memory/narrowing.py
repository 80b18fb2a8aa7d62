"""The memories that a search is narrowed to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import UUID

from app.core.neutral import replace_nul
from app.core.search.narrowing import Narrowing
from app.postgres.transactions import ReadTx
from app.text.language import scalar


def jsonb(column: str) -> str:
    """Return the expression of metadata as jsonb, which cannot hold the NUL that its text can."""
    return f"replace({column}, '\\u0000', '\\ufffd')::jsonb"


# The memories of owners that pass. Topics match in any letter case. The metadata of a memory is that of its whole.
AMONG = f"""
SELECT m.id FROM memories m
  LEFT JOIN messages s ON s.tenant_id = $1 AND s.conversation_id = m.conversation_id AND s.seq = m.seq
  LEFT JOIN memories w ON w.tenant_id = $1 AND w.id = m.part_of
  LEFT JOIN conversations c ON c.tenant_id = $1 AND c.id = m.conversation_id
 WHERE m.tenant_id = $1 AND m.owner = ANY ($2::uuid[])
   AND (cardinality($3::text[]) = 0 OR CASE WHEN m.archive_id IS NOT NULL OR s.kind = 'result' THEN 'tool'
                                            WHEN m.type = 'episode' THEN s.role END = ANY ($3))
   AND (cardinality($4::text[]) = 0
        OR EXISTS (SELECT FROM unnest(m.keywords) AS k (topic) WHERE lower(k.topic) = ANY ($4))
        OR EXISTS (SELECT FROM page_index i, unnest(i.topics) AS t (topic)
                    WHERE i.tenant_id = $1 AND i.conversation_id = m.conversation_id AND i.page = m.page
                      AND lower(t.topic) = ANY ($4)))
   AND ($5::text = '{{}}'
        OR {jsonb("coalesce(w.metadata, m.metadata)")} @> $5::jsonb OR {jsonb("c.metadata")} @> $5::jsonb)
   AND (cardinality($6::text[]) = 0 OR m.type = ANY ($6))
"""


async def among(tx: ReadTx, owners: Sequence[UUID], narrowing: Narrowing) -> list[UUID] | None:
    """Return the memories that pass; None if all do."""
    if not narrowing:
        return None
    topics = comparable(narrowing.topics)
    rows = await tx.fetch(AMONG, owners, narrowing.roles, topics, narrowing.metadata, narrowing.types)
    return [row["id"] for row in rows]


def comparable(topics: Iterable[str]) -> list[str]:
    """Return topics, as models write them, for a comparison in any letter case."""
    return [replace_nul(scalar(topic)).lower() for topic in topics]
