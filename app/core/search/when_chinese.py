"""Chinese expressions of days, as rules: a pattern, and what it makes of a match and of today.

Earlier rules take precedence. A bare month, day of a month, weekday, season or holiday is the newest one. Holidays of
the lunar calendar are as wide as they move.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta

from app.core.search import spans
from app.core.search.spans import Rule, Span, Unit

DIGITS = {"〇": 0, "零": 0, "一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9}
VAGUE = {"几": 3, "数": 3, "多": 3}
UNITS: dict[str, Unit] = {
    "天": "day", "日": "day", "周": "week", "星期": "week", "礼拜": "week", "月": "month", "季度": "quarter",
    "年": "year",
}  # fmt: skip
YEARS = {"大前年": -3, "前年": -2, "上一年": -1, "去年": -1, "今年": 0, "本年": 0, "当年": 0, "明年": 1}
WEEKS = {"上上": -2, "上": -1, "这": 0, "本": 0, "下": 1, "下下": 2}
DAYS = {"大前天": -3, "前天": -2, "前晚": -2, "昨": -1, "今": 0, "明": 1, "后天": 2}
SEASONS = {"春": 3, "夏": 6, "秋": 9, "冬": 12}
PARTS = {"初": 0, "上旬": 0, "中旬": 1, "中": 1, "下旬": 2, "底": 2, "末": 2}
HOLIDAYS = {
    "元旦": (1, 1, 3), "情人节": (2, 14, 1), "妇女节": (3, 8, 1), "三八节": (3, 8, 1), "清明": (4, 3, 4),
    "劳动节": (5, 1, 5), "五一": (5, 1, 5), "儿童节": (6, 1, 1), "六一": (6, 1, 1), "端午": (5, 28, 28),
    "教师节": (9, 10, 1), "中秋": (9, 7, 32),
    "国庆": (10, 1, 7), "十一假期": (10, 1, 7), "万圣节": (10, 31, 1), "双十一": (11, 11, 1), "双11": (11, 11, 1),
    "平安夜": (12, 24, 1), "圣诞": (12, 24, 3), "春节": (1, 20, 35), "过年": (1, 20, 35), "新年": (12, 31, 3),
    "寒假": (1, 10, 50), "暑假": (7, 1, 62),
}  # fmt: skip

_NUMBER = r"(?:\d{1,4}|[一二两三四五六七八九十]{1,3}|[几数])"
_YEAR = rf"(?P<year>(?:19|20)\d\d年?|[一二][〇零一二三四五六七八九]{{3}}年|\d\d年|{'|'.join(YEARS)})"
_MONTH = r"(?P<month>1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])"
_DAY = r"(?P<day>[0-3]?\d|[二三]?十[一二三四五六七八九]?|[一二三四五六七八九]|初[一二三四五六七八九十])"
_COUNT = rf"(?P<count>半|{_NUMBER})多?"
_UNIT = r"(?:个半(?=月))?个?多?(?P<unit>天|日|周|星期|礼拜|月|季度|年)多?(?P<more>半)?"
_WEEK = rf"(?P<week>{'|'.join(sorted(WEEKS, key=len, reverse=True))})一?个?(?:周|星期|礼拜)"
_PART = rf"(?P<part>{'|'.join(PARTS)})"
_NOT_A_NUMBER = r"(?!线|楼|门|店|机|桌|房|院|口|车|床|柜|位|球|选手|工|元|块|个|记|历|报|志)"


def _rule(pattern: str, make: Callable[[re.Match[str], date], Span | None]) -> Rule:
    return re.compile(pattern), make


def _number(said: str) -> int:
    if said.isdigit() and said.isascii():
        return int(said)
    if said in VAGUE:
        return VAGUE[said]
    tens, is_ten, ones = said.partition("十")
    if is_ten:
        return (DIGITS[tens] if tens else 1) * 10 + (DIGITS[ones] if ones else 0)
    return int("".join(str(DIGITS[one]) for one in said))


def _year_of(match: re.Match[str], now: date) -> int | None:
    said = match.groupdict().get("year")
    if not said:
        return None
    if said in YEARS:
        return now.year + YEARS[said]
    number = _number(said.rstrip("年"))
    return number if number >= 100 else 2000 + number


def _part_of(match: re.Match[str], whole: Span | None) -> Span | None:
    part = match.groupdict().get("part")
    return spans.third(whole, PARTS[part]) if part else whole


def _date(match: re.Match[str], now: date) -> Span | None:
    month, of_month = _number(match["month"]), _number(match["day"].removeprefix("初"))
    return spans.in_year(_year_of(match, now), now, lambda year: spans.day(year, month, of_month))


def _numbers(match: re.Match[str], _: date) -> Span | None:
    return spans.day(int(match["year"]), int(match["month"]), int(match["day"]))


def _month(match: re.Match[str], now: date) -> Span | None:
    year, number = _year_of(match, now), _number(match["month"])
    return _part_of(match, spans.in_year(year, now, lambda year: spans.month(year, number)))


def _near_month(match: re.Match[str], now: date) -> Span | None:
    found = spans.unit_at(now, "month", WEEKS[match["near"]])
    if match["day"] and found:
        return spans.day(found.first.year, found.first.month, _number(match["day"]))
    return _part_of(match, found)


def _year(match: re.Match[str], now: date) -> Span | None:
    of_year = _year_of(match, now)
    assert of_year is not None
    if match["half"]:
        return spans.months(of_year, 1 if match["half"] == "上" else 7, 6)
    return _part_of(match, spans.year(of_year))


def _season(match: re.Match[str], now: date) -> Span | None:
    begin = SEASONS[match["season"]]
    return spans.in_year(_year_of(match, now), now, lambda year: spans.months(year, begin, 3))


def _quarter(match: re.Match[str], now: date) -> Span | None:
    number = _number(match["quarter"])
    return spans.in_year(_year_of(match, now), now, lambda year: spans.quarter(year, number))


def _holiday(match: re.Match[str], now: date) -> Span | None:
    return spans.holiday(HOLIDAYS[match["holiday"]], _year_of(match, now), now)


def _weekday(match: re.Match[str], now: date) -> Span | None:
    said = match["weekday"]
    number = 6 if said in "日天" else DIGITS[said] - 1
    if week := match.groupdict().get("week"):
        return spans.weekday_of(spans.unit_at(now, "week", WEEKS[week]), number)
    return spans.weekday(now, number)


def _weekend(match: re.Match[str], now: date) -> Span | None:
    week = match["near"]
    return spans.weekend_at(now, WEEKS[week] if week else (0 if now.weekday() >= 5 else -1))


def _ago(match: re.Match[str], now: date) -> Span | None:
    unit, said = UNITS[match["unit"]], match["count"]
    if said == "半":
        return spans.ago(now, "day", 15) if unit == "month" else spans.ago(now, "month", 6)
    if match["more"] and unit in ("year", "month"):
        return (
            spans.ago(now, "month", 12 * _number(said) + 6)
            if unit == "year"
            else spans.ago(now, "month", _number(said))
        )
    if said in VAGUE and unit == "day":
        return spans.guarded(lambda: Span(now - timedelta(days=9), now))
    return spans.ago(now, unit, _number(said))


def _past(match: re.Match[str], now: date) -> Span | None:
    unit, said = UNITS[match["unit"]], match["count"]
    if said == "半":
        return spans.past(now, "day", 15) if unit == "month" else spans.past(now, "month", 6)
    return spans.past(now, unit, _number(said) * (2 if said in VAGUE and unit == "day" else 1))


def _week(match: re.Match[str], now: date) -> Span | None:
    shift = WEEKS[match["week"]]
    return spans.weekend_at(now, shift) if match["end"] is not None else spans.unit_at(now, "week", shift)


def _day(match: re.Match[str], now: date) -> Span | None:
    return spans.newest_day(now, _number(match["day"].removeprefix("初")))


def _end_of_year(match: re.Match[str], now: date) -> Span | None:
    is_this = match["part"] == "初" or now.month == 12
    return _part_of(match, spans.year(now.year if is_this else now.year - 1))


def _near_day(match: re.Match[str], now: date) -> Span | None:
    return spans.unit_at(now, "day", DAYS[match["near"]])


def _range(match: re.Match[str], now: date) -> Span | None:
    """Read the end as the beginning tells: 「2023年5月到7月」, 「5月3日至9日」."""
    year, begins = _year_of(match, now), _number(match["month"])
    ends = _number(match["last_month"]) if match["last_month"] else begins

    def of(year: int) -> Span | None:
        until = year + (ends < begins)
        first = spans.day(year, begins, _number(match["day"]) if match["day"] else 1)
        last = spans.day(until, ends, _number(match["last_day"])) if match["last_day"] else spans.month(until, ends)
        return spans.through(first, last)

    return spans.in_year(year, now, of)


def _nth_week(match: re.Match[str], now: date) -> Span | None:
    year = _year_of(match, now)
    whole = _month(match, now) if match["month"] else spans.year(year) if year else None
    return spans.days(whole.first + timedelta(days=7 * _number(match["nth"]) - 7), 7) if whole else None


_END_MONTH, _END_DAY = (one.replace("P<", "P<last_") for one in (_MONTH, _DAY))
_TO = rf"(?:到|至|[-~—～])(?:{_END_MONTH}月份?)?(?:{_END_DAY}[日号])?(?<![到至~—～-])"
_NTH = r"第(?P<nth>[一二三四五1-5])个?(?:周|星期|礼拜)(?![末一二三四五六日天])"


RULES: tuple[Rule, ...] = (
    _rule(rf"(?:{_YEAR}的?)?(?<!\d){_MONTH}月份?(?:{_DAY}[日号]?)?{_TO}", _range),
    _rule(rf"(?:{_YEAR}的?)?(?:{_MONTH}月份?的?)?{_NTH}", _nth_week),
    _rule(r"(?<!\d)(?P<year>(?:19|20)\d\d)[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})(?!\d)", _numbers),
    _rule(rf"(?:{_YEAR}的?)?(?<!\d){_MONTH}月{_DAY}(?:[日号]|(?!\d|[个份]))", _date),
    _rule(rf"{_YEAR}的?(?:第)?(?P<quarter>[一二三四1-4])季度", _quarter),
    _rule(rf"{_YEAR}的?{_MONTH}月份?的?(?:{_PART}(?!午))?", _month),
    _rule(rf"(?:{_YEAR}的?)?(?P<holiday>{'|'.join(HOLIDAYS)})(?:节|假期|期间)?", _holiday),
    _rule(rf"{_YEAR}的?(?P<season>[春夏秋冬])(?:天|季)?", _season),
    _rule(rf"(?P<near>上上|上|这|本|下)个?月(?:份)?的?(?:{_DAY}[日号]|{_PART}(?!午))?", _near_month),
    _rule(rf"{_WEEK}(?P<weekday>[一二三四五六日天])", _weekday),
    _rule(r"(?P<near>上上|上|这|本|下)?个?(?:周末|双休日)", _weekend),
    _rule(rf"{_WEEK}(?:末(?P<end>))?", _week),
    _rule(r"(?P<near>上|这|本|下)个?季度", lambda m, now: spans.unit_at(now, "quarter", WEEKS[m["near"]])),
    _rule(rf"{_COUNT}{_UNIT}(?:以前|之前|前)", _ago),
    _rule(rf"(?:最近|过去|近|这|前)的?(?:这)?{_COUNT}{_UNIT}(?:以内|之内|内|里|来)?", _past),
    _rule(r"前些(?:天|日子)|前阵子|前一阵子?|前段时间|不久前", lambda _, now: spans.past(now, "day", 30)),
    _rule(r"最近|近来|这阵子|这段时间", lambda _, now: spans.past(now, "day", 14)),
    _rule(r"(?P<near>大前天|前天|前晚|后天)", _near_day),
    _rule(r"(?<![一-鿿]文)(?P<near>[昨今明])(?:天|日|晚|早|晨|夜|儿)", _near_day),
    _rule(r"刚才|刚刚", lambda _, now: spans.unit_at(now, "day", 0)),
    _rule(r"(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天])(?!个|次|期)", _weekday),
    _rule(rf"{_YEAR}的?(?:(?P<half>[上下])半年|年?{_PART}(?!午))?", _year),
    _rule(rf"(?<![\d第个])(?<!\d\.){_MONTH}月(?!天|饼|经)份?(?:{_PART}(?!午))?", _month),
    _rule(r"(?:第)?(?P<quarter>[一二三四])季度", _quarter),
    _rule(r"(?P<season>[春夏秋冬])(?:天|季)(?:的时候|里)?", _season),
    _rule(rf"(?<![\d.第]){_DAY}[日号]{_NOT_A_NUMBER}", _day),
    _rule(r"上半年", lambda _, now: spans.months(now.year, 1, 6)),
    _rule(r"年(?P<part>初|底)", _end_of_year),
    _rule(r"月(?P<part>初|底|中旬)", lambda m, now: _part_of(m, spans.unit_at(now, "month", 0))),
)  # fmt: skip
SHIFTERS = re.compile(rf"^的?(?P<way>前|后|之前|之后)的?(?P<count>{_NUMBER})个?(?P<unit>天|周|星期|礼拜|月|年)")
"""What follows an expression and moves it: 「5月7日的前两天」."""
_WHITE = re.compile(r"(?<=[\d年月日号个周前一-鿿])\s+(?=[\d年月日号个周前一-鿿])")
_TRADITIONAL = str.maketrans("個週禮號後這過兩幾內聖誕國慶節間時來點剛", "个周礼号后这过两几内圣诞国庆节间时来点刚")


def plain(text: str) -> str:
    """Return a text in the spelling that the rules know, without blanks between its characters."""
    return _WHITE.sub("", text.translate(_TRADITIONAL))


def shifted(base: Span, match: re.Match[str]) -> Span | None:
    """Return what the words after an expression make of it."""
    return spans.around(base, UNITS[match["unit"]], _number(match["count"]), before="前" in match["way"])
