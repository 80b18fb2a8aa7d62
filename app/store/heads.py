"""Read what heads are made of, as known at a revision."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from asyncpg import Record

from app.core.window import contents
from app.core.window.contents import ContentsLine, PageEntry, PageNames
from app.core.window.epoch import EpochPlan, Material
from app.core.window.head_summary import EXTRACTIVE, Written
from app.core.window.topics import counted
from app.postgres.transactions import ReadTx
from app.store import chapters
from app.store.memory.kept import in_mind, known_at, read_kept
from app.store.page_index import MENTIONS_MAX, names_of
from app.store.summaries import VERSIONS_LOOKED_AT
from app.store.windows import LINES_PER_PAGE
from app.text.queries import has_subject

# The pages that a contents page can list, by recency or because they were recalled, and some more ($7): with the
# recalls and the model's names known at a revision ($6), their days, and their lines as far as they have left the
# window ($3, $8). A page ends where the next one begins, which the same read tells. A page's day is when its first
# message was said, or else stored, in UTC.
#
# Each look-up is a lateral one with a limit: so the planner uses the index, whatever it knows of the tables.
PAGES = f"""
WITH recent AS MATERIALIZED (
  SELECT page, count, at_page, revision FROM recalls
   WHERE tenant_id = $1 AND conversation_id = $2 AND at_page >= $5
), r AS (
  SELECT DISTINCT ON (page) page, count, at_page FROM recent
   WHERE revision <= $6 AND page <= $3
   ORDER BY page, count DESC
), p AS (
  SELECT * FROM (
    SELECT page, first_seq, title, title_tokens, least(lead(first_seq) OVER (ORDER BY page), $8) AS next_seq FROM (
      SELECT page, first_seq, title, title_tokens FROM pages
       WHERE tenant_id = $1 AND conversation_id = $2 AND page <= $3 AND page >= $4
      UNION ALL
      (SELECT page, first_seq, title, title_tokens FROM pages
        WHERE tenant_id = $1 AND conversation_id = $2 AND page > $3 ORDER BY page LIMIT 1)) run) run
   WHERE page <= $3
  UNION ALL
  SELECT page, first_seq, title, title_tokens, first_seq + 1 FROM pages
   WHERE tenant_id = $1 AND conversation_id = $2 AND page = ANY ($7::int[]) AND page > $3
  UNION ALL
  SELECT p.*
    FROM (SELECT page FROM r UNION SELECT unnest($7::int[])) more
    CROSS JOIN LATERAL (
      SELECT page, first_seq, title, title_tokens, least(lead(first_seq) OVER (ORDER BY page), $8) FROM (
        SELECT page, first_seq, title, title_tokens FROM pages
         WHERE tenant_id = $1 AND conversation_id = $2 AND page >= more.page ORDER BY page LIMIT 2) two
       ORDER BY page LIMIT 1) p
   WHERE more.page < $4 AND p.page = more.page
)
SELECT p.page, p.title, p.title_tokens, coalesce(r.count, 0) AS count, coalesce(r.at_page, 0) AS at_page,
       i.page IS NOT NULL AS is_named, i.title AS name, i.title_tokens AS name_tokens, i.seqs AS named_seqs,
       i.lines AS named_lines, i.line_tokens AS named_line_tokens,
       to_char(m.time, 'YYYY-MM-DD') AS day, m.seqs, m.roles, m.lines, m.line_tokens
  FROM p
  LEFT JOIN r ON r.page = p.page
  LEFT JOIN LATERAL (
    SELECT page, title, title_tokens, seqs, lines, line_tokens FROM page_index
     WHERE tenant_id = $1 AND conversation_id = $2 AND page = p.page AND revision <= $6 AND source = 'llm' LIMIT 1
  ) i ON true
  CROSS JOIN LATERAL (
    SELECT (array_agg(coalesce(l.said_at, l.created_at) AT TIME ZONE 'UTC'
                      + l.said_offset * interval '1 minute'))[1] AS time,
           array_agg(l.seq) FILTER (WHERE l.is_line) AS seqs,
           array_agg(CASE WHEN l.kind = 'result' THEN 'tool' ELSE l.role END) FILTER (WHERE l.is_line) AS roles,
           array_agg(l.line) FILTER (WHERE l.is_line) AS lines,
           array_agg(l.line_tokens) FILTER (WHERE l.is_line) AS line_tokens
      FROM (
        SELECT seq, role, kind, line, line_tokens, said_at, said_offset, created_at,
               line <> '' AND kind <> 'prompt' AS is_line
          FROM messages
         WHERE tenant_id = $1 AND conversation_id = $2 AND seq >= p.first_seq AND seq < p.next_seq
         ORDER BY seq LIMIT {LINES_PER_PAGE}) l
  ) m
 ORDER BY p.page
"""

# What is kept in mind, as known when the epoch's page was opened ($6). The newest mentions of topics. The summary that
# covers all messages before one and the fewest after it, else the newest.
_OPENED = """coalesce((SELECT p.created_at FROM pages p
                               WHERE p.tenant_id = $1 AND p.conversation_id = $2 AND p.page = $6),
                             c.created_at /*began*/)"""
TEXTS = f"""
SELECT k.*, t.*, s.through_seq, s.text AS summary, s.model
  FROM conversations c
  LEFT JOIN LATERAL ({in_mind(before="$3", known=known_at(opened=_OPENED))}
  ) k ON true
  LEFT JOIN LATERAL (
    SELECT array_agg(topic) AS topics, array_agg(count) AS counts, array_agg(page) AS topic_pages FROM (
      SELECT topic, count, page FROM topic_mentions
       WHERE tenant_id = $1 AND conversation_id = $2 AND page <= $5 AND revision <= $4
       ORDER BY page DESC, topic LIMIT {MENTIONS_MAX}) t
  ) t ON true
  LEFT JOIN LATERAL (
    SELECT through_seq, text, model FROM (
      SELECT version, through_seq, text, model FROM summaries
       WHERE tenant_id = $1 AND conversation_id = $2 AND revision <= $4
       ORDER BY version DESC LIMIT {VERSIONS_LOOKED_AT}) s
     ORDER BY through_seq < $3 - 1, CASE WHEN through_seq < $3 - 1 THEN -version ELSE version END LIMIT 1
  ) s ON true
 WHERE c.tenant_id = $1 AND c.id = $2
"""


NEVER = 2**31 - 1


async def material(tx: ReadTx, conversation_id: str, plan: EpochPlan) -> Material:
    """Return what is stored for the head of a plan."""
    at = (tx, conversation_id, plan)
    row = await _texts(*at)
    pages = await _pages(*at) if plan.zone or plan.last_page else []
    recalled = [page["page"] for page in pages if page["count"]]
    return Material(
        pages=[_entry(page) for page in pages],
        names={page["page"]: _names(page) for page in pages if page["is_named"]},
        chapters=await chapters.around(tx, conversation_id, recalled, plan) if plan.last_page else (),
        kept=read_kept(row),
        topics=counted(_columns(row, "topics", "counts", "topic_pages")),
        summary=_written(row),
    )


async def _pages(tx: ReadTx, conversation_id: str, plan: EpochPlan) -> Sequence[Record]:
    layout = plan.layout
    return await tx.fetch(
        PAGES, conversation_id, plan.last_page, plan.oldest_read, plan.recalled_since, layout.revision,
        list(plan.zone), layout.condensed_from,
    )  # fmt: skip


RUN_MAX = 200
"""Pages of a run that one read returns."""


async def run(tx: ReadTx, conversation_id: str, first_page: int, last_page: int) -> list[PageEntry]:
    """Return the first pages of a run, with the titles and lines they have now."""
    last = min(last_page, first_page + RUN_MAX - 1)
    pages = await tx.fetch(PAGES, conversation_id, last, first_page, NEVER, NEVER, [], NEVER)
    return [contents.renamed(_entry(page), _names(page) if page["is_named"] else None) for page in pages]


async def _texts(tx: ReadTx, conversation_id: str, plan: EpochPlan) -> Record:
    layout = plan.layout
    row = await tx.fetchrow(
        TEXTS, conversation_id, layout.condensed_from, layout.revision, plan.last_page, layout.trigger_page
    )
    assert row is not None
    return row


def _columns(row: Record, *names: str) -> Iterable[tuple[Any, ...]]:
    """Return the rows of a table whose columns are arrays."""
    return zip(*(row[name] or () for name in names), strict=True)


def _entry(row: Record) -> PageEntry:
    lines = tuple(ContentsLine(*line) for line in _columns(row, "seqs", "roles", "lines", "line_tokens"))
    return titled(
        PageEntry(row["page"], row["title"], row["title_tokens"], lines, row["count"], row["at_page"], day=row["day"])
    )


def titled(page: PageEntry) -> PageEntry:
    """Return a page that begins with "Yes" under its first answer that says more; under no title without one."""
    if has_subject(page.title):
        return page
    lines = (line for line in page.lines if line.role == "assistant" and has_subject(line.text))
    line = next(lines, None)
    return replace(page, title=line.text if line else "", title_tokens=line.tokens if line else 0)


def _names(row: Record) -> PageNames:
    named = {
        seq: (line, tokens) for seq, line, tokens in _columns(row, "named_seqs", "named_lines", "named_line_tokens")
    }
    return names_of(row["name"], row["name_tokens"], named)


def _written(row: Record) -> Written | None:
    if row["summary"] is None:
        return None
    return Written(row["summary"], row["through_seq"], EXTRACTIVE if row["model"] == EXTRACTIVE else "llm")
