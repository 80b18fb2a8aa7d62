"""Decide an epoch: where the zones of a window begin, and what its frozen head says.

Three pure steps, with a read before each:

    plan     the newest entries               -> the layout, and the pages that the head can tell of
    draft    what is stored of these pages    -> notes, summary, listed pages; pages whose titles are still wanted
    freeze   those titles                     -> the epoch

A head says only what the conversation had learned by the layout's revision, so it comes out the same at any later time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from app.core import days
from app.core.model import Day, Entry, Epoch, Head, Language, Layout, Policy, Totals
from app.core.window import contents, head, head_summary, paging
from app.core.window.contents import ContentsSelection, PageEntry, PageNames, Title
from app.core.window.head import SummaryLine
from app.core.window.head_summary import HeadReader, HeadSummary, Written
from app.core.window.profile import Profile
from app.core.window.topics import Topic

# --- Plan: the layout --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EpochPlan:
    """An epoch's layout, and what its head is made of."""

    layout: Layout
    policy: Policy
    language: Language
    room: int
    """What the head may weigh."""
    last_page: int
    """The last page that has left the window, in part at least; 0 while none has."""
    zone: range
    """The pages of the condensed zone, and that of the first verbatim message: they have date lines."""

    @property
    def pages(self) -> list[int]:
        """The pages to read, beside those that can be listed."""
        return sorted({*self.zone, *head_summary.pages_looked_at(self.last_page)})

    @property
    def oldest_listed(self) -> int:
        """The first page that can be listed without having been recalled."""
        return contents.oldest_listable(self.layout.trigger_page, self.policy)

    @property
    def recalled_since(self) -> int:
        """An older page can be listed if it was recalled on this page or later."""
        return self.layout.trigger_page - self.policy.unlist_unchanged_turns


def plan(entries: Sequence[Entry], totals: Totals, language: Language, target: Profile) -> EpochPlan:
    """Lay the window out. ``entries`` reach back as ``paging.layout`` needs them."""
    shares = target.shares
    layout = paging.layout(entries, totals, shares, target.policy)
    last_page = _last_page_gone(entries, layout)
    room = layout.head_room if last_page else min(shares.head, shares.available - shares.whole)
    return EpochPlan(layout, target.policy, language, room, last_page, _zone(entries, layout))


def _last_page_gone(entries: Sequence[Entry], layout: Layout) -> int:
    if layout.condensed_from <= 1:
        return 0
    first = next(e for e in entries if e.seq == layout.condensed_from)
    return first.page - 1 if first.opens_page else first.page


def _zone(entries: Sequence[Entry], layout: Layout) -> range:
    if layout.verbatim_from <= 1:
        return range(0)
    ends = [e.page for e in entries if e.seq in (layout.pinned, layout.condensed_from, layout.verbatim_from)]
    return range(1 if layout.condensed_from <= 1 else min(ends), max(ends) + 1)


# --- Draft: all but chapter lines --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StandingNote:
    """A standing note."""

    seq: int
    """Its place in the conversation."""
    text: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Material:
    """The stored texts that a head is made of, as known at the layout's revision."""

    pages: Sequence[PageEntry]
    """The plan's pages and those that can be listed, each with its day, in order."""
    listable: frozenset[int] = frozenset()
    names: Mapping[int, PageNames] = field(default_factory=dict)
    """The model's titles and lines, by page."""
    notes: Sequence[StandingNote] = ()
    """People's first, then the newest first."""
    topics: Sequence[Topic] = ()
    summary: Written | None = None


@dataclass(frozen=True, slots=True)
class HeadDraft:
    """A head without its chapter lines."""

    plan: EpochPlan
    dates: Mapping[int, str]
    days: tuple[Day, ...]
    notes: Sequence[SummaryLine]
    notes_left_out: int
    summary: HeadSummary = field(default_factory=HeadSummary)
    topics: SummaryLine | None = None
    selection: ContentsSelection = field(default_factory=ContentsSelection)
    titles: Mapping[int, Title] = field(default_factory=dict)
    """Of pages that stand for those that are not listed, as far as they are known."""

    @property
    def wanted(self) -> list[int]:
        """The pages whose titles are still wanted."""
        if not self.plan.policy.chapter_lines or self.selection.cap <= 0:
            return []
        runs = contents.runs(self.selection.listed, self.plan.last_page)
        return [page for run in runs for page in contents.sample(run) if page not in self.titles]


def draft(plan: EpochPlan, material: Material, reader: HeadReader) -> HeadDraft:
    """Fill the head's room: standing notes, then the summary with its topics, then the contents page."""
    dates = days.settled({page.page: page.day for page in material.pages})
    in_zone = days.in_zone({p: dates[p] for p in plan.zone if p in dates}, plan.layout.head_room, plan.language)
    room = plan.room - head.frame_tokens(plan.language, reader.count)
    if not plan.last_page:
        return HeadDraft(plan, dates, in_zone, *_notes(material.notes, room))
    room -= len(in_zone) * days.MESSAGE_TOKENS
    notes, left_out = _notes(material.notes, head.notes_room(room, plan.policy))
    if room <= 0:
        return HeadDraft(plan, dates, in_zone, (), len(notes) + left_out)
    room -= head.weight(notes)
    topics, summary = _summary(plan, material, dates, head.summary_room(room, plan.policy), reader)
    room -= head.weight([*summary.lines, *([topics] if topics else ())])
    named = [contents.renamed(page, material.names.get(page.page)) for page in material.pages]
    pages = [replace(page, day=dates[page.page]) for page in named]
    listable = [page for page in pages if page.page in material.listable and _is_listed(page, plan)]
    cap = min(room, plan.policy.contents_max)
    return HeadDraft(
        plan, dates, in_zone, notes, left_out, summary, topics,
        selection=contents.select(listable, cap, plan.policy),
        titles={page.page: Title(page.title, page.day) for page in pages},
    )  # fmt: skip


def _is_listed(page: PageEntry, plan: EpochPlan) -> bool:
    now = plan.layout.trigger_page
    return contents.is_listed(page.page, page.recall_count, page.last_recalled_page, now, plan.policy)


def _notes(notes: Sequence[StandingNote], room: int) -> tuple[list[SummaryLine], int]:
    """Return the notes that fit, in conversation order, and how many do not: equal texts are one."""
    lines = {note.text: SummaryLine(note.text, note.tokens) for note in notes}
    places = {note.text: note.seq for note in notes}
    taken = head.take(list(lines.values()), room)
    return sorted(taken, key=lambda line: places[line.text]), len(lines) - len(taken)


def _summary(
    plan: EpochPlan, material: Material, dates: Mapping[int, str], room: int, reader: HeadReader
) -> tuple[SummaryLine | None, HeadSummary]:
    """Return the line of topics and the summary: the stored one, else an extract of what has left the window."""
    topics = head.topics_line(material.topics, room, plan.language, reader.count)
    room -= head.weight([topics]) if topics else 0
    if room < head_summary.ROOM_LEAST:
        return topics, HeadSummary()
    if material.summary is not None:
        written = head_summary.fitted(material.summary, room, reader)
        if written.lines:
            return topics, written
    looked_at = set(head_summary.pages_looked_at(plan.last_page))
    lines = {page.page: page.lines for page in material.pages if page.page in looked_at}
    extract = head_summary.extracted(lines, dates, room, reader)
    return topics, HeadSummary(extract, plan.layout.condensed_from - 1 if extract else 0)


# --- Freeze: the head --------------------------------------------------------------------------------


def freeze(draft: HeadDraft, titles: Mapping[int, Title], reader: HeadReader) -> Epoch:
    """Return the epoch. ``titles`` are those that the draft wants, each with the day it is stored with."""
    return Epoch(draft.plan.layout, _head(draft, titles, reader))


def _head(draft: HeadDraft, titles: Mapping[int, Title], reader: HeadReader) -> Head:
    plan = draft.plan
    known = {**draft.titles} | {
        page: replace(title, day=days.fitted(page, title.day, draft.dates)) for page, title in titles.items()
    }
    page = contents.compose(
        draft.selection, plan.last_page, known, plan.policy, plan.language, reader.topics, reader.count
    )
    frame = head.frame_tokens(plan.language, reader.count)
    composed = head.compose(
        draft.notes, draft.summary.lines, page, plan.language, frame, topics=draft.topics, days=draft.days
    )
    return replace(
        composed,
        summary_through_seq=draft.summary.through_seq,
        summary_source=draft.summary.author,
        notes_left_out=draft.notes_left_out,
    )
