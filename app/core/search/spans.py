"""Stretches of days, and the arithmetic that turns an expression into one.

All are in UTC, and none is outside of what a date can say: what would be is None.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from re import Match, Pattern
from typing import Literal, TypeAlias

Unit = Literal["day", "week", "month", "quarter", "year"]


@dataclass(frozen=True, slots=True)
class Span:
    """The days from ``first`` on, without ``end``."""

    first: date
    end: date


Rule: TypeAlias = tuple[Pattern[str], Callable[[Match[str], date], Span | None]]
"""A pattern, and what it makes of a match and of today."""


def days(first: date, count: int = 1) -> Span:
    return Span(first, first + timedelta(days=count))


def day(year: int, month: int, of_month: int) -> Span | None:
    return guarded(lambda: days(date(year, month, of_month)))


def month(year: int, number: int) -> Span | None:
    return guarded(lambda: days(date(year, number, 1), monthrange(year, number)[1]))


def year(number: int) -> Span | None:
    return guarded(lambda: Span(date(number, 1, 1), date(number + 1, 1, 1)))


def quarter(of_year: int, number: int) -> Span | None:
    return months(of_year, 3 * number - 2, 3)


def months(of_year: int, first: int, count: int) -> Span | None:
    """Return some months; ``first`` can be before January or after December."""

    def found() -> Span:
        begin, end = of_year * 12 + first - 1, of_year * 12 + first - 1 + count
        return Span(date(begin // 12, begin % 12 + 1, 1), date(end // 12, end % 12 + 1, 1))

    return guarded(found)


def through(first: Span | None, last: Span | None) -> Span | None:
    """Return the days from the beginning of one span to the end of another, if that is not before it."""
    return Span(first.first, last.end) if first and last and first.first < last.end else None


def unit_at(now: date, unit: Unit, shift: int) -> Span | None:
    """Return the day, week (from Monday), month, quarter or year so many after the current one."""
    match unit:
        case "day":
            return guarded(lambda: days(now + timedelta(days=shift)))
        case "week":
            return guarded(lambda: days(now - timedelta(days=now.weekday()) + timedelta(weeks=shift), 7))
        case "month":
            return months(now.year, now.month + shift, 1)
        case "quarter":
            return months(now.year, (now.month - 1) // 3 * 3 + 1 + 3 * shift, 3)
        case "year":
            return year(now.year + shift)


def weekend_at(now: date, shift: int) -> Span | None:
    """Return Saturday and Sunday of a week, so many after the current one."""
    week = unit_at(now, "week", shift)
    return days(week.first + timedelta(days=5), 2) if week else None


def ago(now: date, unit: Unit, count: int) -> Span | None:
    """Return about the time so many units ago: as wide as people mean it, a day, a week, a month, a year."""
    match unit:
        case "day":
            return unit_at(now, "day", -count)
        case "week":
            return guarded(lambda: days(now - timedelta(days=7 * count + 3), 7))
        case "month":
            return guarded(lambda: days(now - timedelta(days=round(30.44 * count) + 15), 31))
        case _:
            return year(now.year - count) if unit == "year" else ago(now, "month", 3 * count)


UNIT_DAYS: dict[Unit, int] = {"day": 1, "week": 7, "month": 31, "quarter": 92, "year": 366}


def past(now: date, unit: Unit, count: int) -> Span | None:
    """Return the last so many units up to today."""
    return guarded(lambda: Span(now - timedelta(days=UNIT_DAYS[unit] * count), now + timedelta(days=1)))


def weekday(now: date, number: int) -> Span | None:
    """Return the newest such weekday before today; Monday is 0."""
    return guarded(lambda: days(now - timedelta(days=(now.weekday() - number - 1) % 7 + 1)))


def weekday_of(week: Span | None, number: int) -> Span | None:
    return days(week.first + timedelta(days=number)) if week else None


def in_year(year: int | None, now: date, of: Callable[[int], Span | None]) -> Span | None:
    """Return what a year makes of an expression; without a year, the newest."""
    return of(year) if year is not None else newest(now, of)


def holiday(known: tuple[int, int, int], year: int | None, now: date) -> Span | None:
    """Return a holiday of a year; ``known``: its month, its first day, and how many days it has or moves within."""
    month_, of_month, length = known

    def of(year: int) -> Span | None:
        first = day(year, month_, of_month)
        return days(first.first, length) if first else None

    return in_year(year, now, of)


def newest(now: date, of_year: Callable[[int], Span | None]) -> Span | None:
    """Return what recurs each year, as it was the newest time that it had begun."""
    this = of_year(now.year)
    return this if this and this.first <= now else of_year(now.year - 1)


def newest_day(now: date, of_month: int) -> Span | None:
    """Return the newest day of a month with this number, up to today."""
    for shift in range(12):
        begin = months(now.year, now.month - shift, 1)
        found = day(begin.first.year, begin.first.month, of_month) if begin else None
        if found and found.first <= now:
            return found
    return None


def third(whole: Span | None, place: int) -> Span | None:
    """Return the beginning (0), the middle (1) or the end (2) of a span."""
    if whole is None:
        return None
    length = (whole.end - whole.first).days
    first, end = length * place // 3, length * (place + 1) // 3
    return Span(whole.first + timedelta(days=first), whole.first + timedelta(days=end))


def around(base: Span, unit: Unit, count: int, *, before: bool) -> Span | None:
    """Return so many units right before or after a span; of days only the last."""
    length = timedelta(days=UNIT_DAYS[unit] * count)
    if unit == "day":
        return guarded(lambda: days(base.first - length if before else base.end + length - timedelta(days=1)))
    if before:
        return guarded(lambda: Span(base.first - length, base.first))
    return guarded(lambda: Span(base.end, base.end + length))


def guarded(make: Callable[[], Span]) -> Span | None:
    """Return what is made; None where a date does not exist."""
    try:
        return make()
    except (ValueError, OverflowError):
        return None
