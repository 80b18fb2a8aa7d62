"""The contents page: which archived pages it lists, and how it reads.

A page is listed from the epoch that archives it, and unlisted

* when it has never been recalled and ``m`` turns have passed since it ended,
* when it was recalled, and its recall count has not changed for ``p`` turns,
* when the token cap is reached: the least recently used go first, "used" being its last recall or else its end.

Adjacent unlisted pages roll up into a chapter line, so the model still knows that they exist. A recall lists a page
again in the next epoch, because its count has changed.

``core/window/head.py`` puts date lines between its blocks; their tokens are part of the page's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from app.core import wording
from app.core.days import DAY_TOKENS, tokens_of
from app.core.model import Language, Policy
from app.core.neutral import flat

Count = Callable[[str], int]
"""Tokens of a text."""
Topics = Callable[[Sequence[str]], list[str]]
"""Returns the subject of several page titles in a few terms."""

CHAPTER_LINES_MAX = 6
"""Runs that get a line of their own; older ones beyond it share one."""
CHAPTER_SAMPLE = 12
"""Titles read for one chapter line, evenly spread over its run."""
FULL_SHARE = 0.7
"""Share of the cap for pages with all their lines; the rest is for titles of older ones."""
LINE_OVERHEAD = 4
"""Tokens that a line's indent, role and line end add to its text."""
PAGE_OVERHEAD = 14
"""Tokens that "[Page 1234] ... (recalled 12x)" adds to a title."""


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
    def full_tokens(self) -> int:
        return self.brief_tokens + sum(line.tokens + LINE_OVERHEAD for line in self.lines)


@dataclass(frozen=True, slots=True)
class Chapter:
    first_page: int
    last_page: int
    line: str


@dataclass(frozen=True, slots=True)
class Title:
    """A page that stands for an unlisted run."""

    text: str
    day: str = ""


@dataclass(frozen=True, slots=True)
class ContentsPage:
    blocks: tuple[tuple[str, str], ...] = ()
    """Pages and chapters, each with the day it begins on, in order."""
    tokens: int = 0
    """What the blocks weigh, and their date lines."""
    listed: tuple[int, ...] = ()
    brief: frozenset[int] = frozenset()
    """Listed pages that are shown by their title alone."""
    chapters: tuple[Chapter, ...] = ()
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
    return replace(entry, title=title, title_tokens=tokens, lines=lines, source="llm")


def is_listed(page: int, recall_count: int, last_recalled_page: int, now_page: int, policy: Policy) -> bool:
    """Return whether rules m and p (see the module's docstring) list a page."""
    if recall_count == 0:
        return now_page - page <= policy.unlist_after_turns
    return now_page - last_recalled_page <= policy.unlist_unchanged_turns


def oldest_listable(now_page: int, policy: Policy) -> int:
    """Return the first page that can be listed without having been recalled."""
    return max(1, now_page - policy.unlist_after_turns)


@dataclass(frozen=True, slots=True)
class ContentsSelection:
    """The contents page as planned."""

    entries: Sequence[PageEntry] = ()
    """The pages that the rules list."""
    cap: int = 0
    """The tokens that the contents page may have."""
    full: frozenset[int] = frozenset()
    """The pages shown with all their lines."""
    brief: frozenset[int] = frozenset()
    """Those shown by title only."""

    @property
    def listed(self) -> frozenset[int]:
        return self.full | self.brief


def chapters_room(cap: int, policy: Policy) -> int:
    """Return the part of the contents page's tokens that is kept for chapter lines."""
    return min(cap // 3, 160) if policy.chapter_lines else 0


def select(entries: Sequence[PageEntry], cap: int, policy: Policy) -> ContentsSelection:
    """Select what fits the contents page under a cap in tokens.

    The most recently used pages come first; once a page does not fit, neither it nor any page used earlier is shown.
    """
    room = cap - chapters_room(cap, policy)
    full: set[int] = set()
    brief: set[int] = set()
    used = 0
    days = {""}
    for entry in sorted(entries, key=lambda e: (-e.last_used, -e.page)):
        for_day = 0 if entry.day in days else DAY_TOKENS
        if not brief and used + for_day + entry.full_tokens <= room * FULL_SHARE:
            full.add(entry.page)
            used += for_day + entry.full_tokens
        elif used + for_day + entry.brief_tokens <= room:
            brief.add(entry.page)
            used += for_day + entry.brief_tokens
        else:
            break
        days.add(entry.day)
    return ContentsSelection(entries, cap, frozenset(full), frozenset(brief))


def runs(listed: Iterable[int], last_page: int) -> list[tuple[int, int]]:
    """Return the runs of pages from 1 to ``last_page`` that are not listed, oldest first; at most
    ``CHAPTER_LINES_MAX``, the oldest ones then stretched over the listed pages between them.
    """
    stops = [0, *sorted(listed), last_page + 1]
    result = [(a + 1, b - 1) for a, b in pairwise(stops) if b - a > 1]
    if len(result) > CHAPTER_LINES_MAX:
        joined = len(result) - CHAPTER_LINES_MAX
        result = [(result[0][0], result[joined][1]), *result[joined + 1 :]]
    return result


def sample(run: tuple[int, int]) -> list[int]:
    """Return the pages of a run whose titles stand for it: its last and others evenly before it."""
    first, last = run
    if last - first < CHAPTER_SAMPLE:
        return list(range(first, last + 1))
    step = (last - first) / (CHAPTER_SAMPLE - 1)
    return sorted({round(first + i * step) for i in range(CHAPTER_SAMPLE)})


def compose(
    selection: ContentsSelection,
    last_page: int,
    titles: Mapping[int, Title],
    policy: Policy,
    language: Language,
    topics: Topics,
    count: Count,
) -> ContentsPage:
    """Compose the contents page for the pages up to ``last_page``.

    ``titles`` holds the titles that can represent an unlisted run (see ``sample``; pages without one are skipped).
    """
    if last_page < 1:
        return ContentsPage()
    full, listed = selection.full, selection.listed
    shown = [e for e in selection.entries if e.page in listed]
    blocks = {e.page: (_page_text(e, language, with_lines=e.page in full), e.day) for e in shown}
    days = {e.day for e in shown}
    tokens = sum(e.full_tokens if e.page in full else e.brief_tokens for e in shown) + tokens_of(days)
    chapters: list[Chapter] = []
    if policy.chapter_lines:
        for run in reversed(runs(listed, last_page)):
            first, last = (titles[p].day if p in titles else "" for p in run)
            line = chapter_line(run, last if last != first else "", _topics_of(run, titles, topics), language)
            weight = count(line) + 1 + tokens_of({first, *days}) - tokens_of(days)
            if tokens + weight > selection.cap:
                break
            tokens += weight
            days.add(first)
            chapters.insert(0, Chapter(run[0], run[1], line))
            blocks[run[0]] = (line, first)
    return ContentsPage(
        blocks=tuple(blocks[page] for page in sorted(blocks)),
        tokens=tokens,
        listed=tuple(sorted(listed)),
        brief=selection.brief,
        chapters=tuple(chapters),
        unlisted=last_page - len(listed),
    )


def _topics_of(run: tuple[int, int], titles: Mapping[int, Title], topics: Topics) -> list[str]:
    return topics([titles[page].text for page in sample(run) if page in titles])


def chapter_line(run: tuple[int, int], until: str, topics: Sequence[str], language: Language) -> str:
    """Return the line of a run of pages. ``until``: the day of its last page, if the first is of another."""
    first, last = run
    topics = [flat(topic) for topic in topics]
    to = wording.UNTIL.say(language, day=until) if until else ""
    if first == last:
        pages = wording.PAGE.say(language, page=first, to=to)
    else:
        pages = wording.PAGES.say(language, first=first, last=last, to=to)
    if not topics:
        return pages
    return wording.TOPICS_OF.say(language, pages=pages, topics=wording.LIST_SEPARATOR.say(language).join(topics))


def _page_text(entry: PageEntry, language: Language, *, with_lines: bool) -> str:
    recalled = wording.RECALLED.say(language, count=entry.recall_count) if entry.recall_count else ""
    heading = f"{wording.PAGE.say(language, page=entry.page, to='')} {flat(entry.title)}{recalled}"
    if not with_lines:
        return heading
    return "\n".join([heading, *(f"  {line.role}: {flat(line.text)}" for line in entry.lines)])
