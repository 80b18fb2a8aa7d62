"""What background jobs found out about pages: titles, lines, topics. Append-only, and stamped with the revision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from asyncpg import Record

from app.core.contents import PageNames
from app.core.topics import Topic
from app.db import Connection

# A new revision of what heads may quote, unless the conversation is gone, or its past was changed since.
BEGIN = """
UPDATE conversations SET revision = revision + 1
 WHERE tenant_id = $1 AND id = $2 AND uid = $3 AND generation = $4
RETURNING revision
"""


async def begin_revision(
    connection: Connection, tenant: UUID, conversation_id: str, uid: UUID, generation: int
) -> int | None:
    """The revision to stamp a result with; it locks the conversation. None if what the result was made of is past."""
    row = await connection.fetchrow(BEGIN, tenant, conversation_id, uid, generation)
    return row["revision"] if row else None


@dataclass(frozen=True, slots=True)
class NewPageIndex:
    page: int
    source: str
    model: str | None = None
    title: str | None = None
    title_tokens: int = 0
    topics: Sequence[str] = ()
    seqs: Sequence[int] = ()
    lines: Sequence[str] = ()
    line_tokens: Sequence[int] = ()
    error: str | None = None


# The index of a page that is there; nothing if it has one. A model's takes the place of an extractive one, of which
# heads quote nothing.
INSERT = """
INSERT INTO page_index (tenant_id, conversation_id, page, revision, source, model, title, title_tokens, topics, seqs,
                        lines, line_tokens, error)
SELECT $1, $2, page, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13 FROM pages
 WHERE tenant_id = $1 AND conversation_id = $2 AND page = $3
ON CONFLICT (tenant_id, conversation_id, page) DO UPDATE
   SET revision = excluded.revision, source = excluded.source, model = excluded.model, title = excluded.title,
       title_tokens = excluded.title_tokens, topics = excluded.topics, seqs = excluded.seqs, lines = excluded.lines,
       line_tokens = excluded.line_tokens, error = excluded.error
 WHERE page_index.source = 'extractive' AND excluded.source = 'llm'
RETURNING page
"""


async def insert(connection: Connection, tenant: UUID, conversation_id: str, revision: int, new: NewPageIndex) -> bool:
    """Whether it was stored; False if the page has an index or is gone."""
    row = await connection.fetchrow(
        INSERT, tenant, conversation_id, new.page, revision, new.source, new.model, new.title, new.title_tokens,
        new.topics, new.seqs, new.lines, new.line_tokens, new.error,
    )  # fmt: skip
    return row is not None


EXISTS = """
SELECT source, error FROM page_index WHERE tenant_id = $1 AND conversation_id = $2 AND page = $3
"""


async def exists(connection: Connection, tenant: UUID, conversation_id: str, page: int) -> bool:
    return await connection.fetchrow(EXISTS, tenant, conversation_id, page) is not None


async def is_done(connection: Connection, tenant: UUID, conversation_id: str, page: int) -> bool:
    """Whether the index is as good as it gets: the model's, or an extractive one that nothing went wrong with."""
    row = await connection.fetchrow(EXISTS, tenant, conversation_id, page)
    return row is not None and (row["source"] == "llm" or row["error"] is None)


# As far as every page has an index. The page that is being written has none, so the walk ends there.
ADVANCE = """
UPDATE conversations c
   SET indexed_through = coalesce((
     SELECT p.page - 1 FROM pages p
      WHERE p.tenant_id = $1 AND p.conversation_id = $2 AND p.page > c.indexed_through
        AND NOT EXISTS (SELECT FROM page_index i
                         WHERE i.tenant_id = $1 AND i.conversation_id = $2 AND i.page = p.page)
      ORDER BY p.page LIMIT 1), c.last_page)
 WHERE c.tenant_id = $1 AND c.id = $2
"""


async def advance(connection: Connection, tenant: UUID, conversation_id: str) -> None:
    """Move the conversation's ``indexed_through`` on."""
    await connection.execute(ADVANCE, tenant, conversation_id)


# What the model wrote of some pages, as it was known at a revision.
NAMES = """
SELECT page, title, title_tokens, seqs, lines, line_tokens FROM page_index
 WHERE tenant_id = $1 AND conversation_id = $2 AND page = ANY ($3::int[]) AND revision <= $4 AND source = 'llm'
"""


async def names(
    connection: Connection, tenant: UUID, conversation_id: str, pages: Sequence[int], revision: int
) -> dict[int, PageNames]:
    """By page; pages without are left out."""
    if not pages:
        return {}
    rows = await connection.fetch(NAMES, tenant, conversation_id, pages, revision)
    return {row["page"]: _names(row) for row in rows}


def _names(row: Record) -> PageNames:
    lines = zip(row["lines"], row["line_tokens"], strict=True)
    return PageNames(row["title"] or "", row["title_tokens"], dict(zip(row["seqs"], lines, strict=True)))


# --- Topics -----------------------------------------------------------------------------------------

MENTIONS_MAX = 200
"""The newest mentions are looked at; of topics that were not mentioned for so long nobody needs to be told."""

# The newest mentions on pages up to one, as they were known at a revision.
MENTIONS = """
SELECT topic, count, page FROM topic_mentions
 WHERE tenant_id = $1 AND conversation_id = $2 AND page <= $3 AND revision <= $4
 ORDER BY page DESC, topic LIMIT $5
"""


async def topics(
    connection: Connection, tenant: UUID, conversation_id: str, last_page: int, revision: int, limit: int = MENTIONS_MAX
) -> list[Topic]:
    """Those of the newest ``limit`` mentions, the latest first."""
    rows = await connection.fetch(MENTIONS, tenant, conversation_id, last_page, revision, limit)
    found: dict[str, Topic] = {}
    for row in rows:
        known = found.get(row["topic"])
        if known is None or row["count"] > known.mentions:
            found[row["topic"]] = Topic(row["topic"], row["count"], known.last_page if known else row["page"])
    return list(found.values())


# A mention more of each topic.
MENTION = """
INSERT INTO topic_mentions (tenant_id, conversation_id, topic, count, page, revision)
SELECT $1, $2, t.topic,
       1 + coalesce((SELECT max(count) FROM topic_mentions
                      WHERE tenant_id = $1 AND conversation_id = $2 AND topic = t.topic), 0), $4, $5
  FROM unnest($3::text[]) AS t (topic)
"""


async def mention(
    connection: Connection, tenant: UUID, conversation_id: str, topics: Sequence[str], page: int, revision: int
) -> None:
    """Each topic once. The conversation must be locked, so that counts follow each other."""
    await connection.execute(MENTION, tenant, conversation_id, topics, page, revision)
