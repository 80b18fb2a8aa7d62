"""Chapters and volumes of closed pages, from which a conversation's map is made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from asyncpg import Record

from app.core.window.contents import CHAPTERS_MAX, LINES_PER_PAGE, TERMS_FIRST, Chapter
from app.extractive.chapters import OTHERS_MAX, VOLUME, Shelf, ToldPage
from app.postgres.statements import SqlFile, values_of
from app.postgres.transactions import ReadTx, Tx

if TYPE_CHECKING:
    from app.core.window.cut import CutPlan

LEVELS = 8
"""Eight to the power of seven chapters are more than a conversation has."""
RECALLED_MAX = 20
"""Recalled pages around which the map is opened, the newest."""

_SQL = SqlFile(
    __file__,
    levels=LEVELS,
    newest=CHAPTERS_MAX,
    others_max=OTHERS_MAX,
    volume=VOLUME,
    lines_per_page=LINES_PER_PAGE,
    terms=TERMS_FIRST,
    recalled_max=RECALLED_MAX,
)
AROUND = _SQL.statement("around")
SHELF = _SQL.statement("shelf")
TOLD = _SQL.statement("told")
STORE = _SQL.statement("store")
HOLDING = _SQL.statement("holding")
PARTS = _SQL.statement("parts")
UNNAMED = _SQL.statement("unnamed")
NAME = _SQL.statement("name")


async def around(tx: ReadTx, conversation_id: str, plan: CutPlan) -> list[Chapter]:
    """Return the chapters that the map of a planned cut can show."""
    rows = await tx.fetch(
        AROUND, conversation=conversation_id, last_page=plan.last_page, recalled_since=plan.recalled_since
    )
    return [_chapter_with_title(row) for row in rows]


def _chapter_with_title(row: Record) -> Chapter:
    """Return a chapter with a model's title, if there is one, in front of its terms."""
    *columns, title = row
    chapter = _chapter(columns)
    return replace(chapter, terms=(title, *chapter.terms)) if title else chapter


def _chapter(columns: Iterable[Any]) -> Chapter:
    level, first, last, at, terms, day = columns
    return Chapter(level, first, last, at, tuple(terms), day)


async def shelf(tx: ReadTx, conversation_id: str, before_page: int) -> Shelf:
    levels: dict[int, list[Chapter]] = {}
    for row in await tx.fetch(SHELF, conversation=conversation_id, before_page=before_page):
        levels.setdefault(row["level"], []).append(_chapter(row))
    return Shelf(levels)


async def told(tx: ReadTx, conversation_id: str, first_page: int, last_page: int) -> list[ToldPage]:
    rows = await tx.fetch(TOLD, conversation=conversation_id, first_page=first_page, last_page=last_page)
    return [ToldPage(page, opened, ended, words.split(), first) for page, opened, ended, words, first in rows]


async def store(tx: Tx, conversation_id: str, chapters: Sequence[Chapter]) -> None:
    """Store chapters of a locked conversation. They replace those of the same pages."""
    rows = [(tx.tenant, *STORE.arguments({"conversation": conversation_id, **values_of(one)})) for one in chapters]
    await tx.connection.executemany(STORE.text, rows)


async def unnamed(tx: ReadTx, conversation_id: str, first_page: int) -> Chapter | None:
    row = await tx.fetchrow(UNNAMED, conversation=conversation_id, first_page=first_page)
    return _chapter(row) if row else None


async def name(tx: Tx, conversation_id: str, of: Chapter, title: str, model: str, at: datetime) -> None:
    """Store the name that a model gave a chapter at a time."""
    await tx.execute(
        NAME, conversation=conversation_id, first_page=of.first_page, last_page=of.last_page, at=at,
        model=model, title=title,
    )  # fmt: skip


async def holding(tx: ReadTx, conversation_id: str, pages: Sequence[int]) -> list[Chapter]:
    return [_chapter(row) for row in await tx.fetch(HOLDING, conversation=conversation_id, pages=pages)]


async def parts(tx: ReadTx, conversation_id: str, volume: Chapter) -> list[Chapter]:
    rows = await tx.fetch(
        PARTS, conversation=conversation_id, level=volume.level - 1, first_page=volume.first_page,
        last_page=volume.last_page,
    )  # fmt: skip
    return [_chapter(row) for row in rows]
