"""Date lines: when the condensed parts of a window were said.

Head and condensed zone have a date line wherever the day changes, so one if everything was said on one day. They are
frozen with the epoch. Verbatim messages stay as sent; a date line precedes the first of them if its day differs.

A page's day is that of its first message: when it was said by the speaker's clock, else when it was stored, in UTC. No
page is later than a following one: an imported message without a time was not said on the day of the import.
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
    """Return the days of pages or messages ("2030-01-31"), none later than a following one."""
    found: dict[int, str] = {}
    day = "9999-12-31"
    for place in sorted(stored, reverse=True):
        day = min(day, stored[place])
        found[place] = day
    return found


def tokens_of(days: Iterable[str]) -> int:
    """Return the tokens of the date lines for lines of these days, in order; "" is a line without a day."""
    return DAY_TOKENS * len(set(days) - {""})


def dated(lines: Iterable[tuple[str, str]], above: str, language: Language) -> tuple[list[str], str]:
    """Return lines with date lines where the day changes, and the last day.

    ``lines``: text and day of each, "" for none. ``above``: the day of the text in front of them.
    """
    found: list[str] = []
    for text, day in lines:
        if day and day != above:
            found.append(day_line(day, language))
            above = day
        found.append(text)
    return found, above


def in_zone(days: Mapping[int, str], room: int, language: Language) -> tuple[Day, ...]:
    """Return the date lines of the condensed zone by its pages' days; only the newest if there is little room.

    ``room``: the head's, of which they take a part.
    """
    first: dict[str, int] = {}
    for page in sorted(days):
        first.setdefault(days[page], page)
    most = max(0, int(room * ZONE_SHARE)) // MESSAGE_TOKENS
    newest = list(first.items())[-most:] if most else []
    return tuple(Day(page, day, dumps({"role": "user", "content": day_line(day, language)})) for day, page in newest)
