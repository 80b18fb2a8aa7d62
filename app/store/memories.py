"""Memories: whatever search can find."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import NAMESPACE_URL, UUID, uuid5

from app import bm25
from app.db import Connection

NEIGHBOUR = 0.35
"""The part of its neighbours' scores that a turn earns besides its own."""


def owner_of(scope: str) -> UUID:
    """The scope as an index key of fixed size."""
    return uuid5(NAMESPACE_URL, f"quire:{scope}")


def first_id(time: datetime) -> UUID:
    """The smallest UUIDv7 of a moment."""
    return UUID(int=int(time.timestamp() * 1000) << 80)


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that matched; ``score`` is BM25's, with the neighbours' part."""

    id: UUID
    type: str
    conversation_id: str | None
    seq: int | None
    page: int | None
    archive_id: UUID | None
    start: int
    length: int
    score: float
    created_at: datetime


SCORE_HALF = 6.0


def relevance(score: float) -> float:
    """A BM25 score on a scale from 0 to 1: a half at SCORE_HALF, about what one rare word in common is worth."""
    return score / (score + SCORE_HALF)


# BM25 over one owner's rows. A term's idf is worked out over the owner's newest thousand rows. A message scores as
# its best passage does, and earns a part of its neighbours' scores; passages of archives stand alone.
SEARCH = f"""
WITH terms AS MATERIALIZED (
  SELECT term, format('{{%s:1}}/1000000000', term)::sparsevec AS one FROM unnest($3::int[]) AS t (term)
), recent AS MATERIALIZED (
  SELECT terms FROM memories WHERE tenant_id = $1 AND owner = $2 ORDER BY id DESC LIMIT 1000
), idf AS (
  SELECT t.term, count(r.terms) AS df, (SELECT count(*) FROM recent) AS n
    FROM terms t LEFT JOIN recent r ON (r.terms <#> t.one) < 0 GROUP BY t.term
), query AS MATERIALIZED (
  SELECT format('{{%s}}/1000000000', string_agg(
           format('%s:%s', term, ln(1 + (n - df + 0.5) / (df + 0.5))), ',' ORDER BY term))::sparsevec AS v FROM idf
), scored AS MATERIALIZED (
  SELECT m.id, m.type, m.conversation_uid, m.seq, m.page, m.archive_id, m.start, m.length,
         -(m.terms <#> query.v) AS score
    FROM memories m, query
   WHERE m.tenant_id = $1 AND m.owner = $2 AND (m.terms <#> query.v) < 0
     AND ($4::uuid IS NULL OR m.conversation_uid = $4)
     AND ($5::text[] IS NULL OR m.type = ANY ($5))
     AND ($6::uuid IS NULL OR m.archive_id = $6)
     AND ($8::text IS NULL OR (m.terms <#> $8::text::sparsevec) < 0)
     AND ($9::uuid IS NULL OR m.id >= $9)
), turns AS (
  SELECT DISTINCT ON (conversation_uid, seq) * FROM scored WHERE type = 'episode'
   ORDER BY conversation_uid, seq, score DESC
), lifted AS (
  SELECT id, type, seq, page, archive_id, start, length, score
         + {NEIGHBOUR} * CASE WHEN lag(seq) OVER w = seq - 1 THEN lag(score) OVER w ELSE 0 END
         + {NEIGHBOUR} * CASE WHEN lead(seq) OVER w = seq + 1 THEN lead(score) OVER w ELSE 0 END AS score
    FROM turns WINDOW w AS (PARTITION BY conversation_uid ORDER BY seq)
), found AS (
  SELECT id, type, seq, page, archive_id, start, length, score, count(*) OVER () AS total
    FROM (SELECT * FROM lifted UNION ALL
          SELECT id, type, seq, page, archive_id, start, length, score FROM scored WHERE type <> 'episode') f
   ORDER BY score DESC, id LIMIT $7
)
SELECT f.*, m.conversation_id, m.created_at
  FROM found f JOIN memories m ON m.tenant_id = $1 AND m.id = f.id
 ORDER BY f.score DESC, f.id
"""


async def search(
    connection: Connection,
    tenant: UUID,
    owner: UUID,
    terms: Sequence[int],
    *,
    conversation_uid: UUID | None = None,
    types: Sequence[str] | None = None,
    archive_id: UUID | None = None,
    keywords: Sequence[int] = (),
    since: datetime | None = None,
    limit: int = 10,
) -> tuple[list[Hit], int]:
    """The best passages for a query's terms, and how many match at all.

    ``keywords`` are terms of which a passage must have at least one. ``since`` is compared with the time in the
    passages' ids, which is in the index; that of their making, not of what they tell.
    """
    if not terms:
        return [], 0
    rows = await connection.fetch(
        SEARCH, tenant, owner, terms, conversation_uid, types, archive_id, limit,
        bm25.any_of(keywords) if keywords else None, first_id(since) if since else None,
    )  # fmt: skip
    hits = [
        Hit(
            r["id"], r["type"], r["conversation_id"], r["seq"], r["page"], r["archive_id"], r["start"], r["length"],
            float(r["score"]), r["created_at"],
        )
        for r in rows
    ]  # fmt: skip
    return hits, rows[0]["total"] if rows else 0


# Where the indexed passages of an archive, or of a message, end.
ARCHIVE_INDEXED = """
SELECT start + length AS through FROM memories
 WHERE tenant_id = $1 AND archive_id = $2 ORDER BY start DESC LIMIT 1
"""
MESSAGE_INDEXED = """
SELECT max(start + length) AS through FROM memories
 WHERE tenant_id = $1 AND conversation_id = $2 AND seq = $3 AND archive_id IS NULL AND content IS NULL
"""


async def archive_indexed(connection: Connection, tenant: UUID, archive: UUID) -> int:
    return await connection.fetchval(ARCHIVE_INDEXED, tenant, archive) or 0


async def message_indexed(connection: Connection, tenant: UUID, conversation_id: str, seq: int) -> int:
    return await connection.fetchval(MESSAGE_INDEXED, tenant, conversation_id, seq) or 0


FIND = """
SELECT id, owner, type, conversation_id, seq, page, archive_id, start, length, created_at
  FROM memories WHERE tenant_id = $1 AND id = $2
"""


async def find(connection: Connection, tenant: UUID, memory: UUID, owner: UUID | None = None) -> Hit | None:
    """One memory by its id; with an owner, only if it is theirs."""
    r = await connection.fetchrow(FIND, tenant, memory)
    if r is None or owner not in (None, r["owner"]):
        return None
    return Hit(
        r["id"], r["type"], r["conversation_id"], r["seq"], r["page"], r["archive_id"], r["start"], r["length"], 0.0,
        r["created_at"],
    )  # fmt: skip
