"""Adding one message to a request whose every other byte stays as it was sent."""

from __future__ import annotations

import json

from app.core.canonical import dumps
from app.core.dialects.question import Dialect

LISTS: dict[Dialect, str] = {"chat": "messages", "messages": "messages", "responses": "input"}
_BLANK = " \t\n\r"
_decode = json.JSONDecoder().raw_decode


def with_message(body: bytes, dialect: Dialect, text: str) -> bytes:
    """Return a request with a user message at the end of its list; as it is if there is no list, or it ends with an
    answer to be continued. ``body`` is JSON.
    """
    said = body.decode()
    end = _end_of_list(said, LISTS[dialect])
    if end is None:
        return body
    return f"{said[:end]},{dumps({'role': 'user', 'content': text})}{said[end:]}".encode()


def _end_of_list(said: str, name: str) -> int | None:
    at = _after_blanks(said, _after_blanks(said, 0) + 1)
    while said[at] != "}":
        key, at = _decode(said, at)
        value, at = _decode(said, _after_blanks(said, _after_blanks(said, at) + 1))
        if key == name:
            return at - 1 if isinstance(value, list) and value and _takes_more(value[-1]) else None
        at = _after_blanks(said, at)
        if said[at] == ",":
            at = _after_blanks(said, at + 1)
    return None


def _after_blanks(said: str, at: int) -> int:
    while said[at] in _BLANK:
        at += 1
    return at


def _takes_more(last: object) -> bool:
    return isinstance(last, dict) and last.get("role") != "assistant"
