"""The summary in a head: the model's, or the most informative lines of what has left the window.

Both fit the room that the head gives them. Texts are understood by functions that are passed in (``Reader``), because
the core knows no language.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from app.core import head
from app.core.contents import Count, Line, Topics
from app.core.head import SummaryLine

PAGES = 10
"""Pages that an extractive summary looks at: half of them the newest, the others evenly before those."""
LINES_PER_PAGE = 3
LINES = 12
ROOM_LEAST = 30
"""A smaller room holds no summary."""
EXTRACTIVE = "extractive"


class Pick(Protocol):
    """Returns the positions of the most informative of (role, line) pairs, ascending."""

    def __call__(self, lines: Sequence[tuple[str, str]], /, *, max_items: int, max_chars: int) -> list[int]: ...


@dataclass(frozen=True, slots=True)
class Reader:
    """What understands texts without a model."""

    count: Count
    pick: Pick
    topics: Topics
    sentences: Callable[[str], list[str]]


@dataclass(frozen=True, slots=True)
class Written:
    """A stored version of the rolling summary."""

    text: str
    """A sentence on each line."""
    through_seq: int
    author: str
    """``llm`` or ``extractive``."""


@dataclass(frozen=True, slots=True)
class Summary:
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


def fitted(written: Written, room: int, reader: Reader) -> Summary:
    """Return a written summary for a room: all of its lines, or its most informative sentences."""
    lines = _counted(written.text.split("\n"), reader)
    if head.weight(lines) > room:
        lines = _counted(reader.sentences(written.text), reader)
        best = reader.pick([("assistant", line.text) for line in lines], max_items=len(lines), max_chars=room * 5)
        lines = head.picked(lines, [*best, *range(len(lines))], room)
    return Summary(lines, written.through_seq, written.author)


def _counted(texts: Sequence[str], reader: Reader) -> list[SummaryLine]:
    return [SummaryLine(text, reader.count(text)) for text in texts]


def extracted(
    pages: Mapping[int, Sequence[Line]], dates: Mapping[int, str], room: int, reader: Reader
) -> list[SummaryLine]:
    """Return the most informative lines of some pages, in their order; where they say less than a summary has at
    least, the newest others too.
    """
    if room < ROOM_LEAST:
        return []
    spoken = [(line, dates.get(page, "")) for page in sorted(pages) for line in _telling(pages[page])]
    lines = [SummaryLine(line.text, line.tokens, day) for line, day in spoken]
    items = min(LINES, max(1, room // 25))
    best = reader.pick([(line.role, line.text) for line, _ in spoken], max_items=items, max_chars=room * 6)
    chosen = head.picked(lines, best, room)
    if sum(line.tokens for line in chosen) >= head.SUMMARY_TOKENS_MIN:
        return chosen
    return head.picked(lines, [*best, *reversed(range(len(lines)))], min(room, head.SUMMARY_ROOM_MIN))


def _telling(lines: Sequence[Line]) -> list[Line]:
    """Return the question and the answer of a page: its first lines and its last."""
    spoken = [line for line in lines if line.role in ("user", "assistant")]
    if len(spoken) <= LINES_PER_PAGE:
        return spoken
    return [*spoken[: LINES_PER_PAGE - 1], spoken[-1]]
