"""English expressions of days, as rules: a pattern, and what it makes of a match and of today.

Earlier rules take precedence. A bare month, day of a month, weekday or season is the newest one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta

from app.core.search import spans
from app.core.search.spans import Rule, Span, Unit

MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
WEEKDAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
UNITS: dict[str, Unit] = {
    "day": "day", "week": "week", "fortnight": "week", "month": "month", "quarter": "quarter", "year": "year",
}  # fmt: skip
NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "couple": 2, "three": 3, "few": 3, "four": 4, "several": 4, "five": 5,
    "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "dozen": 12,
}  # fmt: skip
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
HOLIDAYS = {
    "christmas eve": (12, 24, 1), "christmas": (12, 24, 3), "xmas": (12, 24, 3), "boxing day": (12, 26, 1),
    "new year's eve": (12, 31, 1), "new year's day": (1, 1, 1), "new year's": (12, 31, 2), "new year": (12, 31, 2),
    "halloween": (10, 31, 1), "valentine's day": (2, 14, 1), "thanksgiving": (11, 22, 7),
    "independence day": (7, 4, 1), "fourth of july": (7, 4, 1), "4th of july": (7, 4, 1), "labor day": (9, 1, 7),
    "st. patrick's day": (3, 17, 1), "april fools": (4, 1, 1),
}  # fmt: skip
SHIFTS = {"last": -1, "past": -1, "previous": -1, "this": 0, "current": 0, "next": 1, "coming": 1}
QUARTERS = ["first", "second", "third", "fourth"]
PARTS = {"early": 0, "beginning of": 0, "start of": 0, "mid": 1, "middle of": 1, "late": 2, "end of": 2}

_MONTH = (
    "(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    "oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\\.?"
)
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>(?:19|20)\d\d|last year|this year)"
_COUNT = rf"(?P<count>\d{{1,4}}|{'|'.join(NUMBERS)})"
_N = rf"(?:a )?{_COUNT}(?: of)?"
_UNIT = "(?P<unit>day|week|fortnight|month|quarter|year)s?"
_WEEKDAY = (
    "(?P<weekday>mon(?:day)?|tue(?:s|sday)?|wed(?:nesday)?|thu(?:r|rs|rsday)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?)"
)
_FULL_WEEKDAY = "(?P<weekday>monday|tuesday|wednesday|thursday|friday|saturday|sunday)s?"
_SHIFT = rf"(?P<shift>{'|'.join(SHIFTS)})"
_PART = rf"(?:(?P<part>{'|'.join(PARTS)})[ -](?:the )?)?"
_SEASON = "(?P<season>spring|summer|autumn|fall|winter)"
_HOLIDAY = rf"(?P<holiday>{'|'.join(map(re.escape, HOLIDAYS))})"
_IN = r"(?:in|since|until|till|during|of|by|before|after|around|from|back in|throughout|for|and|to|between) "


def _unnamed(pattern: str) -> str:
    return re.sub(r"\?P<\w+>", "?:", pattern)


_NUMBER_OR_MONTH = (
    rf"(?:the )?(?:{_DAY}(?: (?:of )?{_MONTH})?|{_MONTH}(?: (?:the )?{_DAY})?|(?:19|20)\d\d[-/.]\d\d?[-/.]\d\d?|"
    rf"\d\d?[./]\d\d?[./](?:19|20)\d\d)(?:,? (?:of )?{_YEAR})?|{_YEAR}"
)
_END = _unnamed(_NUMBER_OR_MONTH)
"""What a range begins or ends with."""
_ORDINAL = rf"(?P<nth>{'|'.join([*QUARTERS, 'last'])})"
_BARE = re.compile(r"(?:the )?(\d{1,2})(?:st|nd|rd|th)?")


def _rule(pattern: str, make: Callable[[re.Match[str], date], Span | None]) -> Rule:
    return re.compile(rf"(?<![\w$€£])(?:{pattern})(?!\w|[.,]\d)"), make


def _month_of(match: re.Match[str]) -> int:
    return MONTHS.index(match["month"][:3]) + 1


def _weekday_of(match: re.Match[str]) -> int:
    return WEEKDAYS.index(match["weekday"][:3])


def _year_of(match: re.Match[str], now: date) -> int | None:
    said = match.groupdict().get("year")
    if said is None:
        return None
    return int(said) if said.isdigit() else now.year - (said == "last year")


def _count_of(match: re.Match[str]) -> int:
    said = match["count"]
    return int(said) if said.isdigit() else NUMBERS[said]


def _numbers(match: re.Match[str], _: date) -> Span | None:
    return spans.day(int(match["year"]), int(match["m"]), int(match["day"]))


def _slashed(match: re.Match[str], _: date) -> Span | None:
    """Read the month first, as in America, unless it cannot be one."""
    a, b = int(match["a"]), int(match["b"])
    month, of_month = (a, b) if a <= 12 else (b, a)
    year = int(match["year"])
    return spans.day(year if year >= 100 else 2000 + year, month, of_month)


def _day_of_month(match: re.Match[str], now: date) -> Span | None:
    year, month, of_month = _year_of(match, now), _month_of(match), int(match["day"])
    return spans.in_year(year, now, lambda year: spans.day(year, month, of_month))


def _month(match: re.Match[str], now: date) -> Span | None:
    year, number = _year_of(match, now), _month_of(match)
    shift = match.groupdict().get("shift")
    if year is None and shift in ("this", "current", "next", "coming"):
        year = now.year + (SHIFTS[shift] and number <= now.month)
    found = spans.in_year(year, now, lambda year: spans.month(year, number))
    if shift in ("last", "past", "previous") and found and found.end > now:  # last May, in May
        found = spans.month(now.year - 1, number)
    return _part_of(match, found)


def _part_of(match: re.Match[str], whole: Span | None) -> Span | None:
    part = match.groupdict().get("part")
    return spans.third(whole, PARTS[part]) if part else whole


def _season(match: re.Match[str], now: date) -> Span | None:
    begin = SEASONS[match["season"]]
    year, shift = _year_of(match, now), match.groupdict().get("shift")
    if year is None and shift in ("last", "past", "previous"):
        found = spans.newest(now, lambda year: spans.months(year, begin, 3))
        if found and found.end > now:
            found = spans.months(found.first.year - 1, begin, 3)
    else:
        found = spans.in_year(year, now, lambda year: spans.months(year, begin, 3))
    return _part_of(match, found)


def _holiday(match: re.Match[str], now: date) -> Span | None:
    return spans.holiday(HOLIDAYS[match["holiday"]], _year_of(match, now), now)


def _unit(match: re.Match[str], now: date) -> Span | None:
    return _part_of(match, spans.unit_at(now, UNITS[match["unit"]], SHIFTS[match["shift"]]))


def _weekday(match: re.Match[str], now: date) -> Span | None:
    shift, number = match.groupdict().get("shift"), _weekday_of(match)
    if shift in ("this", "current"):
        return spans.weekday_of(spans.unit_at(now, "week", 0), number)
    if shift in ("next", "coming"):
        return spans.weekday_of(spans.unit_at(now, "week", 1), number)
    return spans.weekday(now, number)


def _weekday_in_week(match: re.Match[str], now: date) -> Span | None:
    return spans.weekday_of(spans.unit_at(now, "week", SHIFTS[match["shift"]]), _weekday_of(match))


def _past(match: re.Match[str], now: date) -> Span | None:
    return spans.past(now, UNITS[match["unit"]], _count_of(match))


def _quarter(match: re.Match[str], _: date) -> Span | None:
    return spans.quarter(int(match["year"]), int(match["q"] or QUARTERS.index(match["nth"]) + 1))


def _year(match: re.Match[str], _: date) -> Span | None:
    return _part_of(match, spans.year(int(match["year"])))


def _shifted(count: int) -> Callable[[re.Match[str], date], Span | None]:
    return lambda _, now: spans.unit_at(now, "day", count)


def _weekend(match: re.Match[str], now: date) -> Span | None:
    shift = match.groupdict().get("shift")
    return spans.weekend_at(now, SHIFTS[shift] if shift else (0 if now.weekday() >= 5 else -1))


def _ago(match: re.Match[str], now: date) -> Span | None:
    count = _count_of(match) * (2 if match["unit"] == "fortnight" else 1)
    found = spans.ago(now, UNITS[match["unit"]], count)
    is_vague = match["count"] in ("couple", "few", "several") and match["unit"] == "day"
    return spans.guarded(lambda: Span(now - (now - found.first) * 2, now)) if found and is_vague else found


def _range(match: re.Match[str], now: date) -> Span | None:
    """Read each end as the other one tells: "between 3 and 9 May", "from May to July 2023"."""
    if _BARE.fullmatch(match["last"]):
        first = _named(match["first"], now)
        last = _named(match["last"], first.first, first) if first else None
    else:
        last = _named(match["last"], now)
        first = _named(match["first"], last.first, last) if last else None
    return spans.through(first, last)


def _named(text: str, now: date, other: Span | None = None) -> Span | None:
    """Return what one end of a range names; a number alone is a day of the month that the other end is in."""
    if bare := _BARE.fullmatch(text):
        return spans.day(other.first.year, other.first.month, int(bare[1])) if other else None
    whole = ((pattern.fullmatch(said), make) for said in (text, f"in {text}") for pattern, make in RULES)
    return next((make(match, now) for match, make in whole if match), None)


def _nth(match: re.Match[str], now: date) -> Span | None:
    """Return the first, second, third, fourth or last day or week of a month or a year."""
    year = _year_of(match, now)
    whole = _month(match, now) if match["month"] else spans.year(year) if year else None
    if whole is None:
        return None
    length = timedelta(days=spans.UNIT_DAYS[UNITS[match["unit"]]])
    is_last = match["nth"] == "last"
    first = whole.end - length if is_last else whole.first + QUARTERS.index(match["nth"]) * length
    return Span(first, first + length)


RULES: tuple[Rule, ...] = (
    _rule(rf"(?:from|between) (?P<first>{_END}) (?:to|and|until|till|through) (?P<last>{_END})", _range),
    _rule(r"(?P<year>(?:19|20)\d\d)[-/.](?P<m>\d{1,2})[-/.](?P<day>\d{1,2})", _numbers),
    _rule(r"(?P<year>(?:19|20)\d\d)-(?P<m>\d\d)", lambda m, _: spans.month(int(m["year"]), int(m["m"]))),
    _rule(r"(?P<day>\d{1,2})\.(?P<m>\d{1,2})\.(?P<year>(?:19|20)\d\d)", _numbers),
    _rule(rf"(?P<first>\d\d?) ?[-–] ?(?P<last>\d\d? {_unnamed(_MONTH)}(?:,? (?:19|20)\d\d)?)", _range),
    _rule(rf"(?:the )?{_ORDINAL} (?P<unit>day|week) of (?:{_MONTH},?)?(?: ?(?:of )?{_YEAR})?", _nth),
    _rule(rf"(?:the )?{_DAY} (?:of )?{_MONTH},?(?: (?:of )?{_YEAR})?", _day_of_month),
    _rule(rf"{_MONTH} (?:the )?{_DAY},?(?: (?:of )?{_YEAR})?", _day_of_month),
    _rule(r"(?P<a>\d{1,2})/(?P<b>\d{1,2})/(?P<year>\d{4}|\d\d)", _slashed),
    _rule(rf"{_HOLIDAY}(?: (?:day )?(?:of |in )?{_YEAR})?", _holiday),
    _rule(rf"(?:last|this) {_HOLIDAY}", _holiday),
    _rule(rf"{_PART}{_MONTH},?(?: of)? {_YEAR}", _month),
    _rule(rf"{_PART}{_SHIFT} {_MONTH}", _month),
    _rule(rf"(?P<part>{'|'.join(PARTS)})[ -]{_MONTH}", _month),
    _rule(rf"{_PART}(?:the )?{_SEASON}(?: of| in)? {_YEAR}", _season),
    _rule(rf"{_PART}{_SHIFT} {_SEASON}", _season),
    _rule(rf"(?:q(?P<q>[1-4])|(?P<nth>{'|'.join(QUARTERS)}) quarter)(?: of| in)? (?P<year>(?:19|20)\d\d)", _quarter),
    _rule(rf"(?:about |around |some )?{_N} {_UNIT} (?:ago|back|earlier)", _ago),
    _rule(rf"(?:in |over |during |within |for )?(?:the )?(?:last|past|previous) {_N} {_UNIT}", _past),
    _rule(rf"(?:the )?{_UNIT} before last", lambda m, now: spans.unit_at(now, UNITS[m["unit"]], -2)),
    _rule("(?:the )?weekend before last", lambda _, now: spans.weekend_at(now, -2)),
    _rule("(?:the )?day before yesterday", _shifted(-2)),
    _rule("yesterday|last night|last evening", _shifted(-1)),
    _rule("today|tonight|this (?:morning|afternoon|evening)|earlier today", _shifted(0)),
    _rule("(?:the )?day after tomorrow", _shifted(2)),
    _rule("tomorrow", _shifted(1)),
    _rule(rf"(?:on )?{_FULL_WEEKDAY} (?:of )?{_SHIFT} week", _weekday_in_week),
    _rule(rf"{_SHIFT} {_WEEKDAY}", _weekday),
    _rule(rf"{_SHIFT} weekend|(?:on |at |over )?the weekend", _weekend),
    _rule(rf"{_PART}{_SHIFT} {_UNIT}", _unit),
    _rule(rf"(?:on |since )?{_FULL_WEEKDAY}", _weekday),
    _rule(rf"{_IN}{_MONTH}", _month),
    _rule(rf"(?:in|during|over|since) (?:the )?{_SEASON}", _season),
    _rule(rf"on the {_DAY}(?! (?:floor|page|line|street|place))", lambda m, now: spans.newest_day(now, int(m["day"]))),
    _rule(rf"{_PART}(?:{_IN})?the year (?P<year>(?:19|20)\d\d)", lambda m, _: spans.year(int(m["year"]))),
    _rule(r"(?:in |(?P<part>early|mid|late|beginning of|end of)[ -])(?P<year>(?:19|20)\d\d)(?! \w+s\b)", _year),
    _rule(rf"{_IN}(?P<year>(?:19|20)\d\d)(?! \w+s\b)", lambda m, _: spans.year(int(m["year"]))),
)  # fmt: skip
SHIFTERS = re.compile(
    rf"(?:the |last |a )?(?:{_N} )?(?P<unit>day|night|week|weekend|month|year|{_FULL_WEEKDAY})s? "
    r"(?P<way>before|prior to|after|following) (?:the )?$"
)
"""What stands before an expression and moves it: "two days before 7 May"."""


def shifted(base: Span, match: re.Match[str]) -> Span | None:
    """Return what the words before an expression make of it."""
    count = _count_of(match) if match["count"] else 1
    before = match["way"] in ("before", "prior to")
    said = match["unit"]
    if match["weekday"]:
        return (
            spans.weekday(base.first, _weekday_of(match))
            if before
            else spans.weekday(base.end + timedelta(days=7), _weekday_of(match))
        )
    if said == "weekend":
        shift = 0 if not before and base.end.weekday() < 5 else (-1 if before and base.first.weekday() < 5 else 0)
        return spans.weekend_at(base.first, shift)
    return spans.around(base, "day" if said == "night" else UNITS[said], count, before=before)
