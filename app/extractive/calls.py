"""Describe a tool call and its request on one line."""

import json
import re
from collections.abc import Iterator, Mapping
from itertools import islice

from app.extractive.patterns import PATTERNS
from app.text.language import clip, one_line

_FIRST_KEYS, _LAST_KEYS, _QUESTION_KEYS, _SECRET_KEYS = (
    re.compile(PATTERNS[f"{name}_keys"], re.IGNORECASE) for name in ("first", "last", "question", "secret")
)
_TAG = re.compile(r"</?[A-Za-z_][\w-]{0,40}>")
_CALL = re.compile(r"([A-Za-z_][\w.:/-]{0,80})\((?=[\w.-]{1,40}=|\)|…|[\[{\"']|.*\)$)")
_NAME = re.compile(r"(?:^|, )[A-Za-z_][\w.:/-]{0,80}(?:\(|: )|\b[\w.-]{1,40}=")
_RESULT = re.compile(r"([A-Za-z_][\w.:/-]{0,80}): ")


def call_line(name: str, arguments_json: str | Mapping[str, object], *, max_chars: int = 110) -> str:
    """Return a tool call on one line, informative arguments first: search_flights(origin=SFO, date=2024-05-20)."""
    label = one_line(name, max(max_chars // 2, 1)) or "tool"
    arguments = _arguments(arguments_json)
    if isinstance(arguments, str):
        return one_line(f"{label}({one_line(arguments, max(max_chars - len(label) - 2, 0))})", max_chars)
    ranked = sorted(_leaves(arguments), key=_importance)
    room = max_chars - len(label) - 2
    shown: list[str] = []
    for key, value in ranked:
        part = f"{key}={_value(value)}"
        if len(part) + 2 * bool(shown) > room - 1:
            part = "…" if shown else clip(part, max(room, 0))
            shown.append(part)
            break
        room -= len(part) + 2 * bool(shown)
        shown.append(part)
    return one_line(f"{label}({', '.join(shown)})", max_chars)


def query_summary(tool_name: str, arguments: Mapping[str, object] | str) -> str:
    """Return a call's question or else its arguments, at most 120 characters: "web_search: population of Lyon"."""
    parsed = _arguments(arguments)
    if isinstance(parsed, Mapping):
        leaves = [(key, value) for key, value in _leaves(parsed) if value not in (None, "", [], {})]
        telling = [(key, value) for key, value in leaves if _importance((key, value)) < 2]
        question = next((value for key, value in telling if _QUESTION_KEYS.match(key) and isinstance(value, str)), None)
        if question is not None and (len(telling) == 1 or len(question) > 40):
            name = one_line(tool_name, 50)
            shown = one_line(_TAG.sub(" ", question[:2000]), 120)
            return one_line(f"{name}: {shown}" if name else shown, 120)
    return call_line(tool_name, parsed, max_chars=120)


def tools_in(role: str, line: str) -> list[str]:
    """Return the tools named in a line by ``call_line`` or ``result_line``. Lines of spoken words name none."""
    if role in ("tool", "function"):
        named = _RESULT.match(line)
        return [named[1]] if named else []
    if role != "assistant" or _CALL.match(line) is None:
        return []
    return [match[1] for match in _CALL.finditer(line)]


def nameless(line: str) -> str:
    """Return a line of ``call_line`` or ``result_line`` without the names of tools and arguments."""
    return _NAME.sub(" ", line)


def _arguments(arguments: str | Mapping[str, object]) -> Mapping[str, object] | str:
    """Return a call's arguments as a mapping, or as text if they are none."""
    if not isinstance(arguments, str):
        return arguments
    try:
        value = json.loads(arguments) if len(arguments) <= 200_000 else None
    except (ValueError, RecursionError):
        return arguments
    if isinstance(value, dict):
        return value
    return arguments if value is None else _value(value)


def _leaves(arguments: Mapping[str, object], depth: int = 2) -> Iterator[tuple[str, object]]:
    """Yield arguments by name, and those of nested objects by their inner names; at most a hundred of each object."""
    for key, value in islice(arguments.items(), 100):
        if isinstance(value, Mapping) and value and depth:
            yield from _leaves(value, depth - 1)
        else:
            yield one_line(str(key), 30), "***" if _SECRET_KEYS.search(str(key)[:80]) else value


def _importance(leaf: tuple[str, object]) -> int:
    key, value = leaf
    if value is None or value == "" or isinstance(value, bool):
        return 3
    if _LAST_KEYS.match(key) or (isinstance(value, str) and len(value) > 300):
        return 2
    return 0 if _FIRST_KEYS.match(key) else 1


def _value(value: object) -> str:
    if isinstance(value, str):
        return one_line(_TAG.sub(" ", value[:1000]), 70)
    if value is None or isinstance(value, (bool, float)):
        return (
            {None: "null", True: "true", False: "false"}.get(value, str(value))
            if not isinstance(value, float)
            else str(value)
        )
    if isinstance(value, int):
        return str(value) if value.bit_length() <= 200 else "…"
    if isinstance(value, Mapping):
        inner = ", ".join(f"{one_line(str(key), 20)}: {_scalar(item)}" for key, item in islice(value.items(), 3))
        return clip(f"{{{inner}}}", 60)
    if isinstance(value, (list, tuple)):
        more = "…" if len(value) > 3 else ""
        return clip("[" + ", ".join(_scalar(item) for item in value[:3]) + more + "]", 60)
    return ""


def _scalar(value: object) -> str:
    if isinstance(value, Mapping):
        return "{…}"
    if isinstance(value, (list, tuple)):
        return "[…]"
    return one_line(_value(value), 40)
