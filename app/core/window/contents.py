"""The contents page: a map of the pages out of view, as a tree of volumes, chapters and pages.

Chapters are runs of at most sixteen closed pages; eight of them form a volume, eight volumes a larger one. Every page
out of view is under exactly one line, at any cap that holds a line at all: its own, its chapter's, a volume's, or the
line of a run of pages that have no chapter yet. The room is used in this order:

1. Volumes open into their chapters, the newest first, so that no line stands for more than sixteen pages while there is
   room for two. Consecutive chapters with at most sixteen pages together share a line, unless there is room for each.
   If even the largest volumes do not fit, the oldest of them share a line.
2. Pages get lines of their own in the room that chapters with sixteen terms leave. The most recently used come first,
   by their last recall or else their end. A larger cap never lists fewer pages.
3. Chapters name as many of their distinctive terms as fit, up to sixteen each and 32 a line;
   then the newest pages get all their messages' lines.

Only pages that rules m and p leave open get lines of their own: a page closes when it has never been recalled and ``m``
turns have passed since it ended, or when it was recalled and its count has not changed for ``p`` turns. Lines are
frozen when their chapter closes.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from itertools import accumulate, zip_longest
from operator import attrgetter
from typing import Any, NamedTuple

from app.core import wording
from app.core.model import Language, Policy
from app.core.neutral import flat
from app.core.search.days import dated, tokens_of

Count = Callable[[str], int]
"""Returns the tokens of a text."""

LINES_PER_PAGE = 30
"""The number of a page's first messages whose lines are read."""
PAGES_SHARE = 0.1
"""The share of the cap that pages get for lines of their own even if chapters leave less."""
TERMS_FIRST, TERMS = 16, 32
"""Terms that each chapter gets before pages get lines, and the most terms of a line. More terms, rather than titles of
pages, lead to the right chapter more often: for 33, 37, 44 and 47 % of LoCoMo's questions at 8,000 tokens with 8, 12,
14 and 16 terms first.
"""
TERMS_APART = 8
"""Short chapters get lines of their own if each line has room for this many terms; otherwise neighbours share one."""
LINE_OVERHEAD = 4
"""Tokens that the indent, the role and the line end add to a message's line."""
PAGE_OVERHEAD = 4
"""Tokens that "123: " and the line end add to a title."""
PAGE_TOKENS_MIN = 10
"""Tokens that nearly every page's line exceeds. They bound the number of pages to read."""
CHAPTERS_MAX = 128
"""The number of newest chapters of each level that a map shows."""
CHAPTERS_OPEN = 120
"""The number of these that are certain to be in volumes whose chapters are all known."""
RECALLED_TOKENS = 8
"""Tokens of " (recalled 12×)"."""
MONTH_TOKENS = 8
"""Tokens of a month's line and its line end."""
RUN_PAGES = 16
"""The number of pages that share a line if they are in no chapter."""
OPEN_PAGES = 36
"""An upper bound of the newest pages that are in no chapter yet. Their line shows their titles."""


class ContentsLine(NamedTuple):
    seq: int
    role: str
    text: str
    tokens: int


class PageEntry(NamedTuple):
    """A page for the contents page. A tuple, like its lines, because each cut makes hundreds of them."""

    page: int
    title: str
    title_tokens: int
    lines: tuple[ContentsLine, ...] = ()
    recall_count: int = 0
    last_recalled_page: int = 0
    """The conversation's last page at the time of the last recall; 0 if there was none."""
    source: str = "extractive"
    day: str = ""
    """The page's day, such as "2030-01-31"."""

    @property
    def last_used(self) -> int:
        return max(self.page, self.last_recalled_page)

    @property
    def lines_tokens(self) -> int:
        return sum([line.tokens + LINE_OVERHEAD for line in self.lines])


@dataclass(frozen=True, slots=True)
class Chapter:
    """A closed chapter (level 1), or a volume (level 2 and more)."""

    level: int
    first_page: int
    last_page: int
    at_page: int
    """The page that was opened when it closed. An epoch that was made on an earlier page does not show it."""
    terms: tuple[str, ...] = ()
    """The terms that distinguish it from the others, the best first."""
    day: str = ""
    """The day of its first page, such as "2030-01-31"."""


@dataclass(frozen=True, slots=True)
class ContentsPage:
    lines: tuple[str, ...] = ()
    """In order, with an additional line wherever the month changes."""
    tokens: int = 0
    listed: tuple[int, ...] = ()


def is_listed(page: int, recall_count: int, last_recalled_page: int, now_page: int, policy: Policy) -> bool:
    """Return whether rules m and p (see the module docstring) leave a page open."""
    if recall_count == 0:
        return now_page - page <= policy.unlist_after_turns
    return now_page - last_recalled_page <= policy.unlist_unchanged_turns


def oldest_listable(now_page: int, policy: Policy) -> int:
    """Return the oldest page that can be listed although it was never recalled."""
    return max(1, now_page - policy.unlist_after_turns)


def pages_max(room: int, chapters: Sequence[Chapter], count: Count) -> int:
    """Return an upper bound of the pages that get lines of their own in a room beside the newest chapters. (Older
    chapters can be in volumes that stay closed.)
    """
    newest = [chapter for chapter in chapters if chapter.level == 1][-CHAPTERS_OPEN:]
    taken = sum([_bare(c.first_page, c.last_page, count) + _sizes(c.terms, count)[TERMS_FIRST] for c in newest])
    return int(max(room * PAGES_SHARE, room - taken)) // PAGE_TOKENS_MIN


# --- What is open ------------------------------------------------------------------------------------


class _Run(NamedTuple):
    """Pages that share a line. Only for the map that is shown are the terms of joined or titled runs looked up."""

    first: int
    last: int
    bare: int
    """Tokens of the line without terms."""
    day: str = ""
    terms: tuple[str, ...] = ()
    """A chapter's terms, the best first."""
    of: Sequence[_Run] = ()
    """The runs that this one joins."""
    is_titled: bool = False
    """Whether its line shows the titles of its pages, because they are in no chapter."""


@dataclass(frozen=True)
class _Map:
    """The tree of chapters and pages, and the ways to cover all pages by runs.

    A cover's number is the number of volumes that are opened into their parts, the largest and newest first. In cover
    -1 no volume is open and the two oldest runs share a line; in -2 the three oldest, and so on.
    """

    chapters: Sequence[Chapter]
    pages: Mapping[int, PageEntry]
    last_page: int
    count: Count

    @cached_property
    def _covers(self) -> Sequence[Sequence[Chapter]]:
        known = sorted(self.chapters, key=attrgetter("level"), reverse=True)
        known = [c for c in sorted(known, key=attrgetter("first_page")) if c.last_page <= self.last_page]
        top: list[Chapter] = []
        for chapter in known:  # a volume comes before its parts
            if not top or top[-1].last_page < chapter.first_page:
                top.append(chapter)
        covers = [top]
        volumes = [chapter for chapter in known if chapter.level > 1]
        for volume in sorted(volumes, key=attrgetter("level", "first_page"), reverse=True):
            inside = range(volume.first_page, volume.last_page + 1)
            parts = [c for c in known if c.level == volume.level - 1 and c.first_page in inside]
            if parts and parts[0].first_page == volume.first_page:
                covers.append([part for c in covers[-1] for part in (parts if c is volume else (c,))])
        return covers

    def _run(self, first: int, last: int, day: str, terms: tuple[str, ...] = (), **more: Any) -> _Run:
        return _Run(first, last, _bare(first, last, self.count), day, terms, **more)

    @property
    def finest(self) -> int:
        return len(self._covers) - 1

    @cached_property
    def coarsest(self) -> int:
        return min(0, 1 - len(self._cover(0)))

    @cached_property
    def apart(self) -> Sequence[_Run]:
        """The finest cover, with a line for each chapter."""
        return self._cover(self.finest)

    def cover(self, number: int) -> Sequence[_Run]:
        """Return a cover in which short chapters share lines."""
        cover = self.apart if number == self.finest else self._cover(max(0, number))
        return self._together([self._joined(cover[: 1 - number]), *cover[1 - number :]] if number < 0 else cover)

    def _cover(self, opened: int) -> list[_Run]:
        """Return the cover with this number of open volumes, and runs of at most RUN_PAGES for pages in no chapter."""
        runs: list[_Run] = []
        at = 1
        for chapter in self._covers[opened]:
            if at < chapter.first_page:
                runs += self._unheld(at, chapter.first_page - 1)
            runs.append(self._run(chapter.first_page, chapter.last_page, chapter.day, chapter.terms))
            at = chapter.last_page + 1
        return [*runs, *self._unheld(at, self.last_page)]

    def _unheld(self, first: int, last: int) -> Iterator[_Run]:
        for at in range(first, last + 1, RUN_PAGES):
            day = self.pages[at].day if at in self.pages else ""
            yield self._run(at, min(at + RUN_PAGES - 1, last), day, is_titled=True)

    def _joined(self, runs: Sequence[_Run]) -> _Run:
        return self._run(runs[0].first, runs[-1].last, runs[0].day, of=runs)

    def _together(self, cover: Sequence[_Run]) -> list[_Run]:
        """Join consecutive chapters that have at most RUN_PAGES pages together: a line of bare numbers says nothing,
        and one line with the terms of four short chapters takes fewer tokens than four lines.
        """
        groups: list[list[_Run]] = []
        for run in cover:
            first = groups[-1][0] if groups else run
            is_short = groups and not run.is_titled and not first.is_titled and run.last - first.first < RUN_PAGES
            if is_short:
                groups[-1].append(run)
            else:
                groups.append([run])
        return [self._joined(group) if len(group) > 1 else group[0] for group in groups]

    def opened(self, cover: Sequence[_Run], pages: Sequence[PageEntry] = ()) -> _Open:
        """Return a map of a cover's runs in which ``pages`` have lines of their own."""
        listed = sorted([page.page for page in pages], reverse=True)
        whole = bisect_left(cover, listed[-1], key=attrgetter("last")) if listed else len(cover)
        runs = list(cover[:whole])
        for run in cover[whole:]:
            at = run.first
            while listed and listed[-1] <= run.last:
                page = listed.pop()
                if at < page:
                    runs.append(self._rest(run, at, page - 1))
                at = page + 1
            if at <= run.last:
                runs.append(self._rest(run, at, run.last))
        bare = sum([run.bare for run in runs]) + _titles_weight(pages) + _months([*runs, *pages])
        return _Open(runs, pages, bare)

    def _rest(self, run: _Run, first: int, last: int) -> _Run:
        return run._replace(first=first, last=last, bare=_bare(first, last, self.count))

    def with_terms(self, shown: _Open) -> _Open:
        """Return a map with the terms of all its runs."""
        runs = [run._replace(terms=self._terms(run)) if run.of or run.is_titled else run for run in shown.runs]
        return replace(shown, runs=runs, sizes=[_sizes(run.terms, self.count) for run in runs])

    def _terms(self, run: _Run) -> tuple[str, ...]:
        if run.is_titled:
            titles = (self.pages[page].title for page in range(run.last, run.first - 1, -1) if page in self.pages)
            return tuple([flat(title) for title in titles if title])
        if not run.of:
            return run.terms
        ranked = [term for rank in zip_longest(*map(self._terms, run.of)) for term in rank if term]
        return tuple(dict.fromkeys(ranked))[:TERMS]


def _numbers(first: int, last: int) -> str:
    return f"{first}–{last}" if last > first else str(first)


def _bare(first: int, last: int, count: Count) -> int:
    """Return the tokens of a line without terms."""
    return short_tokens(_numbers(first, last), count) + 1


@lru_cache(65_536)
def short_tokens(text: str, count: Count) -> int:
    """Return the tokens of page numbers or a date, cached because many lines share them. They quote no user."""
    return count(text)


@lru_cache(8_192)
def _sizes(terms: tuple[str, ...], count: Count) -> Sequence[int]:
    """Return the tokens of ": a, b" for 0 to TERMS terms. Terms are counted one by one, because no token crosses the
    blank before a word. A chapter's terms never change, so later cuts need not count them again.
    """
    each = [f" {flat(term)}" for term in terms[:TERMS]]
    inner = accumulate((count(f"{term},") for term in each), initial=count(":"))
    sizes = [0, *(before + count(term) for before, term in zip(inner, each, strict=False))]
    return sizes + sizes[-1:] * (TERMS + 1 - len(sizes))


@dataclass(frozen=True, slots=True)
class _Open:
    """The content of a map: runs with up to ``terms`` terms, and pages by title, some with their messages' lines."""

    runs: Sequence[_Run]
    """The runs, without the pages that have lines of their own."""
    pages: Sequence[PageEntry]
    bare: int
    """Tokens without terms and messages' lines."""
    sizes: Sequence[Sequence[int]] = ()
    """Tokens of each run's terms, by their number."""
    terms: int = 0
    full: int = 0
    """The number of first ``pages`` that show their messages' lines."""

    def weight(self, terms: int) -> int:
        """Return the map's tokens with at most this number of terms a run, without messages' lines."""
        return self.bare + sum([sizes[terms] for sizes in self.sizes])

    @property
    def tokens(self) -> int:
        return self.weight(self.terms) + sum(page.lines_tokens for page in self.pages[: self.full])

    def filled(self, cap: int) -> _Open:
        """Return the map with as many terms as fit a cap, and then as many pages with their messages' lines."""
        terms = bisect_right(range(TERMS + 1), cap, key=self.weight) - 1
        left, full = cap - self.weight(terms), 0
        for page in self.pages:
            if (left := left - page.lines_tokens) < 0:
                break
            full += 1
        return replace(self, terms=terms, full=full)


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

    Only ``open_pages`` can get lines of their own. Other entries lend their titles to runs of pages without a chapter.
    """
    if last_page < 1 or cap <= 0:
        return ContentsPage()
    covered = last_page if policy.chapter_lines else 0
    tree = _Map(chapters, {entry.page: entry for entry in entries}, covered, count)
    listable = [entry for entry in entries if entry.page in open_pages and entry.page <= last_page and entry.title]
    shown = _choose(tree, listable, cap)
    return _written(shown, language) if shown is not None else ContentsPage()


def _choose(tree: _Map, entries: Sequence[PageEntry], cap: int) -> _Open | None:
    """Return the map that the module docstring describes; None if not even one line fits.

    The finest cover is tried first: usually it fits, and then all the others do.
    """
    recent = sorted(entries, key=attrgetter("last_used", "page"), reverse=True)
    finest, cover = tree.finest, cache(tree.cover)

    def fits(number: int, pages: int) -> bool:
        return tree.opened(cover(number), recent[:pages]).bare <= cap

    if not fits(finest, 0) and not fits(tree.coarsest, 0):
        return None
    room = max(cap * PAGES_SHARE, cap - _chapters_weight(tree.apart, tree.count))

    def has_room(pages: int) -> bool:
        listed = recent[:pages]
        rest = [page for page in listed if not page.recall_count]  # recalled pages open even if chapters lose terms
        if _pages_weight(rest) > room:
            return False
        return fits(finest, pages) or (_pages_weight(listed) <= room and fits(tree.coarsest, pages))

    pages = _most(len(recent), has_room)
    if fits(finest, pages):
        own = tree.with_terms(tree.opened(tree.apart, recent[:pages]))
        best = own if own.weight(TERMS_APART) <= cap else tree.with_terms(tree.opened(cover(finest), recent[:pages]))
    else:
        coarsest = tree.coarsest
        more = _most(finest - coarsest - 1, lambda more: fits(coarsest + more, pages))
        best = tree.with_terms(tree.opened(cover(coarsest + more), recent[:pages]))
    return best.filled(cap)


def _chapters_weight(cover: Sequence[_Run], count: Count) -> int:
    """Return the tokens of all chapters with TERMS_FIRST terms, listed pages or not: so a larger cap lists more."""
    terms = sum([_sizes(run.terms, count)[TERMS_FIRST] for run in cover])
    return sum([run.bare for run in cover]) + terms + _months(cover)


def _months(lines: Sequence[_Run | PageEntry]) -> int:
    """Return the tokens of the lines that show where the month changes."""
    return MONTH_TOKENS * len({line.day[:7] for line in lines} - {""})


def _titles_weight(pages: Iterable[PageEntry]) -> int:
    return sum([page.title_tokens + PAGE_OVERHEAD + (RECALLED_TOKENS if page.recall_count else 0) for page in pages])


def _pages_weight(pages: Sequence[PageEntry]) -> int:
    return _titles_weight(pages) + _months(pages)


def _most(limit: int, fits: Callable[[int], bool]) -> int:
    """Return the largest number up to a limit that fits, by binary search; 0 if not even 1 does."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


# --- The text of the map -----------------------------------------------------------------------------


def _written(shown: _Open, language: Language) -> ContentsPage:
    texts = [(run.first, _line(run, shown.terms), run.day) for run in shown.runs]
    for at, page in enumerate(shown.pages):
        texts.append((page.page, _entry_text(f"{page.page}:", page, language, with_lines=at < shown.full), page.day))
    blocks: list[str] = []
    month = ""
    for _, text, day in sorted(texts):
        if day and day[:7] != month:
            month = day[:7]
            blocks.append(f"[{month}]")
        blocks.append(text)
    return ContentsPage(tuple(blocks), shown.tokens, tuple(sorted([page.page for page in shown.pages])))


def _line(run: _Run, terms: int) -> str:
    pages = _numbers(run.first, run.last)
    return f"{pages}: {flat(', '.join(run.terms[:terms]))}" if run.terms and terms else pages


def _entry_text(label: str, entry: PageEntry, language: Language, *, with_lines: bool) -> str:
    recalled = wording.RECALLED.say(language, count=entry.recall_count) if entry.recall_count else ""
    lines = [f"  {line.role}: {flat(line.text)}" for line in entry.lines] if with_lines else []
    return "\n".join([f"{label} {flat(entry.title)}{recalled}", *lines])


def run_lines(entries: Sequence[PageEntry], room: int, language: Language) -> tuple[int, list[str]]:
    """Return the last page shown and the lines of a run of pages. If all fit a room in tokens, messages' lines are
    shown too, otherwise as many titles as fit, at least one.
    """
    days = tokens_of(entry.day for entry in entries)
    with_lines = days + _titles_weight(entries) + sum(entry.lines_tokens for entry in entries) <= room
    shown: list[tuple[str, str]] = []
    for entry in entries:
        room -= _titles_weight([entry]) + (entry.lines_tokens if with_lines else 0)
        if room - tokens_of({day for _, day in shown} | {entry.day}) < 0 and shown:
            break
        label = wording.PAGE.say(language, page=entry.page, to="")
        shown.append((_entry_text(label, entry, language, with_lines=with_lines), entry.day))
    return entries[len(shown) - 1].page, dated(shown, "", language)[0]
