"""Make a cut: decide where the zones of a window begin, and compose its frozen head.

Two pure steps, with a read before each:

    plan     the newest entries               -> where the zones begin, and which pages the head can mention
    freeze   the stored texts of these pages  -> the cut with its head: pinned memories, summary, contents page

If the pinned memories need more than the head's share, ``least_head`` returns their tokens, and the plan is made again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC

from app.core.model import INTEGER_MAX, OPENING_TOKENS, Cut, Entry, FreshForm, Language, Policy, Totals, Window
from app.core.search import days
from app.core.window import contents, head, kept, paging
from app.core.window.budget import RESERVES
from app.core.window.contents import Chapter, PageEntry
from app.core.window.head import HeadReader, HeadSummary, SummaryLine, Written
from app.core.window.kept import KeptLine
from app.core.window.profile import Profile
from app.core.window.topics import Topic

# --- Plan: where the zones begin ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CutPlan:
    """A cut without its head, and what is needed to compose the head."""

    cut: Cut
    policy: Policy
    language: Language
    room: int
    """The head's tokens, at most."""
    last_page: int
    """The last page that has left the window at least in part; 0 if none has."""
    zone: range
    """The pages with date lines: those of the condensed zone, and the page of the first verbatim message."""
    kept_max: int = 0
    """Tokens that fit beside the newest user message: the most for pinned memories."""
    found_max: int = 0
    """The most tokens for pinned memories that nobody wrote but that were found in messages."""

    def read(self, chapters: Sequence[Chapter], count: contents.Count) -> range:
        """Return the pages to read besides recently recalled ones. Older pages can only be under a chapter's line."""
        oldest = contents.oldest_listable(self.cut.last_page, self.policy)
        fitting = self.last_page - contents.pages_max(self.room, chapters, count)
        held = max([chapter.last_page for chapter in chapters], default=0)
        first = min(max(oldest, fitting), max(held + 1, self.last_page - contents.OPEN_PAGES))
        if self.zone:
            first = min(first, self.zone.start)
        return range(max(1, first), max(self.last_page + 1, self.zone.stop))

    @property
    def recalled_since(self) -> int:
        """The page since which an older page must have been recalled to be listed."""
        return self.cut.last_page - self.policy.unlist_unchanged_turns


@dataclass(frozen=True, slots=True)
class CutBasis:
    """Everything that a cut's zones depend on."""

    entries: Sequence[Entry]
    """See ``paging.places``."""
    totals: Totals
    language: Language
    target: Profile
    frame: int = 0
    """Tokens of an empty head."""
    number: int = 0
    step: int = 0
    forms: Sequence[FreshForm] = ()
    """The forms of fresh results that have been in view."""


def plan(basis: CutBasis, least_head: int = 0) -> CutPlan:
    """Return the plan of a new cut. ``least_head``: the head's least tokens, for which even the tail gives way."""
    entries, totals, target = basis.entries, basis.totals, basis.target
    beside = target.shares.available - OPENING_TOKENS - sum(entry.full for entry in asked(entries))
    shares = replace(target.shares, reserve=min(target.shares.reserve, max(0, beside - least_head)))
    shown: dict[int, int] = {}
    for form in basis.forms:
        shown[form.seq] = shown.get(form.seq, 0) + form.tokens
    found = paging.places(entries, totals, shares, target.policy, frame=basis.frame, least_head=least_head, shown=shown)
    cut = Cut(
        number=basis.number, budget=target.budget, step=basis.step, condensed_from=found.condensed_from,
        verbatim_from=found.verbatim_from, pinned=found.pinned, room=shares.body, half_mark=found.half_mark,
        is_squeezed=found.is_squeezed,
        full_total=totals.full, last_seq=totals.last_seq, last_page=totals.last_page, generation=totals.generation,
        forms=tuple(form for form in basis.forms if form.seq >= found.verbatim_from),
    )  # fmt: skip
    return CutPlan(
        cut=cut,
        policy=target.policy,
        language=basis.language,
        room=found.head_room,
        last_page=_last_page_gone(entries, cut),
        zone=_zone(entries, cut),
        kept_max=beside,
        found_max=kept.tokens_max(target.shares.available),
    )


def least_head(plan: CutPlan, material: Material, reader: HeadReader) -> int:
    """Return the tokens that the head needs for the pinned memories; 0 if there are none."""
    frame = head.frame_tokens(plan.language, reader.count)
    notes, _ = _kept(material.kept, plan.kept_max - frame, plan.found_max, reader)
    return frame + head.weight(notes) if notes else 0


def is_in_force(cut: Cut, window: Window, totals: Totals) -> bool:
    """Return whether a cut's window can be shown. A squeezed one is valid only until the next message."""
    return window.fits and not (cut.is_squeezed and totals.last_seq > cut.last_seq)


def shows(cut: Cut) -> tuple[object, ...]:
    """Return a key that differs if the windows of two cuts differ."""
    at = cut.last_seq if cut.is_squeezed else 0
    return cut.zones, cut.room, cut.generation, cut.head.tokens, cut.is_squeezed, at


def is_of(cut: Cut, totals: Totals) -> bool:
    """Return whether an imported cut is consistent with a conversation that has these totals."""
    zones = 1 <= cut.condensed_from <= cut.verbatim_from <= cut.last_seq + 1 and 0 <= cut.pinned <= cut.last_seq
    now = 0 <= cut.last_seq <= totals.last_seq and 0 <= cut.last_page <= totals.last_page
    sizes = (cut.number, cut.budget, cut.room, cut.full_total, cut.half_mark)
    numbers = min(cut.number, cut.budget) >= 1 and 0 <= cut.step <= len(RESERVES)
    return zones and now and numbers and all(0 <= size <= INTEGER_MAX for size in sizes)


def asked(entries: Sequence[Entry]) -> list[Entry]:
    """Return the newest user message, if there is one."""
    seq = entries[-1].user_seq if entries else 0
    return [entry for entry in reversed(entries) if entry.seq == seq][:1]


def _last_page_gone(entries: Sequence[Entry], cut: Cut) -> int:
    if cut.condensed_from <= 1:
        return 0
    first = entries[paging.index_of(entries, cut.condensed_from, 0)]
    return first.page - 1 if first.opens_page else first.page


def _zone(entries: Sequence[Entry], cut: Cut) -> range:
    if cut.verbatim_from <= 1:
        return range(0)
    ends = [entries[at].page for seq in cut.zones if (at := paging.index_of(entries, seq, -1)) >= 0]
    return range(1 if cut.condensed_from <= 1 else min(ends), max(ends) + 1)


# --- Freeze: the head --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Material:
    """The stored texts from which a head is made."""

    pages: Sequence[PageEntry]
    """The zone's pages and those that can be listed, each with its day, in order."""
    chapters: Sequence[Chapter] = ()
    """The newest chapters of each level, and those around recently recalled pages."""
    kept: Sequence[KeptLine] = ()
    """The pinned memories: the widest scope first, and the newest first in each."""
    topics: Sequence[Topic] = ()
    summary: Written | None = None


def freeze(plan: CutPlan, material: Material, reader: HeadReader) -> Cut:
    """Return the cut with its head, which holds the pinned memories, the summary with topics, and the contents page.

    If no model has written a summary, the contents page replaces it and has the room of both.
    """
    dates = days.settled({page.page: page.day for page in material.pages})
    frame = head.frame_tokens(plan.language, reader.count)
    notes, left_out = _kept(material.kept, min(plan.room, plan.kept_max) - frame, plan.found_max, reader)
    in_view = [memory for memory in material.kept if any(note.text.startswith(memory.text) for note in notes)]
    sources = tuple(memory.id for memory in in_view)
    room = plan.room - frame - head.weight(notes)
    in_zone = days.in_zone(
        {p: dates[p] for p in plan.zone if p in dates},
        min(plan.room, int(max(0, room) / days.ZONE_SHARE)),
        plan.language,
    )
    room = room - len(in_zone) * days.MESSAGE_TOKENS if plan.last_page else 0
    topics, summary = _summary(plan, material, head.summary_room(room, plan.policy), reader)
    room -= head.weight([*summary.lines, *([topics] if topics else ())])
    page = _contents(plan, material, dates, room, reader, is_summary=not summary.lines)
    composed = head.compose(notes, summary.lines, page, plan.language, frame, topics=topics, days=in_zone)
    is_told = page.lines and plan.policy.summary_enabled and not summary.lines
    through = plan.cut.condensed_from - 1 if is_told else summary.through_seq
    done = replace(composed, summary_through_seq=through, summary_source=summary.author, notes_left_out=left_out)
    return replace(plan.cut, head=done, sources=sources)


def _contents(
    plan: CutPlan, material: Material, dates: Mapping[int, str], room: int, reader: HeadReader, *, is_summary: bool
) -> contents.ContentsPage:
    policy = plan.policy
    cap = policy.contents_max + (policy.summary_max if is_summary and policy.summary_enabled else 0)
    pages = [p if p.day == dates[p.page] else p._replace(day=dates[p.page]) for p in material.pages]
    is_open = frozenset([page.page for page in pages if _is_open(page, plan)])
    return contents.compose(
        pages, is_open, material.chapters, plan.last_page, min(room, cap), policy, plan.language, reader.count
    )


def _is_open(page: PageEntry, plan: CutPlan) -> bool:
    now = plan.cut.last_page
    return contents.is_listed(page.page, page.recall_count, page.last_recalled_page, now, plan.policy)


def _kept(memories: Sequence[KeptLine], room: int, found_max: int, reader: HeadReader) -> tuple[list[SummaryLine], int]:
    """Return the lines of pinned memories that fit, with their days, and the number of those that do not. Equal texts
    count once. What a person wrote takes precedence over what was found in messages, which gets ``found_max`` tokens.
    """
    by_text = {memory.text: memory for memory in reversed(memories)}
    lines = {}
    for memory in reversed(by_text.values()):
        day = f" ({memory.since.astimezone(UTC):%Y-%m-%d})"
        tokens = memory.tokens + contents.short_tokens(day, reader.count)
        lines[SummaryLine(memory.text + day, tokens)] = memory.is_written
    written = head.take([line for line, is_written in lines.items() if is_written], room)
    found_max = min(found_max, room - head.weight(written))
    found = head.take([line for line, is_written in lines.items() if not is_written], found_max)
    chosen = {*written, *found}
    return [line for line in lines if line in chosen], len(lines) - len(chosen)


def _summary(
    plan: CutPlan, material: Material, room: int, reader: HeadReader
) -> tuple[SummaryLine | None, HeadSummary]:
    """Return the line of topics and the stored summary; neither if no summary is stored."""
    if material.summary is None or room < head.SUMMARY_ROOM_LEAST:
        return None, HeadSummary()
    topics = head.topics_line(material.topics, room, plan.language, reader.count)
    room -= head.weight([topics]) if topics else 0
    written = head.fitted_summary(material.summary, room, reader)
    return (topics, written) if written.lines else (None, HeadSummary())
