"""Chapters and volumes of closed pages: what the map of a conversation is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple
from typing import TYPE_CHECKING, Any

from asyncpg import Record

from app.core.window.contents import Chapter, ChapterName, entitled
from app.extractive.chapters import OTHERS_MAX, VOLUME, Shelf, ToldPage
from app.postgres.transactions import ReadTx, Tx
from app.store.windows import LINES_PER_PAGE

if TYPE_CHECKING:
    from app.core.window.epoch import EpochPlan

LEVELS = 8
"""Eight to the power of seven chapters are more than a conversation has."""
NEWEST = 48
"""The newest chapters of each level that a map shows, at most."""
RECALLED_MAX = 20
"""Recalled pages around which the map is opened, the newest."""
_COLUMNS = (
    "level", "first_page", "last_page", "at_page", "terms", "line", "line_tokens", "sentence", "sentence_tokens",
    "first_day", "last_day",
)  # fmt: skip
_NAMES = ", ".join(_COLUMNS)

# The newest of each level, and all that are in the same volume as one of some pages ($5), as far as an epoch that was
# made on a page ($4) knows them and they have left the window ($3); with what a model named them by a revision ($6).
AROUND = f"""
WITH levels AS (SELECT generate_series(1, {LEVELS}) AS level)
SELECT DISTINCT c.level, c.first_page, c.last_page, c.at_page, c.terms[1:16] AS terms, c.line, c.line_tokens,
       c.sentence, c.sentence_tokens, c.first_day, c.last_day, n.title, n.title_tokens, n.told, n.told_tokens
  FROM levels l
  CROSS JOIN LATERAL (
    (SELECT {_NAMES} FROM chapters
      WHERE tenant_id = $1 AND conversation_id = $2 AND level = l.level AND first_page <= $3
      ORDER BY first_page DESC LIMIT {NEWEST})
    UNION ALL
    SELECT c.* FROM unnest($5::int[]) AS recalled (page)
      CROSS JOIN LATERAL (
        SELECT first_page, last_page FROM chapters
         WHERE tenant_id = $1 AND conversation_id = $2 AND level = l.level + 1 AND first_page <= recalled.page
         ORDER BY first_page DESC LIMIT 1) v
      CROSS JOIN LATERAL (
        SELECT {_NAMES} FROM chapters
         WHERE tenant_id = $1 AND conversation_id = $2 AND level = l.level
           AND first_page BETWEEN v.first_page AND v.last_page) c
  ) c
  LEFT JOIN LATERAL (
    SELECT title, title_tokens, sentence AS told, sentence_tokens AS told_tokens FROM chapter_names
     WHERE tenant_id = $1 AND conversation_id = $2 AND first_page = c.first_page AND revision <= $6) n ON c.level = 1
 WHERE c.last_page <= $3 AND c.at_page <= $4
 ORDER BY c.first_page, c.level
"""


async def around(tx: ReadTx, conversation_id: str, recalled: Sequence[int], plan: EpochPlan) -> list[Chapter]:
    """Return the chapters that a plan's map can show: the newest of each level, and those around recalled pages."""
    recalled = sorted(recalled)[-RECALLED_MAX:]
    layout = plan.layout
    rows = await tx.fetch(AROUND, conversation_id, plan.last_page, layout.trigger_page, recalled, layout.revision)
    return [_named(row) for row in rows]


def _named(row: Record) -> Chapter:
    *columns, title, title_tokens, sentence, sentence_tokens = row.values()
    chapter = _chapter(dict(zip(_COLUMNS, columns, strict=True)))
    return chapter if title is None else entitled(chapter, ChapterName(title, title_tokens, sentence, sentence_tokens))


def _chapter(row: Mapping[str, Any] | Record) -> Chapter:
    return Chapter(**{**row, "terms": tuple(row["terms"])})


# The newest chapters, and of each level of volumes the newest.
SHELF = f"""
SELECT c.* FROM generate_series(1, {LEVELS}) AS l (level)
  CROSS JOIN LATERAL (
    SELECT {_NAMES} FROM chapters
     WHERE tenant_id = $1 AND conversation_id = $2 AND level = l.level AND first_page < $3
     ORDER BY first_page DESC LIMIT CASE WHEN l.level = 1 THEN {OTHERS_MAX} ELSE {VOLUME} END) c
 ORDER BY c.level, c.first_page
"""


async def shelf(tx: ReadTx, conversation_id: str, before_page: int) -> Shelf:
    levels: dict[int, list[Chapter]] = {}
    for row in await tx.fetch(SHELF, conversation_id, before_page):
        levels.setdefault(row["level"], []).append(_chapter(row))
    return Shelf(levels)


# Closed pages, each with its first messages, and with the times of its first message and its last.
TOLD = f"""
SELECT p.page, o.time AS opened_at, e.time AS ended_at, m.roles, m.lines, m.words
  FROM pages p
  CROSS JOIN LATERAL (
    SELECT first_seq FROM pages
     WHERE tenant_id = $1 AND conversation_id = $2 AND page > p.page ORDER BY page LIMIT 1) next
  CROSS JOIN LATERAL (
    SELECT coalesce(said_at, created_at) + said_offset * interval '1 minute' AS time FROM messages
     WHERE tenant_id = $1 AND conversation_id = $2 AND seq = p.first_seq LIMIT 1) o
  CROSS JOIN LATERAL (
    SELECT coalesce(said_at, created_at) + said_offset * interval '1 minute' AS time FROM messages
     WHERE tenant_id = $1 AND conversation_id = $2 AND seq < next.first_seq ORDER BY seq DESC LIMIT 1) e
  CROSS JOIN LATERAL (
    SELECT array_agg(CASE WHEN kind = 'result' THEN 'tool' ELSE role END ORDER BY seq) AS roles,
           array_agg(CASE WHEN words = '' THEN '' ELSE line END ORDER BY seq) AS lines,
           array_agg(words ORDER BY seq) AS words
      FROM (SELECT seq, role, kind, line, words FROM messages
             WHERE tenant_id = $1 AND conversation_id = $2 AND seq >= p.first_seq AND seq < next.first_seq
             ORDER BY seq LIMIT {LINES_PER_PAGE}) first) m
 WHERE p.tenant_id = $1 AND p.conversation_id = $2 AND p.page BETWEEN $3 AND $4
 ORDER BY p.page
"""


async def told(tx: ReadTx, conversation_id: str, first_page: int, last_page: int) -> list[ToldPage]:
    """Return what closed pages tell."""
    rows = await tx.fetch(TOLD, conversation_id, first_page, last_page)
    return [
        ToldPage(
            row["page"], row["opened_at"], row["ended_at"],
            list(zip(row["roles"], row["lines"], row["words"], strict=True)),
        )
        for row in rows
    ]  # fmt: skip


STORE = f"""
INSERT INTO chapters (tenant_id, conversation_id, {_NAMES})
VALUES ($1, $2, {", ".join(f"${3 + i}" for i in range(len(_COLUMNS)))})
ON CONFLICT (tenant_id, conversation_id, level, first_page) DO UPDATE
   SET {", ".join(f"{name} = excluded.{name}" for name in _COLUMNS[3:])}
"""
REACH = "UPDATE conversations SET chaptered_through = $3 WHERE tenant_id = $1 AND id = $2"


async def store(tx: Tx, conversation_id: str, chapters: Sequence[Chapter]) -> None:
    """Store chapters of a locked conversation, in the place of those of the same pages."""
    rows = [(tx.tenant, conversation_id, *astuple(chapter)) for chapter in chapters]
    await tx.connection.executemany(STORE, rows)


async def reach(tx: Tx, conversation_id: str, page: int) -> None:
    await tx.execute(REACH, conversation_id, page)


# A closed chapter that no model has named.
UNNAMED = f"""
SELECT {_NAMES} FROM chapters c
 WHERE tenant_id = $1 AND conversation_id = $2 AND level = 1 AND first_page = $3
   AND NOT EXISTS (SELECT FROM chapter_names
                    WHERE tenant_id = $1 AND conversation_id = $2 AND first_page = c.first_page)
"""
NAME = """
INSERT INTO chapter_names (tenant_id, conversation_id, first_page, last_page, revision, model, title, title_tokens,
                           sentence, sentence_tokens)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
ON CONFLICT DO NOTHING
"""


async def unnamed(tx: ReadTx, conversation_id: str, first_page: int) -> Chapter | None:
    row = await tx.fetchrow(UNNAMED, conversation_id, first_page)
    return _chapter(row) if row else None


async def name(tx: Tx, conversation_id: str, of: Chapter, revision: int, given: ChapterName, model: str) -> None:
    """Store what a model named a chapter, as known from a revision on."""
    await tx.execute(NAME, conversation_id, of.first_page, of.last_page, revision, model, *astuple(given))


# The chapters and volumes that some pages are in, the smaller ones first.
HOLDING = f"""
SELECT DISTINCT {_NAMES} FROM chapters, unnest($3::int[]) AS page
 WHERE tenant_id = $1 AND conversation_id = $2 AND page BETWEEN first_page AND last_page
 ORDER BY level, first_page
"""
PARTS = f"""
SELECT {_NAMES} FROM chapters
 WHERE tenant_id = $1 AND conversation_id = $2 AND level = $3 AND first_page BETWEEN $4 AND $5 ORDER BY first_page
"""


async def holding(tx: ReadTx, conversation_id: str, pages: Sequence[int]) -> list[Chapter]:
    return [_chapter(row) for row in await tx.fetch(HOLDING, conversation_id, pages)]


async def parts(tx: ReadTx, conversation_id: str, volume: Chapter) -> list[Chapter]:
    place = (volume.level - 1, volume.first_page, volume.last_page)
    return [_chapter(row) for row in await tx.fetch(PARTS, conversation_id, *place)]
