"""Pack the passages that a query found into the tail of a window.

Passages are chosen in the order of the search results until the room is full; those that do not fit are skipped. They
are shown in order of time, those of other conversations first. Year, day, speaker and conversation are shown only
where they change, and further passages of the same speaker are indented.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Any
from uuid import UUID

from app.core import wording
from app.core.messages import ROLES
from app.core.model import Language, TailItem
from app.core.neutral import INDENT, block, neutral, titled
from app.core.parts import speaker

PASSAGE_TOKENS_MIN = 12
"""Tokens that nearly every passage exceeds: a room with fewer left counts as full."""

Count = Callable[[str], int]
"""Returns the tokens of a text."""


@dataclass(frozen=True, slots=True)
class FoundPassage:
    """A passage that a query found."""

    day: str
    role: str
    name: str | None
    """The speaker's name."""
    text: str
    place: tuple[Any, ...]
    """Its place in time; earlier places compare as less."""
    elsewhere: str | None = None
    """Its conversation's name, if that is not the window's conversation."""
    archive_id: UUID | None = None

    @property
    def line(self) -> str:
        """Return the speaker and the quoted passage."""
        return f"{titled(speaker(self.role, self.name))}: {self.said}"

    @property
    def more(self) -> str:
        """Return the quoted passage as a continuation of the same speaker's last one."""
        return f"{INDENT}{self.said}"

    @property
    def said(self) -> str:
        return block(self.text if self.role in ROLES else neutral(self.text))

    def goes_on(self, before: FoundPassage) -> bool:
        """Return whether it is shown under the speaker of the previous passage."""
        mine = (self.elsewhere, self.day, self.role, self.name)
        return self.role in ROLES and mine == (before.elsewhere, before.day, before.role, before.name)


def pack(found: Sequence[FoundPassage], room: int, count: Count, language: Language) -> list[TailItem]:
    """Return the best passages that fit a room in tokens. ``found`` has the best first."""
    taken: list[FoundPassage] = []
    shown: list[TailItem] = []
    count = cache(count)
    once = _once(found, count, language)
    left = [(passage, count(passage.line) + 1) for passage in found]
    while more := _fitting(left, taken, room - once - sum(item.tokens for item in shown), count, language):
        taken += more
        done = set(map(id, more))
        shown = _shown(taken, count, language)
        left = [(passage, own) for passage, own in left if id(passage) not in done]
        if left and len(taken) == len(more):  # from now on, a passage can make the next one repeat day and speaker
            again = max(count(f"{p.day} {titled(speaker(p.role, p.name))}: ") for p in found)
            left = [(passage, own + again) for passage, own in left]
    return shown


def _fitting(
    left: Sequence[tuple[FoundPassage, int]], taken: Sequence[FoundPassage], free: int, count: Count, language: Language
) -> list[FoundPassage]:
    """Return the passages that still fit if each shows its speaker, and also its day unless one of that day is taken.

    ``left``: passages, each with its tokens and those of the day and speaker that the passage after it may repeat.
    """
    known = {(passage.elsewhere, passage.day) for passage in taken}
    more: list[FoundPassage] = []
    for passage, own in left:
        if free < PASSAGE_TOKENS_MIN:
            break
        tokens = own + (0 if (passage.elsewhere, passage.day) in known else count(f"{passage.day} "))
        if passage.elsewhere is not None and all(elsewhere != passage.elsewhere for elsewhere, _ in known):
            tokens += count(_where(passage.elsewhere, language)) + 1
        if tokens <= free:
            free -= tokens
            known.add((passage.elsewhere, passage.day))
            more.append(passage)
    return more


def _once(found: Sequence[FoundPassage], count: Count, language: Language) -> int:
    """Return the tokens of the marks that are shown once: the newest day, and the heading of this conversation."""
    tokens = 0
    if len({passage.day for passage in found}) > 1:
        longer = count(f"{_newest(found[0].day, language)} ") - count(f"{found[0].day} ")
        tokens = longer * len({passage.elsewhere for passage in found})
    if any(passage.elsewhere is not None for passage in found):
        tokens += count(_where(None, language)) + 1
    return tokens


def _where(elsewhere: str | None, language: Language) -> str:
    if elsewhere is None:
        return wording.THIS_CONVERSATION.say(language)
    return wording.OTHER_CONVERSATION.say(language, name=titled(elsewhere))


def _newest(day: str, language: Language) -> str:
    return wording.NEWEST_DAY.say(language, day=day)


def _shown(taken: Sequence[FoundPassage], count: Count, language: Language) -> list[TailItem]:
    """Return the passages in order of time, with year, day and speaker where they change."""
    ordered = sorted(taken, key=lambda p: (p.elsewhere is None, p.elsewhere or "", p.day, p.place))
    days = {passage.day for passage in taken}
    newest = max(days) if len(days) > 1 else None
    is_mixed = any(passage.elsewhere is not None for passage in taken)
    items: list[TailItem] = []
    for elsewhere, passages in groupby(ordered, key=lambda p: p.elsewhere):
        opening = f"{_where(elsewhere, language)}\n" if is_mixed else ""
        before: FoundPassage | None = None
        for passage in passages:
            if before is not None and passage.goes_on(before):
                text = passage.more
            elif before is not None and passage.day == before.day:
                text = passage.line
            else:
                date = _date(passage.day, before.day if before else "", newest, language)
                text = f"{opening}{date} {passage.line}"
            items.append(TailItem(text, count(text) + 1, passage.archive_id))
            before, opening = passage, ""
    return items


def _date(day: str, before: str, newest: str | None, language: Language) -> str:
    """Return a day, without its year if the day ``before`` has the same."""
    if day == newest:
        return _newest(day, language)
    return day.partition("-")[2] if before[:4] == day[:4] else day
