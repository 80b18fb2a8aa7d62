"""Pack what a query found into the tail of a window.

Passages are taken in the order in which the search found them, and any that does not fit is passed over, until the
room is full. They are shown in order of time, those of other conversations first. A year, a day, a speaker and a
conversation stand where they change; what somebody goes on to say is indented.
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
"""A passage has hardly fewer: the room is full when less is left."""

Count = Callable[[str], int]
"""Return the tokens of a text."""


@dataclass(frozen=True, slots=True)
class FoundPassage:
    """A passage that a query found."""

    day: str
    role: str
    name: str | None
    """The speaker's."""
    text: str
    place: tuple[Any, ...]
    """Its place in time; earlier places compare as less."""
    elsewhere: str | None = None
    """Its conversation, if that is another than the window's."""
    archive_id: UUID | None = None

    @property
    def line(self) -> str:
        """Return the quoted passage after its speaker."""
        return f"{titled(speaker(self.role, self.name))}: {self.said}"

    @property
    def more(self) -> str:
        """Return the quoted passage where its speaker has just said something else."""
        return f"{INDENT}{self.said}"

    @property
    def said(self) -> str:
        return block(self.text if self.role in ROLES else neutral(self.text))

    def goes_on(self, before: FoundPassage) -> bool:
        """Return whether it stands under the speaker of the passage before it."""
        mine = (self.elsewhere, self.day, self.role, self.name)
        return self.role in ROLES and mine == (before.elsewhere, before.day, before.role, before.name)


def pack(found: Sequence[FoundPassage], room: int, count: Count, language: Language) -> list[TailItem]:
    """Return the best passages that fit into so many tokens; ``found`` has the best first."""
    taken: list[FoundPassage] = []
    shown: list[TailItem] = []
    count = cache(count)
    once = _once(found, count, language)
    left = [(one, count(one.line) + 1) for one in found]
    while more := _fitting(left, taken, room - once - sum(item.tokens for item in shown), count, language):
        taken += more
        done = set(map(id, more))
        shown = _shown(taken, count, language)
        left = [(one, own) for one, own in left if id(one) not in done]
        if left and len(taken) == len(more):  # of the second round on, each brings its own day and speaker again
            again = max(count(f"{one.day} {titled(speaker(one.role, one.name))}: ") for one in found)
            left = [(one, own + again) for one, own in left]
    return shown


def _fitting(
    left: Sequence[tuple[FoundPassage, int]], taken: Sequence[FoundPassage], free: int, count: Count, language: Language
) -> list[FoundPassage]:
    """Return what still fits if each needs its speaker, and its day where none of that day is taken.

    ``left``: each with its own tokens, and those of a speaker and a day that what follows it may need again.
    """
    known = {(one.elsewhere, one.day) for one in taken}
    more: list[FoundPassage] = []
    for one, own in left:
        if free < PASSAGE_TOKENS_MIN:
            break
        tokens = own + (0 if (one.elsewhere, one.day) in known else count(f"{one.day} "))
        if one.elsewhere is not None and all(elsewhere != one.elsewhere for elsewhere, _ in known):
            tokens += count(_where(one.elsewhere, language)) + 1
        if tokens <= free:
            free -= tokens
            known.add((one.elsewhere, one.day))
            more.append(one)
    return more


def _once(found: Sequence[FoundPassage], count: Count, language: Language) -> int:
    """Return the tokens that are shown once, wherever that will be: which day is newest, which conversation this is."""
    tokens = 0
    if len({one.day for one in found}) > 1:
        longer = count(f"{_newest(found[0].day, language)} ") - count(f"{found[0].day} ")
        tokens = longer * len({one.elsewhere for one in found})
    if any(one.elsewhere is not None for one in found):
        tokens += count(_where(None, language)) + 1
    return tokens


def _where(elsewhere: str | None, language: Language) -> str:
    if elsewhere is None:
        return wording.THIS_CONVERSATION.say(language)
    return wording.OTHER_CONVERSATION.say(language, name=titled(elsewhere))


def _newest(day: str, language: Language) -> str:
    return wording.NEWEST_DAY.say(language, day=day)


def _shown(taken: Sequence[FoundPassage], count: Count, language: Language) -> list[TailItem]:
    """Return the passages in order of time: a year, a day and a speaker stand where they change."""
    ordered = sorted(taken, key=lambda one: (one.elsewhere is None, one.elsewhere or "", one.day, one.place))
    days = {one.day for one in taken}
    newest = max(days) if len(days) > 1 else None
    is_mixed = any(one.elsewhere is not None for one in taken)
    items: list[TailItem] = []
    for elsewhere, told in groupby(ordered, key=lambda one: one.elsewhere):
        opening = f"{_where(elsewhere, language)}\n" if is_mixed else ""
        before: FoundPassage | None = None
        for one in told:
            if before is not None and one.goes_on(before):
                text = one.more
            elif before is not None and one.day == before.day:
                text = one.line
            else:
                text = f"{opening}{_date(one.day, before.day if before else '', newest, language)} {one.line}"
            items.append(TailItem(text, count(text) + 1, one.archive_id))
            before, opening = one, ""
    return items


def _date(day: str, before: str, newest: str | None, language: Language) -> str:
    """Return a day without its year where that has just been said."""
    if day == newest:
        return _newest(day, language)
    return day.partition("-")[2] if before[:4] == day[:4] else day
