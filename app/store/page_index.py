"""Results of background jobs about pages: titles, lines, topics. Append-only, and stamped with the revision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from asyncpg import Record

from app.core.line import Line
from app.core.window.contents import PageNames
from app.core.window.topics import Topic, counted
from app.postgres.along import along
from app.postgres.database import Database
from app.postgres.transactions import ReadTx, Tx
from app.store.conversations import line_of
from app.text.queries import has_subject

MENTIONS_MAX = 200
"""The newest mentions are read; older topics are no longer of interest."""

# A new revision of what heads may quote, unless the conversation is gone, or its past was changed since.
BEGIN = """
UPDATE conversations SET revision = revision + 1
 WHERE tenant_id = $1 AND id = $2 AND uid = $3 AND generation = $4
RETURNING revision
"""


async def begin_revision(tx: ReadTx, conversation_id: str, uid: UUID, generation: int) -> int | None:
    """Lock the conversation and return the revision for a new result; None if the result's basis is outdated."""
    row = await tx.fetchrow(BEGIN, conversation_id, uid, generation)
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


@dataclass(frozen=True, slots=True)
class Unindexed:
    """A page to index, with everything that every index is made from."""

    line: Line
    generation: int
    first_seq: int
    last_seq: int
    title: str
    lines: Sequence[tuple[str, str]]
    """Role and line of its messages; the role of results is ``tool``."""
    topics: Sequence[str]
    """The conversation's topics, the latest first."""


# One page, its lines and the newest mentions of topics; nothing if it is gone, or if its index is as good as it gets:
# the model's, or an extractive one that nothing went wrong with. It sets the tenant itself.
UNINDEXED = """
SELECT c.id, c.line, c.is_forked, c.generation, p.first_seq, coalesce((SELECT first_seq - 1 FROM pages
                                             WHERE tenant_id = $1::uuid AND conversation_id = $2 AND page > $4
                                             ORDER BY page LIMIT 1), c.last_seq) AS last_seq, p.title,
       (SELECT array_agg(ARRAY[CASE m.kind WHEN 'result' THEN 'tool' ELSE m.role END, m.line] ORDER BY m.seq)
               FILTER (WHERE m.line <> '' AND m.kind <> 'prompt')
          FROM (SELECT seq, kind, role, line FROM messages
                 WHERE tenant_id = $1::uuid AND conversation_id = $2
                   AND seq >= (SELECT first_seq FROM pages
                                WHERE tenant_id = $1::uuid AND conversation_id = $2 AND page = $4)
                   AND seq < (SELECT coalesce(min(first_seq), 2147483647) FROM pages
                               WHERE tenant_id = $1::uuid AND conversation_id = $2 AND page = $4::bigint + 1)
                 ORDER BY seq LIMIT $5) m) AS lines,
       (SELECT array_agg(t.topic ORDER BY t.page DESC, t.topic)
          FROM (SELECT topic, page FROM topic_mentions
                 WHERE tenant_id = $1::uuid AND conversation_id = $2
                 ORDER BY page DESC, topic LIMIT $6) t) AS topics
  FROM conversations c
  LEFT JOIN pages p ON p.tenant_id = $1::uuid AND p.conversation_id = $2 AND p.page = $4
 WHERE c.tenant_id = $1::uuid AND c.id = $2 AND c.uid = $3
   AND NOT EXISTS (SELECT FROM page_index
                    WHERE tenant_id = $1::uuid AND conversation_id = $2 AND page = $4
                      AND (source = 'llm' OR error IS NULL))
 LIMIT length(set_config('app.tenant', $1::text, true)) / 36
"""


async def unindexed(
    database: Database, tenant: UUID, conversation_id: str, uid: UUID, page: int, lines_max: int
) -> Unindexed | None:
    """Return a page that wants an index; None if there is none such."""
    sql, stretches = along(UNINDEXED, conversation_id)
    row = await database.fetch_row(sql, str(tenant), conversation_id, uid, page, lines_max, MENTIONS_MAX, *stretches)
    if row is None:
        return None
    line = line_of(row)
    if line.stretches and not isinstance(conversation_id, Line):
        return await unindexed(database, tenant, line, uid, page, lines_max)
    if row["title"] is None:
        return None
    lines = [(role, line) for role, line in row["lines"] or ()]
    topics = list(dict.fromkeys(row["topics"] or ()))
    return Unindexed(line, row["generation"], row["first_seq"], row["last_seq"], row["title"], lines, topics)


# Store a page's index, count a mention for each of its topics, and advance the number of pages that are indexed without
# a gap, under a new revision for heads. Does nothing if the conversation is gone or its past was changed since; stores
# no index if the page has one or is gone. A model's index replaces an extractive one, which heads do not quote.
#
# The conversation is locked first. After waiting for the lock, the statement sees the conversation as it is then, but
# its pages as they were before: so it advances only over the pages that it sees, and never back.
INDEX = """
WITH c AS (
  UPDATE conversations c
     SET revision = c.revision + 1,
         indexed_through = greatest(c.indexed_through, coalesce(
           (SELECT p.page - 1 FROM pages p
             WHERE p.tenant_id = $1 AND p.conversation_id = $2 AND p.page > c.indexed_through AND p.page <> $5
               AND NOT EXISTS (SELECT FROM page_index i
                                WHERE i.tenant_id = $1 AND i.conversation_id = $2 AND i.page = p.page
                               OFFSET 0) -- by the page, never a scan of all for each
             ORDER BY p.page LIMIT 1),
           (SELECT page FROM pages WHERE tenant_id = $1 AND conversation_id = $2 ORDER BY page DESC LIMIT 1)))
   WHERE c.tenant_id = $1 AND c.id = $2 AND c.uid = $3 AND c.generation = $4
  RETURNING c.revision
), i AS (
  INSERT INTO page_index (tenant_id, conversation_id, page, revision, source, model, title, title_tokens, topics, seqs,
                          lines, line_tokens, error)
  SELECT $1, $2, p.page, c.revision, $6, $7, $8, $9, $10, $11, $12, $13, $14
    FROM c JOIN pages p ON p.tenant_id = $1 AND p.conversation_id = $2 AND p.page = $5
  ON CONFLICT (tenant_id, conversation_id, page) DO UPDATE
     SET revision = excluded.revision, source = excluded.source, model = excluded.model, title = excluded.title,
         title_tokens = excluded.title_tokens, topics = excluded.topics, seqs = excluded.seqs, lines = excluded.lines,
         line_tokens = excluded.line_tokens, error = excluded.error
   WHERE page_index.source = 'extractive' AND excluded.source = 'llm'
  RETURNING page, revision
), m AS (
  INSERT INTO topic_mentions (tenant_id, conversation_id, topic, count, page, revision)
  SELECT $1, $2, t.topic,
         1 + coalesce((SELECT max(count) FROM topic_mentions
                        WHERE tenant_id = $1 AND conversation_id = $2 AND topic = t.topic), 0), i.page, i.revision
    FROM i, unnest($15::text[]) AS t (topic)
)
SELECT c.revision, EXISTS (SELECT FROM i) AS is_stored FROM c
"""


async def index(
    tx: Tx,
    conversation_id: str,
    uid: UUID,
    generation: int,
    new: NewPageIndex,
    mentions: Sequence[str],
) -> tuple[int | None, bool]:
    """Store an index; return its revision, None if its basis is outdated, and whether it was stored.

    ``mentions`` contains each topic once.
    """
    row = await tx.fetchrow(
        INDEX, conversation_id, uid, generation, new.page, new.source, new.model, new.title, new.title_tokens,
        new.topics, new.seqs, new.lines, new.line_tokens, new.error, mentions,
    )  # fmt: skip
    return (row["revision"], row["is_stored"]) if row else (None, False)


EXISTS = """
SELECT source, error FROM page_index WHERE tenant_id = $1 AND conversation_id = $2 AND page = $3
"""


async def exists(tx: ReadTx, conversation_id: str, page: int) -> bool:
    return await tx.fetchrow(EXISTS, conversation_id, page) is not None


# What the model wrote of some pages, as it was known at a revision.
NAMES = """
SELECT page, title, title_tokens, seqs, lines, line_tokens FROM page_index
 WHERE tenant_id = $1 AND conversation_id = $2 AND page = ANY ($3::int[]) AND revision <= $4 AND source = 'llm'
"""


async def names(tx: ReadTx, conversation_id: str, pages: Sequence[int], revision: int) -> dict[int, PageNames]:
    """Return titles and lines by page; pages without any are left out."""
    if not pages:
        return {}
    rows = await tx.fetch(NAMES, conversation_id, pages, revision)
    return {row["page"]: _names(row) for row in rows}


def _names(row: Record) -> PageNames:
    lines = zip(row["lines"], row["line_tokens"], strict=True)
    return names_of(row["title"], row["title_tokens"], dict(zip(row["seqs"], lines, strict=True)))


def names_of(title: str | None, tokens: int, lines: Mapping[int, tuple[str, int]]) -> PageNames:
    """Return a model's title and lines; a title like "Yes" is none."""
    return PageNames(title if title and has_subject(title) else "", tokens, lines)


# --- Topics -----------------------------------------------------------------------------------------

# The newest mentions on pages up to one, as they were known at a revision.
MENTIONS = """
SELECT topic, count, page FROM topic_mentions
 WHERE tenant_id = $1 AND conversation_id = $2 AND page <= $3 AND revision <= $4
 ORDER BY page DESC, topic LIMIT $5
"""


async def topics(
    tx: ReadTx, conversation_id: str, last_page: int, revision: int, limit: int = MENTIONS_MAX
) -> list[Topic]:
    """Return the topics of the newest ``limit`` mentions, the latest first."""
    rows = await tx.fetch(MENTIONS, conversation_id, last_page, revision, limit)
    return counted((row["topic"], row["count"], row["page"]) for row in rows)
