"""Import data derived from a conversation's messages: pages, chapters, summaries, recalls and cuts."""

from __future__ import annotations

from dataclasses import replace

from app.core.conversation import Conversation
from app.core.neutral import flat
from app.core.window import cut
from app.errors import Invalid
from app.postgres.transactions import Tx
from app.runtime import Runtime
from app.services.lifecycle.lines import ChapterLine, CutLine, ImportedSummary, PageLine, RecallLine
from app.store import chapters, messages, page_index, portable, summaries, windows
from app.store.page_index import NewPageIndex
from app.store.summaries import StoredSummary

DerivedLine = PageLine | ChapterLine | ImportedSummary | RecallLine | CutLine


async def insert(runtime: Runtime, tx: Tx, known: Conversation, line: DerivedLine) -> bool:
    """Insert a line into its locked conversation. Return False if it exists already, or if something was erased from
    the conversation here, because derived text can still hold it. Raises Invalid.
    """
    if known.erasures and not isinstance(line, RecallLine):
        return False
    match line:
        case PageLine():
            return await _page(runtime, tx, known, line)
        case ChapterLine():
            return await _name_chapter(tx, known, line)
        case ImportedSummary():
            return await _summary(runtime, tx, known, line)
        case RecallLine():
            has = await portable.has_recall(tx, known.id, line.page, line.count)
            at = (line.created_at, line.at_page)
            return not has and await messages.count_recall(tx, known.id, line.page, line.page, *at)
        case CutLine():
            return await _store_cut(tx, known, line)


async def _page(runtime: Runtime, tx: Tx, known: Conversation, line: PageLine) -> bool:
    if line.page >= known.totals.last_page and known.end.last_seq == 0:
        raise Invalid.at(["page"], "precedes its messages", "The page is not imported yet.")
    if await page_index.exists(tx, known.id, line.page):
        return False
    seqs = [int(seq) for seq in line.lines if seq.isascii() and seq.isdecimal() and len(seq) < 10]
    title = flat(line.title) if line.title is not None else None
    lines = [flat(line.lines[str(seq)]) for seq in seqs]
    tokens = await runtime.tokens.count_many([title or "", *lines])
    new = NewPageIndex(
        line.page, line.source, line.model, title, tokens[0] if title else 0,
        list(dict.fromkeys(map(flat, line.topics))), seqs, lines, tokens[1 : 1 + len(lines)], line.error,
    )  # fmt: skip
    place = (known.id, known.uid, known.own_generation)
    if not await page_index.index(tx, *place, new, line.created_at):
        raise Invalid.at(["page"], "is not a page of the conversation", "There is no such page.")
    return True


async def _name_chapter(tx: Tx, known: Conversation, line: ChapterLine) -> bool:
    """Give a chapter its imported name. Return False if it has a name already or its pages make other chapters here."""
    own = known.line.own
    chapter = await chapters.unnamed(tx, own, line.first_page)
    if chapter is None or chapter.last_page != line.last_page:
        return False
    at = line.created_at or await page_index.now(tx)
    await chapters.name(tx, own, chapter, flat(line.title), line.model, at)
    return True


async def _summary(runtime: Runtime, tx: Tx, known: Conversation, line: ImportedSummary) -> bool:
    if await portable.has_summary(tx, known.id, line.version):
        return False
    if line.through_seq > known.totals.last_seq:
        message = "is after the last message before it"
        raise Invalid.at(["through_seq"], message, "The summary covers unknown messages.")
    text = "\n".join(flat(part) for part in line.text.split("\n"))
    (tokens,) = await runtime.tokens.count_many([text])
    new = StoredSummary(line.version, line.through_seq, text, tokens, line.model)
    return await summaries.insert(tx, known.id, new, line.created_at or await page_index.now(tx))


async def _store_cut(tx: Tx, known: Conversation, line: CutLine) -> bool:
    """Store a cut. Return False if the conversation has had it. Raises Invalid if it does not fit the messages."""
    found = replace(line.cut, generation=known.totals.generation)
    if not cut.is_of(found, known.totals) or await windows.parts_a_group(tx, known, found):
        message = "must have zones that begin with a call group of the messages before it"
        raise Invalid.at(["cut"], message, "The cut is of other messages.")
    return await windows.put_cut(tx, known, found, line.created_at)
