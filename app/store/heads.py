"""Read the material that heads are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from asyncpg import Record

from app import errors
from app.core.model import INTEGER_MAX
from app.core.window.contents import LINES_PER_PAGE, ContentsLine, Count, PageEntry
from app.core.window.cut import CutPlan, Material
from app.core.window.head import EXTRACTIVE, Written
from app.core.window.topics import PAGES_TOLD, counted
from app.extractive.lines import names_subject, tells
from app.postgres.statements import SqlFile
from app.postgres.transactions import ReadTx
from app.store import chapters
from app.store.memory.kept import in_mind, read_kept
from app.store.summaries import VERSIONS_LOOKED_AT

_SQL = SqlFile(__file__, lines_per_page=LINES_PER_PAGE, pages_told=PAGES_TOLD, versions_looked_at=VERSIONS_LOOKED_AT)
PAGES = _SQL.statement("pages")
TEXTS = _SQL.statement("texts", kept=in_mind(before=":condensed_from"))


async def texts(tx: ReadTx, conversation_id: str, plan: CutPlan) -> Material:
    """Return the material of a head without its map."""
    row = await tx.fetchrow(
        TEXTS, conversation=conversation_id, condensed_from=plan.cut.condensed_from, last_page=plan.last_page
    )
    if row is None:
        raise errors.missing("conversation")
    topics = counted(zip(row["topics"] or (), row["topic_pages"] or (), strict=True))
    return Material((), kept=read_kept(row), topics=topics, summary=_model_index(row))


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
    return replace(texts, pages=[_entry(page) for page in pages], chapters=known)


async def entries(
    tx: ReadTx, conversation_id: str, pages: Sequence[int], before: int = INTEGER_MAX
) -> dict[int, PageEntry]:
    """Return pages by number, with their present titles and lines but without their recalls."""
    rows = await tx.fetch(
        PAGES, conversation=conversation_id, last_page=INTEGER_MAX, oldest_page=INTEGER_MAX,
        newest_page=0, recalled_since=INTEGER_MAX, more=list(pages), condensed_from=before,
    )  # fmt: skip
    return {row["page"]: _entry(row) for row in rows}


def _entry(row: Record) -> PageEntry:
    """Return a page, with the model's title and lines where there are any."""
    page, title, tokens, count, at_page, is_named, name, name_tokens, *named, day, seqs, roles, texts, weights = row
    lines = tuple(map(ContentsLine, seqs, roles, texts, weights)) if seqs else ()
    if not names_subject(title):  # "Yes": its first answer that says more is the title
        told = next((line for line in lines if line.role == "assistant" and tells(line.text)), None)
        title, tokens = (told.text, told.tokens) if told else ("", 0)
    if is_named:
        if name and names_subject(name):
            title, tokens = name, name_tokens
        by_model = {seq: (text, weight) for seq, text, weight in zip(*named, strict=True)}
        lines = tuple([ContentsLine(one.seq, one.role, *by_model.get(one.seq, one[2:])) for one in lines])
    return PageEntry(page, title, tokens, lines, count, at_page, "llm" if is_named else EXTRACTIVE, day)


def _model_index(row: Record) -> Written | None:
    if row["summary"] is None:
        return None
    return Written(row["summary"], row["through_seq"], EXTRACTIVE if row["model"] == EXTRACTIVE else "llm")
