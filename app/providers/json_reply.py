"""Extract the JSON object from a model's reply, or tell why there is none.

Models wrap the object in prose and fences, and reason before it; all of that is skipped. The object itself must be
strict JSON, because guessing at the intention can go wrong: trailing commas, comments, duplicate keys and NaN are
refused, and so is a reply with several objects or a truncated one.
"""

import json
import math
import re
from collections import Counter
from typing import Any, Never

from app.providers import UnusableReply
from app.providers.replies import without_thoughts
from app.text.language import scalar

DEPTH_MAX = 32

_START = re.compile(r'\{\s*["}]|\[\s*\{\s*["}]')
"""An object, or a list of them; braces in prose begin otherwise."""

_STEP = re.compile(r'[{}\[\]]|"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)
"""A bracket, or a whole string, whose brackets do not count."""


def object_of(text: str) -> dict[str, Any]:
    """Return the one JSON object of a text. NUL and lone surrogates in it are replaced, for no database takes them.

    Raises UnusableReply with words that may be sent back to the model: they quote nothing of its answer but
    a duplicate key.
    """
    text = without_thoughts(text)
    result: dict[str, Any] | None = None
    at = 0
    while start := _START.search(text, at):
        if text[start.start()] == "[":
            raise UnusableReply("the answer is a list; it must be one JSON object")
        if result is not None:
            raise UnusableReply("the answer has more than one JSON object")
        at = _end(text, start.start())
        result = _parse(text[start.start() : at])
    if result is None:
        raise UnusableReply("the answer has no JSON object")
    return result


def _end(text: str, start: int) -> int:
    depth = 0
    for step in _STEP.finditer(text, start):
        if step[0] in "{[":
            depth += 1
        elif step[0] in "}]":
            depth -= 1
        if depth > DEPTH_MAX:
            raise UnusableReply(f"the JSON is nested deeper than {DEPTH_MAX} levels")
        if depth == 0:
            return step.end()
    raise UnusableReply("the JSON is cut off: a bracket or a string is not closed")


def _parse(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text, object_pairs_hook=_without_duplicates, parse_constant=_refuse, parse_float=_finite)
    except json.JSONDecodeError as error:
        raise UnusableReply(f"not valid JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None
    except ValueError:
        raise UnusableReply("the JSON has an integer with too many digits") from None
    cleaned: dict[str, Any] = _clean(value)
    return cleaned


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        [(twice, _)] = Counter(key for key, _ in pairs).most_common(1)
        raise UnusableReply(f"the JSON has the key {json.dumps(twice[:50])} twice in one object")
    return dict(pairs)


def _refuse(constant: str) -> Never:
    raise UnusableReply(f"{constant} is not JSON")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise UnusableReply("the JSON has a number that is too large")
    return value


def _clean(value: Any) -> Any:
    match value:
        case str():
            return scalar(value).replace("\0", "\ufffd")
        case list():
            return [_clean(item) for item in value]
        case dict():
            return {_clean(key): _clean(item) for key, item in value.items()}
        case _:
            return value
