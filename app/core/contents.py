"""The contents page: which archived pages it lists, and how it reads.

A page is listed from the epoch that archives it on, and unlisted

* when it has never been recalled and ``m`` turns have passed since it ended,
* when it was recalled, and its recall count has not changed for ``p`` turns,
* when the token cap is reached: the least recently used go first, "used" being its last recall or else its end.

Unlisted pages of one run roll up into a chapter line, so the model still knows that they exist. A recall
lists a page again in the next epoch, since its count has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from app.core.model import Language, Policy
from app.core.neutral import flat

Count = Callable[[str], int]
"""Tokens of a text."""
Topics = Callable[[Sequence[str]], list[str]]
"""What several page titles are about, in a few terms."""

CHAPTER_LINES_MAX = 6
"""Runs that get a line of their own; older ones beyond it share one."""
CHAPTER_SAMPLE = 12
"""Titles looked at for one chapter line, evenly spread over its run."""
FULL_SHARE = 0.7
"""Share of the cap for pages with all their lines; the rest is for titles of older ones."""
LINE_OVERHEAD = 4
"""Tokens that a line's indent, role and line end add to its text."""
PAGE_OVERHEAD = 14
"""Tokens that "[Page 1234] ... (recalled 12x)" adds to a title."""


@dataclass(frozen=True, slots=True)
class Line:
    seq: int
    role: str
    text: str
    tokens: int


@dataclass(frozen=True, slots=True)
class PageNames:
    """What a model wrote of a page; ``lines`` are text and tokens by ``seq``."""

    title: str
    title_tokens: int
    lines: Mapping[int, tuple[str, int]]


@dataclass(frozen=True, slots=True)
class PageEntry:
    """What the contents page knows of one archived page."""

    page: int
    title: str
    title_tokens: int
    lines: tuple[Line, ...] = ()
    recall_count: int = 0
    last_recalled_page: int = 0
    """The page that was being written when it was last recalled; 0 for never."""
    source: str = "extractive"

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
class Contents:
    text: str = ""
    tokens: int = 0
    listed: tuple[int, ...] = ()
    brief: frozenset[int] = frozenset()
    """Listed pages that are shown by their title alone."""
    chapters: tuple[Chapter, ...] = ()
    unlisted: int = 0


def renamed(entry: PageEntry, names: PageNames | None) -> PageEntry:
    """The entry in the model's words, as far as it has any."""
    if names is None:
        return entry
    lines = tuple(
        Line(line.seq, line.role, *names.lines[line.seq]) if line.seq in names.lines else line for line in entry.lines
    )
    title, tokens = (names.title, names.title_tokens) if names.title else (entry.title, entry.title_tokens)
    return replace(entry, title=title, title_tokens=tokens, lines=lines, source="llm")


def is_listed(page: int, recall_count: int, last_recalled_page: int, now_page: int, policy: Policy) -> bool:
    """Rules m and p of the module's docstring."""
    if recall_count == 0:
        return now_page - page <= policy.unlist_after_turns
    return now_page - last_recalled_page <= policy.unlist_unchanged_turns


def oldest_listable(now_page: int, policy: Policy) -> int:
    """No page before this one is listed without having been recalled."""
    return max(1, now_page - policy.unlist_after_turns)


@dataclass(frozen=True, slots=True)
class Selection:
    """Which pages are shown with all their lines, and which by their title."""

    full: frozenset[int]
    brief: frozenset[int]

    @property
    def listed(self) -> frozenset[int]:
        return self.full | self.brief


def chapters_room(cap: int, policy: Policy) -> int:
    """The part of the contents page's tokens that is kept for chapter lines."""
    return min(cap // 3, 160) if policy.chapter_lines else 0


def select(entries: Iterable[PageEntry], cap: int, policy: Policy) -> Selection:
    """What fits the contents page under a cap in tokens.

    The most recently used come first; a page that no longer fits is left out, and so is every one used
    before it.
    """
    cap -= chapters_room(cap, policy)
    full: set[int] = set()
    brief: set[int] = set()
    used = 0
    for entry in sorted(entries, key=lambda e: (-e.last_used, -e.page)):
        if not brief and used + entry.full_tokens <= cap * FULL_SHARE:
            full.add(entry.page)
            used += entry.full_tokens
        elif used + entry.brief_tokens <= cap:
            brief.add(entry.page)
            used += entry.brief_tokens
        else:
            break
    return Selection(frozenset(full), frozenset(brief))


def runs(listed: Iterable[int], last_page: int) -> list[tuple[int, int]]:
    """The runs of pages from 1 to ``last_page`` that are not listed, oldest first; at most
    ``CHAPTER_LINES_MAX``, the oldest ones then stretched over the listed pages between them.
    """
    stops = [0, *sorted(listed), last_page + 1]
    found = [(a + 1, b - 1) for a, b in pairwise(stops) if b - a > 1]
    if len(found) > CHAPTER_LINES_MAX:
        joined = len(found) - CHAPTER_LINES_MAX
        found = [(found[0][0], found[joined][1]), *found[joined + 1 :]]
    return found


def sample(run: tuple[int, int]) -> list[int]:
    """The pages of a run whose titles stand for it: its last and others evenly before it."""
    first, last = run
    if last - first < CHAPTER_SAMPLE:
        return list(range(first, last + 1))
    step = (last - first) / (CHAPTER_SAMPLE - 1)
    return sorted({round(first + i * step) for i in range(CHAPTER_SAMPLE)})


def compose(
    entries: Sequence[PageEntry],
    selection: Selection,
    last_page: int,
    titles: Mapping[int, str],
    cap: int,
    policy: Policy,
    language: Language,
    topics: Topics,
    count: Count,
) -> Contents:
    """The contents page of the pages up to ``last_page``.

    ``entries`` are those that the rules leave listed, ``selection`` what of them fits; ``titles`` has the title of
    every page that may stand for an unlisted run (see ``sample``; pages without one are passed over).
    """
    if last_page < 1:
        return Contents()
    full, listed = selection.full, selection.listed
    shown = {e.page: _page_text(e, language, with_lines=e.page in full) for e in entries if e.page in listed}
    tokens = sum(e.full_tokens if e.page in full else e.brief_tokens for e in entries if e.page in listed)
    chapters: list[Chapter] = []
    if policy.chapter_lines:
        for run in reversed(runs(listed, last_page)):
            line = chapter_line(run, topics([titles[p] for p in sample(run) if p in titles]), language)
            weight = count(line) + 1
            if tokens + weight > cap:
                break
            tokens += weight
            chapters.insert(0, Chapter(run[0], run[1], line))
    blocks = [*shown.items(), *((c.first_page, c.line) for c in chapters)]
    text = "\n".join(block for _, block in sorted(blocks))
    return Contents(
        text=text,
        tokens=tokens,
        listed=tuple(sorted(listed)),
        brief=selection.brief,
        chapters=tuple(chapters),
        unlisted=last_page - len(listed),
    )


def chapter_line(run: tuple[int, int], topics: Sequence[str], language: Language) -> str:
    first, last = run
    topics = [flat(topic) for topic in topics]
    if language == "zh":
        pages = f"[第{first}页]" if first == last else f"[第{first}–{last}页]"
        return f"{pages} 话题:{'、'.join(topics)}" if topics else pages
    pages = f"[Page {first}]" if first == last else f"[Pages {first}–{last}]"
    return f"{pages} topics: {', '.join(topics)}" if topics else pages


def _page_text(entry: PageEntry, language: Language, *, with_lines: bool) -> str:
    if language == "zh":
        recalled = f"(已召回{entry.recall_count}次)" if entry.recall_count else ""
        heading = f"[第{entry.page}页] {flat(entry.title)}{recalled}"
    else:
        recalled = f" (recalled {entry.recall_count}×)" if entry.recall_count else ""
        heading = f"[Page {entry.page}] {flat(entry.title)}{recalled}"
    if not with_lines:
        return heading
    return "\n".join([heading, *(f"  {line.role}: {flat(line.text)}" for line in entry.lines)])
