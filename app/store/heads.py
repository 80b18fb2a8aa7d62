"""Read what heads are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from asyncpg import Record

from app.core.model import INTEGER_MAX
from app.core.window import contents
from app.core.window.contents import LINES_PER_PAGE, ContentsLine, Count, PageEntry, PageNames
from app.core.window.cut import CutPlan, Material
from app.core.window.head import EXTRACTIVE, Written
from app.core.window.topics import PAGES_TOLD, counted
from app.extractive.lines import names_subject, tells
from app.postgres.statements import SqlFile
from app.postgres.transactions import ReadTx
from app.store import chapters, conversations
from app.store.memory.kept import in_mind, read_kept
from app.store.summaries import VERSIONS_LOOKED_AT

_SQL = SqlFile(__file__, lines_per_page=LINES_PER_PAGE, pages_told=PAGES_TOLD, versions_looked_at=VERSIONS_LOOKED_AT)
PAGES = _SQL.statement("pages")
TEXTS = _SQL.statement("texts", kept=in_mind(before=":condensed_from"))


async def texts(tx: ReadTx, conversation_id: str, plan: CutPlan) -> Material:
    """Return what a head is made of beside its map."""
    row = await tx.fetchrow(
        TEXTS, conversation=conversation_id, condensed_from=plan.cut.condensed_from, last_page=plan.last_page
    )
    if row is None:
        raise conversations.unknown()
    topics = counted(zip(row["topics"] or (), row["topic_pages"] or (), strict=True))
    return Material((), kept=read_kept(row), topics=topics, summary=_written(row))


async def with_map(tx: ReadTx, conversation_id: str, plan: CutPlan, texts: Material, count: Count) -> Material:
    """Return the material with the pages and the chapters that the map can show."""
    if not (plan.zone or plan.last_page):
        return texts
    known = await chapters.around(tx, conversation_id, plan) if plan.last_page else []
    read = plan.read(known, count)
    pages = await tx.fetch(
        PAGES, conversation=conversation_id, last_page=plan.last_page, oldest_page=read.start,
        newest_page=read.stop - 1, recalled_since=plan.recalled_since, more=[],
        condensed_from=plan.cut.condensed_from,
    )  # fmt: skip
    names = {page["page"]: _names(page) for page in pages if page["is_named"]}
    return replace(texts, pages=[_entry(page) for page in pages], names=names, chapters=known)


async def entries(
    tx: ReadTx, conversation_id: str, pages: Sequence[int], before: int = INTEGER_MAX
) -> dict[int, PageEntry]:
    """Return pages by number, without their recalls, with the titles and lines they have now: those of messages before
    one.
    """
    rows = await tx.fetch(
        PAGES, conversation=conversation_id, last_page=INTEGER_MAX, oldest_page=INTEGER_MAX,
        newest_page=0, recalled_since=INTEGER_MAX, more=list(pages), condensed_from=before,
    )  # fmt: skip
    return {row["page"]: contents.renamed(_entry(row), _names(row) if row["is_named"] else None) for row in rows}


def _entry(row: Record) -> PageEntry:
    page, title, tokens, count, at_page, *_, day, seqs, roles, lines, line_tokens = row
    told = tuple(map(ContentsLine, seqs, roles, lines, line_tokens)) if seqs else ()
    return _titled(PageEntry(page, title, tokens, told, count, at_page, day=day))


def _titled(page: PageEntry) -> PageEntry:
    """Return a page that begins with "Yes" under its first answer that says more; under no title without one."""
    if names_subject(page.title):
        return page
    line = next((line for line in page.lines if line.role == "assistant" and tells(line.text)), None)
    return page._replace(title=line.text if line else "", title_tokens=line.tokens if line else 0)


def _names(row: Record) -> PageNames:
    """Return a model's title and lines; a title like "Yes" is none."""
    lines = zip(row["named_lines"], row["named_line_tokens"], strict=True)
    title = row["name"] if row["name"] and names_subject(row["name"]) else ""
    return PageNames(title, row["name_tokens"], dict(zip(row["named_seqs"], lines, strict=True)))


def _written(row: Record) -> Written | None:
    if row["summary"] is None:
        return None
    return Written(row["summary"], row["through_seq"], EXTRACTIVE if row["model"] == EXTRACTIVE else "llm")
