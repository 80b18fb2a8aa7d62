"""Decide an epoch: where the zones of a window begin, and what its frozen head says.

Pure steps, with a read before each:

    plan     the newest entries               -> a layout, and the pages that the head can tell of
    freeze   what is stored of these pages    -> the epoch: what is kept in mind, summary, contents page

Where what is kept in mind does not fit, ``decide`` plans again.

A head says only what the conversation had learned by the layout's revision, so it comes out the same at any later time.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC

from app.core.model import OPENING_TOKENS, Entry, Epoch, Language, Layout, Policy, Totals, epoch_number
from app.core.search import days
from app.core.window import contents, head, kept, paging
from app.core.window.contents import Chapter, PageEntry, PageNames
from app.core.window.head import HeadReader, HeadSummary, SummaryLine, Written
from app.core.window.kept import KeptLine
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
    usual: int
    """A head's share."""
    last_page: int
    """The last page that has left the window, in part at least; 0 while none has."""
    zone: range
    """The pages of the condensed zone, and that of the first verbatim message: they have date lines."""
    kept_max: int = 0
    """What memories in mind may weigh beside the newest user message."""
    found_max: int = 0
    """And of them those that nobody wrote: they were found in messages."""

    @property
    def oldest_read(self) -> int:
        """The first page to read, beside those of the zone and those recalled of late."""
        oldest = contents.oldest_listable(self.layout.trigger_page, self.policy)
        return max(1, min(oldest, self.last_page - contents.OPEN_PAGES))

    @property
    def recalled_since(self) -> int:
        """An older page can be listed if it was recalled on this page or later."""
        return self.layout.trigger_page - self.policy.unlist_unchanged_turns


def decide(
    entries: Sequence[Entry], totals: Totals, language: Language, target: Profile, reader: HeadReader
) -> Generator[EpochPlan, Material, Epoch]:
    """Return the epoch in force. Yield plans, and be sent the texts of each. ``entries``: see ``paging.layouts``.

    What is kept in mind may need more room than a head has, and then the next cut comes sooner. Each epoch has the room
    for what was kept in mind when it began, so that whoever decides later finds the same epochs.
    """
    of, heads = (entries, totals, target.shares, target.policy), dict[int, int]()
    laid_out = paging.layouts(*of, heads)

    def settle(number: int) -> Generator[EpochPlan, Material, tuple[EpochPlan, Material]]:
        """Find the room of an epoch's head."""
        nonlocal laid_out
        while True:
            found = plan(next(one for one in laid_out if one.number == number), entries, language, target)
            material = yield found
            least = least_head(found, material, reader)
            if not least:
                return found, material
            heads[number] = least
            laid_out = paging.layouts(*of, heads)

    first = laid_out[0].number
    if first == epoch_number(0, totals.generation):  # any note takes room there
        settled = yield from settle(first)
        if len(laid_out) == 1:
            return freeze(*settled, reader)
    last = laid_out[-1].number
    settled = yield from settle(last)
    if last in heads:  # those before it may need more room, too
        number = first - 1
        while number < laid_out[-1].number:
            number = next(one.number for one in laid_out if one.number > number)
            settled = yield from settle(number)
    return freeze(*settled, reader)


def plan(layout: Layout, entries: Sequence[Entry], language: Language, target: Profile) -> EpochPlan:
    last_page, available = _last_page_gone(entries, layout), target.shares.available
    return EpochPlan(
        layout=layout,
        policy=target.policy,
        language=language,
        room=layout.head_room,
        usual=target.shares.head,
        last_page=last_page,
        zone=_zone(entries, layout),
        kept_max=available - OPENING_TOKENS - _asked(entries, layout),
        found_max=kept.tokens_max(available),
    )


def least_head(plan: EpochPlan, material: Material, reader: HeadReader) -> int:
    """Return what the head must weigh for what is kept in mind; 0 where the plan has that room already.

    It leaves the contents page half of the usual room, as far as that fits.
    """
    frame = head.frame_tokens(plan.language, reader.count)
    notes, _ = _kept(material.kept, plan.kept_max - frame, plan.found_max, reader)
    weight = frame + head.weight(notes)
    of_map = max(0, plan.usual - frame) // 2 if plan.last_page else 0
    least = max(weight, min(weight + of_map, plan.kept_max))
    return least if notes and plan.room < least else 0


def of_whole(
    totals: Totals, language: Language, target: Profile, kept_lines: Sequence[KeptLine], reader: HeadReader
) -> Epoch | None:
    """Return the epoch while the whole history is shown: its head is what is kept in mind.

    None if the history does not fit beside that.
    """
    material = Material(pages=(), kept=kept_lines)
    whole = plan(paging.layout((), totals, target.shares, target.policy), (), language, target)
    weight = least_head(whole, material, reader)
    if totals.full + weight > target.shares.whole:
        return None
    heads = {whole.layout.number: weight}
    [beside] = paging.layouts((), totals, target.shares, target.policy, heads)
    return freeze(plan(beside, (), language, target) if weight else whole, material, reader)


def _asked(entries: Sequence[Entry], layout: Layout) -> int:
    """Return the tokens of the newest user message when the epoch began."""
    asked = next((e.user_seq for e in entries if e.seq == layout.trigger), 0)
    return next((e.full for e in entries if e.seq == asked), 0)


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


# --- Freeze: the head --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Material:
    """The stored texts that a head is made of, as known at the layout's revision."""

    pages: Sequence[PageEntry]
    """The zone's pages and those that can be listed, each with its day, in order."""
    names: Mapping[int, PageNames] = field(default_factory=dict)
    """The model's titles and lines, by page."""
    chapters: Sequence[Chapter] = ()
    """The newest of each level, and those around pages recalled of late."""
    kept: Sequence[KeptLine] = ()
    """What is kept in mind, the widest scope first, the newest first."""
    topics: Sequence[Topic] = ()
    summary: Written | None = None


def freeze(plan: EpochPlan, material: Material, reader: HeadReader) -> Epoch:
    """Return the epoch, its head's room filled: what is kept in mind, the summary with its topics, the contents page.

    Where no model has written a summary, the contents page is the summary and has the room of both.
    """
    dates = days.settled({page.page: page.day for page in material.pages})
    frame = head.frame_tokens(plan.language, reader.count)
    notes, left_out = _kept(material.kept, min(plan.room, plan.kept_max) - frame, plan.found_max, reader)
    room = plan.room - frame - head.weight(notes)
    in_zone = days.in_zone(
        {p: dates[p] for p in plan.zone if p in dates},
        min(plan.room, int(max(0, room) / days.ZONE_SHARE)),
        plan.language,
    )
    room -= len(in_zone) * days.MESSAGE_TOKENS
    if not plan.last_page or room <= 0:
        page = contents.ContentsPage(unlisted=plan.last_page)
        composed = head.compose(notes, (), page, plan.language, frame, days=in_zone)
        return Epoch(plan.layout, replace(composed, notes_left_out=left_out))
    topics, summary = _summary(plan, material, head.summary_room(room, plan.policy), reader)
    room -= head.weight([*summary.lines, *([topics] if topics else ())])
    in_view = [memory.text for memory in material.kept if any(note.text.startswith(memory.text) for note in notes)]
    material = replace(material, chapters=[_without_kept(chapter, in_view) for chapter in material.chapters])
    page = _contents(plan, material, dates, room, reader, is_summary=not summary.lines)
    composed = head.compose(notes, summary.lines, page, plan.language, frame, topics=topics, days=in_zone)
    told = composed.contents if plan.policy.summary_enabled and not summary.lines else ""
    return Epoch(
        plan.layout,
        replace(
            composed,
            summary=composed.summary or told,
            summary_through_seq=plan.layout.condensed_from - 1 if told else summary.through_seq,
            summary_source=summary.author,
            notes_left_out=left_out,
        ),
    )


def _contents(
    plan: EpochPlan, material: Material, dates: Mapping[int, str], room: int, reader: HeadReader, *, is_summary: bool
) -> contents.ContentsPage:
    policy = plan.policy
    cap = policy.contents_max + (policy.summary_max if is_summary and policy.summary_enabled else 0)
    pages = [
        replace(contents.renamed(page, material.names.get(page.page)), day=dates[page.page]) for page in material.pages
    ]
    is_open = frozenset(page.page for page in pages if _is_open(page, plan))
    return contents.compose(
        pages, is_open, material.chapters, plan.last_page, min(room, cap), policy, plan.language, reader.count
    )


def _without_kept(chapter: Chapter, in_view: Sequence[str]) -> Chapter:
    """Return a chapter without its sentence where that says what is kept in mind anyway."""
    is_kept = chapter.sentence and any(text in chapter.sentence or chapter.sentence in text for text in in_view)
    return replace(chapter, sentence="", sentence_tokens=0) if is_kept else chapter


def _is_open(page: PageEntry, plan: EpochPlan) -> bool:
    now = plan.layout.trigger_page
    return contents.is_listed(page.page, page.recall_count, page.last_recalled_page, now, plan.policy)


def _kept(memories: Sequence[KeptLine], room: int, found_max: int, reader: HeadReader) -> tuple[list[SummaryLine], int]:
    """Return the lines of memories in mind that fit, with their days, and the number of those that do not. Equal
    texts count once. What a person wrote goes before what was found in messages, which has ``found_max`` at most.
    """
    each = {memory.text: memory for memory in reversed(memories)}
    lines = {}
    for memory in reversed(each.values()):
        day = f" ({memory.since.astimezone(UTC):%Y-%m-%d})"
        lines[SummaryLine(memory.text + day, memory.tokens + reader.count(day))] = memory.is_written
    written = head.take([line for line, is_written in lines.items() if is_written], room)
    found_max = min(found_max, room - head.weight(written))
    found = head.take([line for line, is_written in lines.items() if not is_written], found_max)
    chosen = {*written, *found}
    return [line for line in lines if line in chosen], len(lines) - len(chosen)


def _summary(
    plan: EpochPlan, material: Material, room: int, reader: HeadReader
) -> tuple[SummaryLine | None, HeadSummary]:
    """Return the line of topics and the stored summary; neither, where none is stored."""
    if material.summary is None or room < head.SUMMARY_ROOM_LEAST:
        return None, HeadSummary()
    topics = head.topics_line(material.topics, room, plan.language, reader.count)
    room -= head.weight([topics]) if topics else 0
    written = head.fitted_summary(material.summary, room, reader)
    return (topics, written) if written.lines else (None, HeadSummary())
