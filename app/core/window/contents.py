"""The contents page: a map of what left the view, as a tree of volumes, chapters and pages.

Chapters are runs of closed pages; eight of them form a volume, eight volumes a larger one. Every page out of view is
under exactly one line, at any cap that holds a line at all: its own, its chapter's, a volume's, or that of a run of
pages that have no chapter yet. The cap decides where the tree is cut, in this order:

1. Volumes open into their chapters, the newest first, while all lines fit MAP_SHARE of the cap. Where even the largest
   volumes do not fit, the oldest of them share a line.
2. Pages get lines of their own, the most recently used first, "used" being the last recall or else the end: those that
   rules m and p leave open; with all their messages' lines up to FULL_SHARE, then by title. A page closes again when it
   has never been recalled and ``m`` turns have passed since it ended, or when it was recalled and its count has not
   changed for ``p`` turns.
3. More volumes open, then chapters get their most telling sentence.

A page with a line of its own opens the volumes above it, so a recall opens a branch in the next epoch. Lines are frozen
when their chapter closes. ``core/window/head.py`` puts date lines between blocks; their tokens are part of the page's.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from app.core import wording
from app.core.model import Language, Policy
from app.core.neutral import flat
from app.core.search.days import dated, tokens_of

Count = Callable[[str], int]
"""Tokens of a text."""

LINES_PER_PAGE = 30
"""Messages of a page, from its first, whose lines are read."""
MAP_SHARE = 0.6
"""Part of the cap that chapters may take before pages get lines of their own."""
FULL_SHARE = 0.8
"""Part of it that these and pages with all their lines may take, before older pages get a line by title."""
LINE_OVERHEAD = 4
"""Tokens that a line's indent, role and line end add to its text."""
PAGE_OVERHEAD = 14
"""Tokens that "[Page 1234] ... (recalled 12x)" adds to a title."""
RUN_OVERHEAD = 16
"""Tokens of "[Pages 1234–1239] " and the line end."""
RUN_DAY_TOKENS = 8
"""Tokens that each day of a run adds to it."""
RUN_TOKENS = 44
"""Tokens of titles in the line of a run of pages."""
JOINED_TERMS = 16
"""Terms in a line that several volumes share."""
OPEN_PAGES = 36
"""Pages that can be in no chapter yet, and some more: their titles stand for them."""


@dataclass(frozen=True, slots=True)
class ContentsLine:
    seq: int
    role: str
    text: str
    tokens: int


@dataclass(frozen=True, slots=True)
class PageNames:
    """A model's title and lines for a page; ``lines`` are text and tokens by ``seq``."""

    title: str
    title_tokens: int
    lines: Mapping[int, tuple[str, int]]


@dataclass(frozen=True, slots=True)
class PageEntry:
    """An archived page as the contents page knows it."""

    page: int
    title: str
    title_tokens: int
    lines: tuple[ContentsLine, ...] = ()
    recall_count: int = 0
    last_recalled_page: int = 0
    """The page that was being written when it was last recalled; 0 for never."""
    source: str = "extractive"
    day: str = ""
    """The day it is of, such as "2030-01-31"."""

    @property
    def last_used(self) -> int:
        return max(self.page, self.last_recalled_page)

    @property
    def brief_tokens(self) -> int:
        return self.title_tokens + PAGE_OVERHEAD

    @property
    def lines_tokens(self) -> int:
        return sum(line.tokens + LINE_OVERHEAD for line in self.lines)


@dataclass(frozen=True, slots=True)
class Chapter:
    """A closed chapter, or a volume of them (level 2 and more)."""

    level: int
    first_page: int
    last_page: int
    at_page: int
    """The page that was opened when it closed: an epoch made on an earlier page does not know it."""
    terms: tuple[str, ...] = ()
    """What tells it from the others, the best first."""
    line: str = ""
    line_tokens: int = 0
    sentence: str = ""
    """Its most telling line; a volume has none."""
    sentence_tokens: int = 0
    first_day: str = ""
    last_day: str = ""


@dataclass(frozen=True, slots=True)
class ListedRun:
    """Pages that share a line, and the text of that line."""

    first_page: int
    last_page: int
    line: str


@dataclass(frozen=True, slots=True)
class ContentsPage:
    blocks: tuple[tuple[str, str], ...] = ()
    """Lines of the map, each with the day it begins on where a date line says it, in order."""
    tokens: int = 0
    """What the blocks weigh, and their date lines."""
    listed: tuple[int, ...] = ()
    chapters: tuple[ListedRun, ...] = ()
    unlisted: int = 0


@dataclass(frozen=True, slots=True)
class ChapterName:
    """A model's title and sentence for a chapter."""

    title: str
    title_tokens: int
    sentence: str
    sentence_tokens: int


def entitled(chapter: Chapter, name: ChapterName) -> Chapter:
    """Return the chapter with the model's title before its terms, and the model's sentence."""
    line = ": ".join(part for part in (name.title, chapter.line) if part)
    return replace(
        chapter,
        line=line,
        line_tokens=chapter.line_tokens + name.title_tokens + 1,
        sentence=name.sentence or chapter.sentence,
        sentence_tokens=name.sentence_tokens if name.sentence else chapter.sentence_tokens,
    )


def renamed(entry: PageEntry, names: PageNames | None) -> PageEntry:
    """Return the entry with the model's title and lines, as far as there are any."""
    if names is None:
        return entry
    lines = tuple(
        ContentsLine(line.seq, line.role, *names.lines[line.seq]) if line.seq in names.lines else line
        for line in entry.lines
    )
    title, tokens = (names.title, names.title_tokens) if names.title else (entry.title, entry.title_tokens)
    return replace(entry, title=title, title_tokens=tokens, lines=lines, source="llm")


def is_listed(page: int, recall_count: int, last_recalled_page: int, now_page: int, policy: Policy) -> bool:
    """Return whether rules m and p (see the module's docstring) leave a page open."""
    if recall_count == 0:
        return now_page - page <= policy.unlist_after_turns
    return now_page - last_recalled_page <= policy.unlist_unchanged_turns


def oldest_listable(now_page: int, policy: Policy) -> int:
    """Return the first page that can be listed without having been recalled."""
    return max(1, now_page - policy.unlist_after_turns)


# --- The cut through the tree ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Run:
    """Pages that share a line."""

    first: int
    last: int
    of: Chapter | None = None
    """The chapter or volume that they are a part of."""
    is_bare: bool = False

    @property
    def is_whole(self) -> bool:
        return self.of is not None and (self.of.first_page, self.of.last_page) == (self.first, self.last)


@dataclass(frozen=True, slots=True)
class _Cut:
    """The open part: volumes that end on ``opened_from`` or later; the pages before ``joined_until`` share one line."""

    joined_until: int
    opened_from: int
    is_bare: bool = False
    """That one line names the pages alone."""


@dataclass(frozen=True)
class _Map:
    """The tree and what its lines say."""

    chapters: Sequence[Chapter]
    titles: Mapping[int, PageEntry]
    last_page: int
    policy: Policy
    count: Count
    by_first: dict[int, list[Chapter]] = field(init=False, default_factory=dict)
    starts: list[int] = field(init=False, default_factory=list)
    weights: dict[tuple[int, int, bool, int], int] = field(init=False, default_factory=dict)
    """Tokens of runs, as far as they were asked for: many cuts have the same."""

    def __post_init__(self) -> None:
        for chapter in sorted(self.chapters, key=lambda c: -c.level):
            if chapter.last_page <= self.last_page:
                self.by_first.setdefault(chapter.first_page, []).append(chapter)
        self.starts.extend(sorted(self.by_first))

    def runs(self, cut: _Cut, listed: Sequence[int]) -> list[_Run]:
        """Return the runs that cover all pages but those listed, which are in order."""
        if not self.policy.chapter_lines:
            return []
        found: list[_Run] = []
        inside = [page for page in listed if page >= cut.joined_until]
        at, within = 1, None
        if cut.joined_until > 1:
            stops = [0, *(page for page in listed if page < cut.joined_until), cut.joined_until]
            found = [_Run(a + 1, b - 1, None, cut.is_bare) for a, b in pairwise(stops) if b - a > 1]
            at = cut.joined_until
        while at <= self.last_page:
            next_listed = bisect_left(inside, at)
            stop = inside[next_listed] if next_listed < len(inside) else self.last_page + 1
            within = next((c for c in reversed(self.by_first.get(at, ())) if c.last_page >= at), within)
            if stop == at:
                at += 1
                continue
            whole = next(
                (
                    c
                    for c in self.by_first.get(at, ())
                    if c.last_page < stop and (c.level == 1 or c.last_page < cut.opened_from)
                ),
                None,
            )
            if whole is None:
                next_start = bisect_right(self.starts, at)
                end = min(stop, self.starts[next_start] if next_start < len(self.starts) else stop) - 1
                of = within if within is not None and within.last_page >= end else None
                found.append(_Run(at, end, of))
            else:
                found.append(_Run(whole.first_page, whole.last_page, whole))
            at = found[-1].last + 1
        return found

    def cuts(self) -> list[_Cut]:
        none = self.last_page + 1
        whole = self.runs(_Cut(1, none), ())
        joined = [_Cut(run.last + 1, none) for run in reversed(whole)]
        volumes = sorted({c.last_page for some in self.by_first.values() for c in some if c.level > 1}, reverse=True)
        return [_Cut(none, none, is_bare=True), *joined, _Cut(1, none), *(_Cut(1, page) for page in volumes)]

    def said(self, run: _Run) -> tuple[str, int]:
        """Return what a run is about, and its tokens: the chapter's line, or the titles of its pages, or the best terms
        of the chapters in it.
        """
        if run.is_bare:
            return "", 0
        if run.is_whole and run.of is not None:
            return run.of.line, run.of.line_tokens
        inside = self._inside(run)
        if run.of is None and inside:
            best = dict.fromkeys(flat(term) for part in inside for term in part.terms[:1])
            line = ", ".join(list(best)[:JOINED_TERMS])
            return line, self.count(line)
        texts: list[str] = []
        tokens = 0
        for page in range(max(run.first, run.last - OPEN_PAGES), run.last + 1):
            entry = self.titles.get(page)
            if entry is not None and tokens + entry.title_tokens + 1 <= RUN_TOKENS:
                texts.append(flat(entry.title))
                tokens += entry.title_tokens + 1
        if texts or run.of is None:
            return "; ".join(texts), tokens
        return run.of.line, run.of.line_tokens

    def _inside(self, run: _Run) -> list[Chapter]:
        return [some[0] for first, some in sorted(self.by_first.items()) if run.first <= first <= run.last]

    def days(self, run: _Run) -> tuple[str, str]:
        if run.is_bare:
            return "", ""
        if run.is_whole and run.of is not None:
            return run.of.first_day, run.of.last_day
        parts = [run.of] if run.of is not None else self._inside(run)
        first, last = (self.titles[page].day if page in self.titles else "" for page in (run.first, run.last))
        return first or (parts[0].first_day if parts else ""), last or (parts[-1].last_day if parts else "")

    def tokens(self, runs: Iterable[_Run]) -> int:
        total = 0
        for run in runs:
            key = (run.first, run.last, run.is_bare, run.of.level if run.of is not None else 0)
            if key not in self.weights:
                self.weights[key] = self._weigh(run)
            total += self.weights[key]
        return total

    def _weigh(self, run: _Run) -> int:
        return RUN_OVERHEAD + RUN_DAY_TOKENS * len(set(self.days(run)) - {""}) + self.said(run)[1]


@dataclass(frozen=True, slots=True)
class _Chosen:
    cut: _Cut
    listed: tuple[PageEntry, ...] = ()
    full: frozenset[int] = frozenset()
    told: frozenset[int] = frozenset()
    """First pages of chapters that are shown with their sentence."""

    @property
    def pages(self) -> list[int]:
        return sorted(entry.page for entry in self.listed)

    def weight(self, tree: _Map) -> int:
        runs = tree.runs(self.cut, self.pages)
        tokens = tree.tokens(runs) + tokens_of(entry.day for entry in self.listed)
        tokens += sum(e.brief_tokens + (e.lines_tokens if e.page in self.full else 0) for e in self.listed)
        return tokens + sum(r.of.sentence_tokens + LINE_OVERHEAD for r in runs if r.of and r.first in self.told)


def compose(
    entries: Sequence[PageEntry],
    open_pages: frozenset[int],
    chapters: Sequence[Chapter],
    last_page: int,
    cap: int,
    policy: Policy,
    language: Language,
    count: Count,
) -> ContentsPage:
    """Compose the contents page for the pages up to ``last_page`` under a cap in tokens.

    ``open_pages`` are those that the rules list; the titles of the others stand for pages without a chapter.
    """
    if last_page < 1 or cap <= 0:
        return ContentsPage(unlisted=max(0, last_page))
    tree = _Map(chapters, {entry.page: entry for entry in entries}, last_page, policy, count)
    chosen = _choose(tree, [entry for entry in entries if entry.page in open_pages and entry.page <= last_page], cap)
    if chosen is None:
        return ContentsPage(unlisted=last_page)
    return _written(tree, chosen, language)


def _choose(tree: _Map, entries: Sequence[PageEntry], cap: int) -> _Chosen | None:
    """Return what is shown, by the steps of the module's docstring; None if not even one line fits."""
    recent = sorted(entries, key=lambda e: (-e.last_used, -e.page))
    cuts = [_Chosen(cut) for cut in tree.cuts()]

    def fits(chosen: _Chosen, room: float = cap) -> bool:
        return chosen.weight(tree) <= room

    if not cuts or not fits(cuts[0]):
        return None
    at = max(0, _most(len(cuts), lambda n: fits(cuts[n - 1], cap * MAP_SHARE)) - 1)

    def listing(pages: int, full: int) -> _Chosen:
        told = frozenset(entry.page for entry in recent[:full])
        return replace(cuts[at], listed=tuple(recent[:pages]), full=told)

    full = _most(len(recent), lambda n: fits(listing(n, n), cap * FULL_SHARE))
    listed = full + _most(len(recent) - full, lambda n: fits(listing(full + n, full)))
    chosen = listing(listed, full)
    finer = _most(len(cuts) - at, lambda n: fits(replace(chosen, cut=cuts[at + n - 1].cut)))
    chosen = replace(chosen, cut=cuts[at + max(finer, 1) - 1].cut)
    runs = tree.runs(chosen.cut, chosen.pages)
    told = [run.first for run in reversed(runs) if run.is_whole and run.of and run.of.sentence]
    telling = _most(len(told), lambda n: fits(replace(chosen, told=frozenset(told[:n]))))
    return replace(chosen, told=frozenset(told[:telling]))


def _most(limit: int, fits: Callable[[int], bool]) -> int:
    """Return the largest number up to a limit that fits, by halving; 0 if not even one does."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


# --- Its text ----------------------------------------------------------------------------------------


def _written(tree: _Map, chosen: _Chosen, language: Language) -> ContentsPage:
    runs = tree.runs(chosen.cut, chosen.pages)
    lines = [ListedRun(run.first, run.last, _run_line(tree, run, language)) for run in runs]
    blocks = {e.page: (_page_text(e, language, with_lines=e.page in chosen.full), e.day) for e in chosen.listed}
    for run, line in zip(runs, lines, strict=True):
        sentence = f"\n  {flat(run.of.sentence)}" if run.of is not None and run.first in chosen.told else ""
        blocks[run.first] = (f"{line.line}{sentence}", "")
    return ContentsPage(
        blocks=tuple(blocks[page] for page in sorted(blocks)),
        tokens=chosen.weight(tree),
        listed=tuple(chosen.pages),
        chapters=tuple(lines),
        unlisted=tree.last_page - len(chosen.listed),
    )


def run_lines(entries: Sequence[PageEntry], room: int, language: Language) -> tuple[int, list[str]]:
    """Return the lines of a run of pages: their messages' too while all fit a room in tokens, else titles alone, as
    many as fit, at least one; and the last page that has one.
    """
    days = tokens_of(entry.day for entry in entries)
    with_lines = days + sum(entry.brief_tokens + entry.lines_tokens for entry in entries) <= room
    shown: list[tuple[str, str]] = []
    for entry in entries:
        room -= entry.brief_tokens + (entry.lines_tokens if with_lines else 0)
        if room - tokens_of({day for _, day in shown} | {entry.day}) < 0 and shown:
            break
        shown.append((_page_text(entry, language, with_lines=with_lines), entry.day))
    return entries[len(shown) - 1].page, dated(shown, "", language)[0]


def _run_line(tree: _Map, run: _Run, language: Language) -> str:
    first, last = tree.days(run)
    both = first and last and first != last
    days = wording.UNTIL.say(language, since=first, day=last) if both else first or last
    of_days = f", {days}" if days else ""
    if run.first == run.last:
        pages = wording.PAGE.say(language, page=run.first, to=of_days)
    else:
        pages = wording.PAGES.say(language, first=run.first, last=run.last, to=of_days)
    return f"{pages} {flat(tree.said(run)[0])}".rstrip()


def _page_text(entry: PageEntry, language: Language, *, with_lines: bool) -> str:
    recalled = wording.RECALLED.say(language, count=entry.recall_count) if entry.recall_count else ""
    heading = f"{wording.PAGE.say(language, page=entry.page, to='')} {flat(entry.title)}{recalled}"
    if not with_lines:
        return heading
    return "\n".join([heading, *(f"  {line.role}: {flat(line.text)}" for line in entry.lines)])
