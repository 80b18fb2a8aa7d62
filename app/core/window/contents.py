"""The contents page: a map of what left the view, as a tree of volumes, chapters and pages.

Chapters are runs of closed pages, at most sixteen; eight of them form a volume, eight volumes a larger one. Every page
out of view is under exactly one line, at any cap that holds a line at all: its own, its chapter's, a volume's, or that
of a run of pages that have no chapter yet. What fits is opened in this order:

1. Volumes open into their chapters, the newest first, so that no line stands for more than sixteen pages while there is
   room for two. Chapters in a row of at most sixteen pages together share a line, unless there is room for each. Where
   even the largest volumes do not fit, the oldest of them share a line.
2. Pages get lines of their own, the most recently used first, "used" being the last recall or else the end: in what
   chapters with sixteen terms leave. A larger cap never lists fewer.
3. Chapters say as many terms as fit that tell them from the others, up to sixteen each and 32 a line;
   then the newest pages get all their messages' lines.

Only pages that rules m and p leave open get lines of their own: one closes again when it has never been recalled and
``m`` turns have passed since it ended, or when it was recalled and its count has not changed for ``p`` turns. Lines are
frozen when their chapter closes.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import accumulate, zip_longest
from typing import NamedTuple

from app.core import wording
from app.core.model import Language, Policy
from app.core.neutral import flat
from app.core.search.days import dated, tokens_of

Count = Callable[[str], int]
"""Tokens of a text."""

LINES_PER_PAGE = 30
"""Messages of a page, from its first, whose lines are read."""
PAGES_SHARE = 0.1
"""Part of the cap that pages have for lines of their own even where chapters leave less."""
TERMS_FIRST, TERMS = 16, 32
"""Terms of a chapter, which it has before pages have lines; and at most of a line. More words lead to the right chapter
more often, and than titles of pages do: at 8,000 tokens 33, 37, 44 and 47 % of LoCoMo's questions are led to it with 8,
12, 14 and 16 terms first.
"""
TERMS_APART = 8
"""Terms with which short chapters have lines of their own; with fewer, those in a row share one."""
LINE_OVERHEAD = 4
"""Tokens that a line's indent, role and line end add to its text."""
PAGE_OVERHEAD = 4
"""Tokens that "123: " and the line end add to a title."""
PAGE_TOKENS_MIN = 10
"""A page's line has hardly ever fewer: more pages than fit so are not read."""
CHAPTER_TOKENS_MIN = 12
"""A chapter's line has hardly ever fewer, with the terms that it has before pages have lines."""
CHAPTERS_MAX = 128
"""The newest chapters of each level that a map shows."""
RECALLED_TOKENS = 8
"""Tokens of " (recalled 12×)"."""
MONTH_TOKENS = 8
"""Tokens of a month's line and its line end."""
RUN_PAGES = 16
"""Pages that share a line where no chapter holds them."""
OPEN_PAGES = 36
"""Pages that can be in no chapter yet, and some more: their titles stand for them."""


class ContentsLine(NamedTuple):
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


class PageEntry(NamedTuple):
    """An archived page as the contents page knows it. A tuple, like its lines: each cut makes hundreds of them."""

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
        return self.title_tokens + PAGE_OVERHEAD + (RECALLED_TOKENS if self.recall_count else 0)

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
    day: str = ""
    """The day it begins on, such as "2030-01-31"."""


@dataclass(frozen=True, slots=True)
class ListedRun:
    """Pages that share a line, and the text of that line."""

    first_page: int
    last_page: int
    line: str


@dataclass(frozen=True, slots=True)
class ContentsPage:
    lines: tuple[str, ...] = ()
    """In order; a line of its own says where the month changes."""
    tokens: int = 0
    listed: tuple[int, ...] = ()
    chapters: tuple[ListedRun, ...] = ()
    unlisted: int = 0


def renamed(entry: PageEntry, names: PageNames | None) -> PageEntry:
    """Return the entry with the model's title and lines, as far as there are any."""
    if names is None:
        return entry
    lines = tuple(
        ContentsLine(line.seq, line.role, *names.lines[line.seq]) if line.seq in names.lines else line
        for line in entry.lines
    )
    title, tokens = (names.title, names.title_tokens) if names.title else (entry.title, entry.title_tokens)
    return entry._replace(title=title, title_tokens=tokens, lines=lines, source="llm")


def is_listed(page: int, recall_count: int, last_recalled_page: int, now_page: int, policy: Policy) -> bool:
    """Return whether rules m and p (see the module's docstring) leave a page open."""
    if recall_count == 0:
        return now_page - page <= policy.unlist_after_turns
    return now_page - last_recalled_page <= policy.unlist_unchanged_turns


def oldest_listable(now_page: int, policy: Policy) -> int:
    """Return the first page that can be listed without having been recalled."""
    return max(1, now_page - policy.unlist_after_turns)


def pages_max(room: int, last_page: int) -> int:
    """Return how many pages can have lines of their own in a room, beside the chapters of the others."""
    chapters = min(CHAPTERS_MAX, max(0, last_page - OPEN_PAGES) // RUN_PAGES)
    return int(max(room * PAGES_SHARE, room - CHAPTER_TOKENS_MIN * chapters)) // PAGE_TOKENS_MIN


# --- What is open ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Run:
    """Pages that share a line."""

    first: int
    last: int
    terms: tuple[str, ...] = ()
    """What they are about, the best first."""
    day: str = ""
    of: Chapter | None = None
    """The chapter, if they are all or the rest of one."""
    is_titled: bool = False
    """Its terms are titles of its pages."""

    @property
    def pages(self) -> str:
        return f"{self.first}–{self.last}" if self.last > self.first else str(self.first)

    def line(self, terms: int) -> str:
        return f"{self.pages}: {flat(', '.join(self.terms[:terms]))}" if self.terms and terms else self.pages


@dataclass(frozen=True)
class _Map:
    """The tree, and what its lines weigh."""

    chapters: Sequence[Chapter]
    pages: Mapping[int, PageEntry]
    last_page: int
    count: Count

    def covers(self) -> tuple[Sequence[Callable[[], Sequence[_Run]]], Sequence[_Run]]:
        """Return the ways to cover all pages by runs, the coarsest first: the oldest share a line, then the largest
        volumes, then each volume open into its parts, the newest first. Few of many are looked at. And the finest, in
        which short chapters share no line.
        """
        known = [one for one in self.chapters if one.last_page <= self.last_page]
        volumes = sorted((one for one in known if one.level > 1), key=lambda one: (-one.level, -one.first_page))
        cover = self._filled([_run(one) for one in known if not any(_holds(volume, one) for volume in volumes)])
        found: list[Callable[[], Sequence[_Run]]] = [
            partial(self._coarse, cover, at) for at in range(len(cover), 0, -1)
        ]
        for volume in volumes:
            parts = [one for one in known if one.level == volume.level - 1 and _holds(volume, one)]
            if parts and parts[0].first_page == volume.first_page:
                kept = [run for run in cover if run.of is not None and run.of is not volume]
                cover = self._filled(sorted([*kept, *map(_run, parts)], key=lambda run: run.first))
                found.append(partial(self._coarse, cover, 1))
        return found, cover

    def _coarse(self, cover: Sequence[_Run], joined: int) -> Sequence[_Run]:
        """Return a cover whose oldest runs, so many, are one, and whose short chapters share lines."""
        return _together([self._joined(cover[:joined]), *cover[joined:]] if joined > 1 else cover, self._joined)

    def _filled(self, runs: Sequence[_Run]) -> list[_Run]:
        """Return runs with others of at most RUN_PAGES between and after them."""
        found: list[_Run] = []
        at = 1
        for run in (*runs, None):
            end = self.last_page if run is None else run.first - 1
            while at <= end:
                last = min(at + RUN_PAGES - 1, end)
                day = self.pages[at].day if at in self.pages else ""
                found.append(_Run(at, last, self.titles(at, last), day, is_titled=True))
                at = last + 1
            if run is not None:
                found.append(run)
                at = run.last + 1
        return found

    def titles(self, first: int, last: int) -> tuple[str, ...]:
        found = (self.pages[page].title for page in range(last, first - 1, -1) if page in self.pages)
        return tuple(flat(title) for title in found if title)

    def _joined(self, runs: Sequence[_Run]) -> _Run:
        ranked = [term for rank in zip_longest(*(run.terms for run in runs)) for term in rank if term]
        return _Run(runs[0].first, runs[-1].last, tuple(dict.fromkeys(ranked))[:TERMS], runs[0].day)

    def opened(self, cover: Sequence[_Run], pages: tuple[PageEntry, ...] = (), terms: int = 0) -> _Open:
        """Return a map of runs and of pages that have lines of their own."""
        listed = sorted(page.page for page in pages)
        runs: list[_Run] = []
        for run in cover:
            at = run.first
            inside = listed[bisect_left(listed, run.first) : bisect_right(listed, run.last)]
            for page in (*inside, run.last + 1):
                if (at, page) == (run.first, run.last + 1):
                    runs.append(run)
                elif page > at:
                    told = self.titles(at, page - 1) if run.is_titled else run.terms
                    runs.append(_Run(at, page - 1, told, run.day, run.of, run.is_titled))
                at = page + 1
        bare = sum(_tokens(run.pages, self.count) + 1 for run in runs) + sum(page.brief_tokens for page in pages)
        return _Open(runs, pages, bare + _months([*runs, *pages]), self.count, terms)


@lru_cache(65_536)
def _tokens(text: str, count: Count) -> int:
    return count(text)


@lru_cache(8_192)
def _sizes(terms: tuple[str, ...], count: Count) -> Sequence[int]:
    """Return the tokens of ": a, b" by the number of terms, up to TERMS: as no token reaches over the blank before a
    word, they add up. A chapter's terms never change, so its next cuts need not count them again.
    """
    each = [f" {flat(term)}" for term in terms[:TERMS]]
    inner = accumulate((count(f"{term},") for term in each), initial=count(":"))
    sizes = [0, *(before + count(term) for before, term in zip(inner, each, strict=False))]
    return sizes + sizes[-1:] * (TERMS + 1 - len(sizes))


def _together(cover: Sequence[_Run], joined: Callable[[Sequence[_Run]], _Run]) -> list[_Run]:
    """Return a cover with one line for chapters in a row that have at most RUN_PAGES pages together: a line of bare
    numbers tells nothing, and one with the terms of four short chapters weighs less than four.
    """
    groups: list[list[_Run]] = []
    for run in cover:
        first = groups[-1][0] if groups else run
        is_short = groups and not run.is_titled and not first.is_titled and run.last - first.first < RUN_PAGES
        if is_short:
            groups[-1].append(run)
        else:
            groups.append([run])
    return [joined(group) if len(group) > 1 else group[0] for group in groups]


def _run(chapter: Chapter) -> _Run:
    return _Run(chapter.first_page, chapter.last_page, chapter.terms, chapter.day, chapter)


def _holds(volume: Chapter, part: Chapter) -> bool:
    inside = volume.first_page <= part.first_page and part.last_page <= volume.last_page
    return volume.level > part.level and inside


@dataclass(frozen=True, slots=True)
class _Open:
    """The content of a map: runs with so many terms, and pages by their titles, some with their messages' lines."""

    runs: Sequence[_Run]
    """Without the pages that have lines of their own."""
    pages: tuple[PageEntry, ...]
    bare: int
    """What it weighs without terms and messages' lines."""
    count: Count
    terms: int = 0
    full: int = 0
    """Of the pages, the first ones that have all their lines."""

    def told(self, terms: int) -> int:
        """Return what terms weigh, with so many a run at most."""
        return sum(_sizes(run.terms, self.count)[terms] for run in self.runs) if terms else 0

    @property
    def weight(self) -> int:
        return self.bare + self.told(self.terms) + sum(page.lines_tokens for page in self.pages[: self.full])

    def filled(self, cap: int) -> _Open:
        """Return the map with as many terms as a cap holds, and then as many pages with all their lines."""
        terms = bisect_right(range(TERMS + 1), cap - self.bare, key=self.told) - 1
        lines = accumulate(page.lines_tokens for page in self.pages)
        return replace(self, terms=terms, full=bisect_right([*lines], cap - self.bare - self.told(terms)))


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
    tree = _Map(chapters, {entry.page: entry for entry in entries}, last_page, count)
    listable = [entry for entry in entries if entry.page in open_pages and entry.page <= last_page and entry.title]
    shown = _choose(tree, listable, cap, policy)
    return _written(tree, shown, language) if shown is not None else ContentsPage(unlisted=last_page)


def _choose(tree: _Map, entries: Sequence[PageEntry], cap: int, policy: Policy) -> _Open | None:
    """Return what is open, by the steps of the module's docstring; None if not even one line fits."""
    recent = sorted(entries, key=lambda e: (-e.last_used, -e.page))
    covers, apart = tree.covers() if policy.chapter_lines else ([tuple], ())
    coarsest, finest = covers[0](), covers[-1]()

    def opened(number: int) -> _Open:
        return tree.opened(covers[number](), tuple(recent[:pages]))

    if tree.opened(coarsest).weight > cap:
        return None
    room = max(cap * PAGES_SHARE, cap - _chapters_weight(apart, tree))

    def has_room(count: int) -> bool:
        listed = tuple(recent[:count])
        if _pages_weight(listed) <= room:
            return tree.opened(coarsest, listed).weight <= cap
        rest = [page for page in listed if not page.recall_count]  # the others open beside chapters without terms
        return _pages_weight(rest) <= room and tree.opened(finest, listed).weight <= cap

    pages = _most(len(recent), has_room)
    number = _most(len(covers), lambda n: opened(n - 1).weight <= cap)
    best = opened(max(0, number - 1))
    if number == len(covers) and (own := tree.opened(apart, best.pages, TERMS_APART)).weight <= cap:
        best = own
    return best.filled(cap)


def _chapters_weight(cover: Sequence[_Run], tree: _Map) -> int:
    """Return what chapters weigh with TERMS_FIRST terms each, whatever pages are listed: so a larger cap lists more."""
    named = [replace(run, terms=()) if run.is_titled else run for run in cover]
    return tree.opened(named, terms=TERMS_FIRST).weight


def _months(lines: Sequence[_Run | PageEntry]) -> int:
    """Return what the lines weigh that say where the month changes."""
    return MONTH_TOKENS * len({line.day[:7] for line in lines} - {""})


def _pages_weight(pages: Sequence[PageEntry]) -> int:
    return sum(page.brief_tokens for page in pages) + _months(pages)


def _most(limit: int, fits: Callable[[int], bool]) -> int:
    """Return the largest number up to a limit that fits, by halving; 0 if not even one does."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


# --- Its text ----------------------------------------------------------------------------------------


def _written(tree: _Map, shown: _Open, language: Language) -> ContentsPage:
    lines = [ListedRun(run.first, run.last, run.line(shown.terms)) for run in shown.runs]
    texts = {run.first: (line.line, run.day) for run, line in zip(shown.runs, lines, strict=True)}
    for at, page in enumerate(shown.pages):
        text = _entry_text(f"{page.page}:", page, language, with_lines=at < shown.full)
        texts[page.page] = (text, page.day)
    blocks: list[str] = []
    month = ""
    for text, day in (texts[page] for page in sorted(texts)):
        if day and day[:7] != month:
            month = day[:7]
            blocks.append(f"[{month}]")
        blocks.append(text)
    return ContentsPage(
        lines=tuple(blocks),
        tokens=shown.weight,
        listed=tuple(sorted(page.page for page in shown.pages)),
        chapters=tuple(lines),
        unlisted=tree.last_page - len(shown.pages),
    )


def _entry_text(label: str, entry: PageEntry, language: Language, *, with_lines: bool) -> str:
    recalled = wording.RECALLED.say(language, count=entry.recall_count) if entry.recall_count else ""
    lines = [f"  {line.role}: {flat(line.text)}" for line in entry.lines] if with_lines else []
    return "\n".join([f"{label} {flat(entry.title)}{recalled}", *lines])


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
        label = wording.PAGE.say(language, page=entry.page, to="")
        shown.append((_entry_text(label, entry, language, with_lines=with_lines), entry.day))
    return entries[len(shown) - 1].page, dated(shown, "", language)[0]
