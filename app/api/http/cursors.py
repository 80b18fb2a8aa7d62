"""Parameters of a list: its limit, and the cursor that says where it continues, opaque to the caller.

Each ``decode_…`` returns None without a cursor, and raises Invalid for one that ``encode`` did not make.
"""

import base64
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, TypeVar
from uuid import UUID

from fastapi import Query

from app import errors
from app.core.model import INTEGER_MAX

Limit = Annotated[int, Query(ge=1, le=200, description="maximum number of items")]
Cursor = Annotated[str | None, Query(max_length=500, description="`next_cursor` of the previous response")]

LONGEST_NUMBER = 10
Place = TypeVar("Place")


def encode(*parts: object) -> str:
    text = json.dumps([str(part) for part in parts], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode_time_and_id(cursor: str | None) -> tuple[datetime, UUID] | None:
    return _decoded(cursor, lambda when, uid: (datetime.fromisoformat(when).astimezone(UTC), UUID(uid)))


def decode_text_and_id(cursor: str | None) -> tuple[str, UUID] | None:
    return _decoded(cursor, lambda text, uid: (_storable(text), UUID(uid)))


def decode_text(cursor: str | None) -> str | None:
    return _decoded(cursor, _storable)


def decode_int(cursor: str | None) -> int | None:
    return _decoded(cursor, number)


def decode_id(cursor: str | None) -> UUID | None:
    return _decoded(cursor, UUID)


def number(text: str) -> int:
    """Read a number of a cursor. Raises Invalid."""
    if not (text.isascii() and text.isdecimal() and len(text) <= LONGEST_NUMBER and int(text) <= INTEGER_MAX):
        raise _bad()
    return int(text)


def _storable(text: str) -> str:
    if "\x00" in text:
        raise _bad()
    return text


def _decoded(cursor: str | None, place: Callable[..., Place]) -> Place | None:
    if cursor is None:
        return None
    try:
        return place(*_parts(cursor))
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise _bad() from error


def _parts(cursor: str) -> list[str]:
    padded = cursor + "=" * (-len(cursor) % 4)
    parts = json.loads(base64.b64decode(padded.encode("ascii"), altchars=b"-_", validate=True))
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise ValueError("not a cursor")
    return parts


def _bad() -> errors.Invalid:
    return errors.Invalid.at(["query", "cursor"], "must be the `next_cursor` of an earlier response")
