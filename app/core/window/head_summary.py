"""The summary in a head: the model's, or the most informative lines of what has left the window.

Both fit the room that the head gives them. Texts are understood by functions that are passed in (``Reader``), because
the core knows no language.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from typing import Protocol

from app.core.window import head
from app.core.window.contents import ContentsLine, Count
from app.core.window.head import SummaryLine

PAGES = 10
"""Pages that an extractive summary looks at: half of them the newest, the others evenly before those."""
LINES_PER_PAGE = 3
"""Lines that a summary looks at of each page, at least; more where there are few pages."""
LINES = 12
ROOM_LEAST = 30
"""A smaller room holds no summary."""
EXTRACTIVE = "extractive"


class Tells(Enum):
    """Grades of what a line tells a reader who sees nothing else of its message."""

    WHOLE = "a whole sentence about the matter"
    IN_PART = "the beginning of one"
    NOTHING = "no sentence, or nothing about the matter: a call, data, a greeting, an offer"


class Pick(Protocol):
    """Returns the positions of the most informative of (role, line) pairs, ascending."""

    def __call__(self, lines: Sequence[tuple[str, str]], /, *, max_items: int, max_chars: int) -> list[int]: ...


@dataclass(frozen=True, slots=True)
class HeadReader:
    """Functions that understand texts without a model."""

    count: Count
    pick: Pick
    sentences: Callable[[str], list[str]]
    tells: Callable[[str, str], Tells]
    """Of a role and its line."""


@dataclass(frozen=True, slots=True)
class Written:
    """A stored version of the rolling summary."""

    text: str
    """A sentence on each line."""
    through_seq: int
    author: str
    """``llm`` or ``extractive``."""


@dataclass(frozen=True, slots=True)
class HeadSummary:
    """The summary of a head."""

    lines: Sequence[SummaryLine] = ()
    through_seq: int = 0
    author: str = EXTRACTIVE


def pages_looked_at(last_page: int) -> list[int]:
    """Return the pages that an extractive summary of the first ``last_page`` pages looks at."""
    older = max(0, last_page - PAGES // 2)
    step = max(1.0, older / (PAGES // 2))
    evenly = {int(i * step) + 1 for i in range(PAGES // 2) if int(i * step) < older}
    return [*sorted(evenly), *range(older + 1, last_page + 1)]


def fitted(written: Written, room: int, reader: HeadReader) -> HeadSummary:
    """Return a written summary for a room: all of its lines, or its most informative sentences."""
    lines = _counted(written.text.split("\n"), reader)
    if head.weight(lines) > room:
        lines = _counted(reader.sentences(written.text), reader)
        best = reader.pick([("assistant", line.text) for line in lines], max_items=len(lines), max_chars=room * 5)
        lines = head.picked(lines, [*best, *range(len(lines))], room)
    return HeadSummary(lines, written.through_seq, written.author)


def _counted(texts: Sequence[str], reader: HeadReader) -> list[SummaryLine]:
    return [SummaryLine(text, reader.count(text)) for text in texts]


def extracted(
    pages: Mapping[int, Sequence[ContentsLine]], dates: Mapping[int, str], room: int, reader: HeadReader
) -> list[SummaryLine]:
    """Return the most informative sentences of some pages, in their order; where they say less than a summary has at
    least, the newest others too, and then the beginnings of longer ones. Nothing else is ever in a summary.
    """
    if room < ROOM_LEAST:
        return []
    each = max(LINES_PER_PAGE, LINES // max(1, len(pages)))
    spoken = [
        (line, dates.get(page, ""), tells)
        for page in sorted(pages)
        for line, tells in _telling(pages[page], each, reader)
    ]
    lines = [SummaryLine(line.text, line.tokens, day) for line, day, _ in spoken]
    whole = [at for at, (_, _, tells) in enumerate(spoken) if tells is Tells.WHOLE]
    items = min(LINES, max(1, room // 25))
    said = [(spoken[at][0].role, spoken[at][0].text) for at in whole]
    best = [whole[at] for at in reader.pick(said, max_items=items, max_chars=room * 6)]
    chosen = head.picked(lines, best, room)
    if sum(line.tokens for line in chosen) >= head.SUMMARY_TOKENS_MIN:
        return chosen
    others = [*reversed(whole), *reversed(range(len(lines)))]
    return head.picked(lines, [*best, *others], min(room, head.SUMMARY_ROOM_MIN))


def _telling(lines: Sequence[ContentsLine], at_most: int, reader: HeadReader) -> list[tuple[ContentsLine, Tells]]:
    """Return the question and the answer of a page: its first lines that tell something, and its last."""
    found = list(islice(_judged(lines, reader), at_most - 1))
    last = next(_judged(reversed(lines), reader), None)
    return found if last is None or any(line is last[0] for line, _ in found) else [*found, last]


def _judged(lines: Iterable[ContentsLine], reader: HeadReader) -> Iterator[tuple[ContentsLine, Tells]]:
    """Yield the lines that tell something; judging one is expensive."""
    for line in lines:
        if (tells := reader.tells(line.role, line.text)) is not Tells.NOTHING:
            yield line, tells
