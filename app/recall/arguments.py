"""Read the arguments of a tool call the way models write them.

A number may come as text, and a single text in place of a list. null and, for an optional argument, an empty text count
as absent. A ``range`` is the ``offset`` and ``length`` of a tool that has these. Any other deviation from the tool's
declaration is a ``Mistake``, and its text tells the model what would work.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, assert_never

from app.core import wording
from app.core.canonical import dumps
from app.core.model import INTEGER_MAX, Language
from app.core.wording import Wording
from app.recall.tools import Argument, Tool

_RUN = re.compile(r"\s*[-‐‑‒–—~～]\s*")
SHOWN_MAX = 40
SPELLINGS = {"user_preference": "preference"}
"""Other names of choices."""


class Mistake(Exception):  # noqa: N818 - it is the model's, and no error of ours
    """A model's mistake: a text that tells what would work, and the name of the argument."""

    def __init__(self, text: str, argument: str) -> None:
        super().__init__(text)
        self.argument = argument


def read(tool: Tool, given: Mapping[str, Any], language: Language, *, is_strict: bool = True) -> dict[str, Any]:
    """Return the given arguments by name. Raises Mistake, with ``is_strict`` also for unknown arguments."""
    names = {argument.name for argument in tool.arguments}
    if names >= {"offset", "length"} and "range" in given:
        given = _without_range(given, language)
    if names >= {"query", "queries"} and given.get("query") in (None, ""):
        given = _with_query(given)
    for name in given:
        if is_strict and name not in names:
            shown = dumps(name[:SHOWN_MAX])
            raise Mistake(wording.NO_ARGUMENT.say(language, name=shown, signature=tool.signature), name)
    values = {}
    for argument in tool.arguments:
        value = given.get(argument.name)
        if value is not None and (argument.required or value != ""):
            values[argument.name] = _value(argument, value, language)
        elif argument.required:
            text = wording.MISSING.say(language, name=argument.name, signature=tool.signature)
            raise Mistake(text, argument.name)
    return values


def _without_range(given: Mapping[str, Any], language: Language) -> dict[str, Any]:
    """Return the arguments with a ``range`` (a list, or text such as "200-900") as ``offset`` and ``length``."""
    rest = {name: value for name, value in given.items() if name != "range"}
    value = given["range"]
    if value is None:
        return rest
    both = value.split("-") if isinstance(value, str) else value if isinstance(value, list) else []
    match [_whole(end) for end in both[:3]]:
        case [int(start), int(end)] if 0 <= start < end and rest.get("offset") is rest.get("length") is None:
            return {**rest, "offset": start, "length": end - start}
    raise Mistake(wording.WRONG_RANGE.say(language), "range")


def _with_query(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the arguments with the first of several queries as ``query``, if there is none."""
    match given.get("queries"):
        case [str(first), *rest]:
            return {**given, "query": first, "queries": rest}
    return given


def _value(argument: Argument, value: Any, language: Language) -> Any:
    match argument.type:
        case "string":
            if not (text := _text(value)):
                raise _wrong(argument, "a text that is not empty", "非空文本", language)
            return _checked_text(argument, text, language)
        case "strings":
            texts = _texts(value)
            if texts is None or len(texts) > (argument.maximum or len(texts)):
                most = argument.maximum
                raise _wrong(argument, f"a list of at most {most} texts", f"最多 {most} 项的文本列表", language)
            return [_checked_text(argument, text, language) for text in texts]
        case "integer" | "number":
            return _number(argument, value, language)
        case "pages":
            return _pages(argument, value, language)
        case "boolean":
            if str(value).lower() in ("true", "false"):
                return str(value).lower() == "true"
            if not isinstance(value, bool):
                raise _wrong(argument, "true or false", "true 或 false", language)
            return value
        case _:
            assert_never(argument.type)


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int) and -(10**18) < value < 10**18:
        return str(value)
    return value if isinstance(value, str) and value.strip() else None


def _texts(value: Any) -> list[str] | None:
    if isinstance(value, str):
        return [value] if value.strip() else []
    if not isinstance(value, list):
        return None
    texts = [text for item in value if (text := _text(item)) is not None]
    return texts if len(texts) == len(value) else None


def _checked_text(argument: Argument, text: str, language: Language) -> str:
    text = SPELLINGS.get(text, text)
    if argument.choices and text not in argument.choices:
        choices = ", ".join(argument.choices)
        raise _wrong(argument, f"one of {choices}", f"{choices} 之一", language)
    if argument.type == "string" and argument.maximum is not None and len(text) > argument.maximum:
        most = argument.maximum
        raise _wrong(argument, f"at most {most} characters", f"最多 {most} 个字符", language)
    return text


def _number(argument: Argument, value: Any, language: Language) -> float:
    least = -INTEGER_MAX if argument.minimum is None else argument.minimum
    most = INTEGER_MAX if argument.maximum is None else argument.maximum
    whole = argument.type == "integer"
    number = _whole(value) if whole else _real(value)
    if number is None or not least <= number <= most:
        range_en = f"from {least} on" if most == INTEGER_MAX else f"from {least} to {most}"
        range_zh = f"不小于 {least} " if most == INTEGER_MAX else f"{least} 到 {most} 之间"
        kind_en, kind_zh = ("a whole number", "整数") if whole else ("a number", "数字")
        raise _wrong(argument, f"{kind_en} {range_en}", f"{range_zh}的{kind_zh}", language)
    return number


def _pages(argument: Argument, value: Any, language: Language) -> tuple[int, int]:
    """Return the first and the last page of a run such as 3, "12-31", "12–31" or [12, 31]."""
    both = (
        _RUN.split(value.strip()[:SHOWN_MAX])
        if isinstance(value, str)
        else value
        if isinstance(value, list)
        else [value]
    )
    match [_whole(end) for end in both[:3]]:
        case [int(page)] if 1 <= page <= INTEGER_MAX and value is not both:
            return page, page
        case [int(first), int(last)] if 1 <= first <= last <= INTEGER_MAX:
            return first, last
    en = 'a whole number from 1 on, or a run of pages, such as "12-31"'
    raise _wrong(argument, en, '不小于 1 的整数，或一段页，如 "12-31"', language)


def _whole(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        text = value.strip()
        return int(text) if text.isascii() and text.isdecimal() and len(text) < 12 else None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    return value if isinstance(value, int) else None


def _real(value: Any) -> float | None:
    if isinstance(value, str):
        try:
            value = float(value[:SHOWN_MAX])
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if math.isfinite(value) else None


def _wrong(argument: Argument, en: str, zh: str, language: Language) -> Mistake:
    what = Wording(en, zh).say(language)
    return Mistake(wording.MUST_BE.say(language, name=argument.name, what=what), argument.name)
