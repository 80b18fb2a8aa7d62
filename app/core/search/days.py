"""Dates in view: when that was said which a window no longer shows as it came.

Head and condensed zone have a date line wherever the day changes: one in all where everything was said on one day. They
are frozen with the epoch. Verbatim messages stay as their sender wrote them; a date line stands before the first of
them, if its day is another.

A page's day is that of its first message: when it was said, by the speaker's clock, else when it was stored, in UTC.
No page is later than those after it: a message of an import that has no time of its own was not said on the day of the
import.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from app.core import wording
from app.core.canonical import dumps
from app.core.model import Day, Language

DAY_TOKENS = 11
"""Tokens of a date line and its line end, in either language."""
MESSAGE_TOKENS = 4 + DAY_TOKENS
"""Tokens of a message that is a date line."""
ZONE_SHARE = 0.25
"""Most of the head's room that the date lines of the condensed zone take."""


def day_line(day: str, language: Language) -> str:
    return wording.DATE_LINE.say(language, day=day)


def day_of(time: datetime) -> str:
    return time.date().isoformat()


def settled(stored: Mapping[int, str]) -> dict[int, str]:
    """Return the days of pages or messages ("2030-01-31"), none of them later than those of the ones after it."""
    found: dict[int, str] = {}
    day = "9999-12-31"
    for place in sorted(stored, reverse=True):
        day = min(day, stored[place])
        found[place] = day
    return found


def tokens_of(days: Iterable[str]) -> int:
    """Return the tokens of the date lines for lines of some days, in the order of time; "" for a line without one."""
    return DAY_TOKENS * len(set(days) - {""})


def dated(lines: Iterable[tuple[str, str]], above: str, language: Language) -> tuple[list[str], str]:
    """Return lines with date lines where the day changes, and the day of the last.

    ``lines`` are text and day of each, "" for none. ``above``: the day of what stands before them.
    """
    found: list[str] = []
    for text, day in lines:
        if day and day != above:
            found.append(day_line(day, language))
            above = day
        found.append(text)
    return found, above


def in_zone(days: Mapping[int, str], room: int, language: Language) -> tuple[Day, ...]:
    """Return the date lines of the condensed zone, by its pages' days; the newest, where the room is too small.

    ``room``: the head's, which they take a part of.
    """
    first: dict[str, int] = {}
    for page in sorted(days):
        first.setdefault(days[page], page)
    most = max(0, int(room * ZONE_SHARE)) // MESSAGE_TOKENS
    newest = list(first.items())[-most:] if most else []
    return tuple(Day(page, day, dumps({"role": "user", "content": day_line(day, language)})) for day, page in newest)
