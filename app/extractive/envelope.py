"""Unwrap a tool's text from the protocol around it.

MCP results arrive as ``{"content": [{"type": "text", "text": …}]}``, as the repr of Python objects
(``[TextContent(type='text', text='…')]``), or as one nested in the other.
"""

import json
import re

WINDOW = 200_000

_REPR_TEXT = re.compile(r"\btext=(?:'((?:[^'\\]++|\\.)*+)|\"((?:[^\"\\]++|\\.)*+))", re.DOTALL)
_JSON_TEXT = re.compile(r'"text"\s*:\s*"((?:[^"\\]++|\\.)*+)', re.DOTALL)
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U0*([0-9a-fA-F]{5})|(.))", re.DOTALL)
_PLAIN_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "0": " ", "b": " ", "f": " "}
_DEPTH = 4
_MAX_PARTS = 200
_DECODER = json.JSONDecoder()


def unwrap(text: str) -> str:
    """Return the innermost text; the text itself if nothing is wrapped around it."""
    inner = text[:WINDOW]
    for _ in range(_DEPTH):
        peeled = _peel(inner)
        if peeled is None or not peeled.strip():
            break
        inner = peeled
    # The text was escaped once too often, or is a JSON string that was cut off: its line ends are "\\n".
    if inner.count("\\n") > max(5, inner.count("\n")) and parse_json(inner) is None:
        return inner.replace("\\n", "\n").replace('\\"', '"')
    return inner


def _peel(text: str) -> str | None:
    head = text[:400].lstrip()
    if "TextContent(" in head or "content=[" in head:
        texts = [_unescape(single or double) for single, double in _REPR_TEXT.findall(text)[:_MAX_PARTS]]
        return "\n".join(texts) if texts else None
    if not head.startswith(("{", "[")) or '"text"' not in text:
        return None
    value = parse_json(text)
    joined = _joined(value.get("content") if isinstance(value, dict) else value)
    if joined is None and re.match(r'[\[{][^"]{0,40}"(?:_?meta|content|type)"', head):
        # The envelope was cut off inside its text.
        joined = "\n".join(_unescape(part) for part in _JSON_TEXT.findall(text)[:_MAX_PARTS]) or None
    return joined


def _joined(parts: object) -> str | None:
    if not isinstance(parts, list) or not parts:
        return None
    texts: list[str] = []
    for part in parts[:_MAX_PARTS]:
        if not isinstance(part, dict) or "type" not in part:
            return None
        text = part.get("text")
        if isinstance(text, str):
            texts.append(text)
    return "\n".join(texts) if texts else None


def _unescape(literal: str) -> str:
    return _ESCAPE.sub(_unescaped, literal) if "\\" in literal else literal


def _unescaped(match: re.Match[str]) -> str:
    code = match[1] or match[2] or match[3]
    if code is None:
        return _PLAIN_ESCAPES.get(match[4], match[4])
    number = int(code, 16)
    return chr(number) if number <= 0x10FFFF else " "


def parse_json(text: str) -> object | None:
    """Return the value of a JSON object or array; None for any other text.

    Several objects, one per line, become a list. Of a truncated text, the complete outer members are returned.
    """
    stripped = text.strip()
    if not stripped.startswith(("{", "[")):
        return None
    try:
        value: object = json.loads(stripped)
    except (ValueError, RecursionError):
        return _lines(stripped) or _partial(stripped)
    return value


def _lines(text: str) -> list[object] | None:
    lines = [line for line in text[:WINDOW].splitlines() if line.strip()]
    if len(lines) < 2:
        return None
    values: list[object] = []
    for line in lines:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            if len(values) < 2:
                return None
            break
        if not isinstance(value, dict):
            return None
        values.append(value)
    return values


def _partial(text: str) -> object | None:
    try:
        return _open(text, 0, 6) or None
    except ValueError:
        return None


def _open(text: str, at: int, depth: int) -> dict[str, object] | list[object]:
    """Return the members of the container at ``at``, including the part of a last one that was cut."""
    is_object = text[at] == "{"
    members: dict[str, object] = {}
    items: list[object] = []
    at = _skip(text, at + 1, " \t\r\n")
    while at < len(text):
        key = ""
        if is_object:
            if (named := _key(text, at)) is None:
                break
            key, at = named
        try:
            value, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            if text[at] == '"':
                value, at = _unescape(text[at + 1 :]), len(text)
            elif _is_cut(text, at) and depth:
                value, at = _open(text, at, depth - 1), len(text)
            else:
                break
        if is_object:
            members[key] = value
        else:
            items.append(value)
        at = _skip(text, at, " \t\r\n,")
    return members if is_object else items


def _is_cut(text: str, at: int) -> bool:
    """Return whether the value at ``at`` is a container that was cut. Raises ValueError if it is no cut JSON at all."""
    if text[at : at + 1] in ("{", "["):
        return True
    if len(text) - at > 30 and text[at] != '"':
        raise ValueError("not JSON")
    return False


def _key(text: str, at: int) -> tuple[str, int] | None:
    """Return a member's name and the start of its value; None if the text ends first."""
    if text[at] != '"':
        raise ValueError("not JSON")
    try:
        key, at = _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        return None
    at = _skip(text, at, " \t\r\n")
    if at < len(text) and text[at] != ":":
        raise ValueError("not JSON")
    at = _skip(text, at + 1, " \t\r\n")
    return (str(key), at) if at < len(text) else None


def _skip(text: str, at: int, blanks: str) -> int:
    while at < len(text) and text[at] in blanks:
        at += 1
    return at
