"""The summary in a head, where a model has written one: as much of it as fits the room that the head gives it.

Texts are understood by functions that are passed in, because the core knows no language.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from app.core.window import head
from app.core.window.contents import Count
from app.core.window.head import SummaryLine

ROOM_LEAST = 30
"""A smaller room holds no summary."""
EXTRACTIVE = "extractive"


class Pick(Protocol):
    """Returns the positions of the most informative of (role, line) pairs, ascending."""

    def __call__(self, lines: Sequence[tuple[str, str]], /, *, max_items: int, max_chars: int) -> list[int]: ...


@dataclass(frozen=True, slots=True)
class HeadReader:
    """Functions that understand texts without a model."""

    count: Count
    pick: Pick
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
class HeadSummary:
    """The summary of a head."""

    lines: Sequence[SummaryLine] = ()
    through_seq: int = 0
    author: str = EXTRACTIVE


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
