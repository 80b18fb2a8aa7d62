"""Pack what a query found into the tail of a window.

Passages are taken in the order in which the search found them, and any that does not fit is passed over, until the
room is full. They are shown in order of time, those of other conversations first. A date stands where the day changes,
and a conversation's name where that changes, so a passage needs no more than its speaker.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any
from uuid import UUID

from app.core import wording
from app.core.messages import ROLES
from app.core.model import Language, TailItem
from app.core.neutral import block, neutral, titled

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
        """Return the quoted passage after its speaker. A name that imitates a role stands behind the true one."""
        if self.role not in ROLES:
            return f"{titled(self.role)}: {block(neutral(self.text))}"
        named = self.name or self.role
        who = f"{self.role} ({named})" if named.casefold() in ROLES and named != self.role else named
        return f"{titled(who)}: {block(self.text)}"


def pack(found: Sequence[FoundPassage], room: int, count: Count, language: Language) -> list[TailItem]:
    """Return the best passages that fit into so many tokens; ``found`` has the best first."""
    taken: list[tuple[FoundPassage, int]] = []
    known: set[tuple[str | None, str]] = set()
    free = room - _once(found, count, language)
    for one in found:
        own = count(one.line) + 1
        more = 0 if (one.elsewhere, one.day) in known else count(f"{one.day} ")
        if one.elsewhere is not None and all(elsewhere != one.elsewhere for elsewhere, _ in known):
            more += count(_where(one.elsewhere, language)) + 1
        if own + more > free:
            continue
        free -= own + more
        known.add((one.elsewhere, one.day))
        taken.append((one, own))
        if free < PASSAGE_TOKENS_MIN:
            break
    return _shown(taken, count, language)


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


def _shown(taken: Sequence[tuple[FoundPassage, int]], count: Count, language: Language) -> list[TailItem]:
    ordered = sorted(taken, key=lambda it: (it[0].elsewhere is None, it[0].elsewhere or "", it[0].day, it[0].place))
    days = {one.day for one, _ in taken}
    newest = max(days) if len(days) > 1 else None
    is_mixed = any(one.elsewhere is not None for one, _ in taken)
    items: list[TailItem] = []
    for elsewhere, told in groupby(ordered, key=lambda it: it[0].elsewhere):
        opening = f"{_where(elsewhere, language)}\n" if is_mixed else ""
        day = ""
        for one, own in told:
            date = _newest(one.day, language) if one.day == newest else one.day
            mark = opening + ("" if one.day == day else f"{date} ")
            items.append(TailItem(mark + one.line, own + (count(mark) if mark else 0), one.archive_id))
            day, opening = one.day, ""
    return items
