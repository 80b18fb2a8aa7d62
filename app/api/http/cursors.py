"""Cursors: the place where a list continues, opaque to the caller."""

import base64
import binascii
import json
from datetime import UTC, datetime
from uuid import UUID

from app import errors

LONGEST_NUMBER = 10


def encode(*parts: object) -> str:
    text = json.dumps([str(part) for part in parts], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode_time_and_id(cursor: str | None) -> tuple[datetime, UUID] | None:
    """Decode a cursor. Raises Invalid if ``encode`` did not make it."""
    if cursor is None:
        return None
    try:
        when, uid = _parts(cursor)
        return datetime.fromisoformat(when).astimezone(UTC), UUID(uid)
    except (ValueError, TypeError, OverflowError) as error:
        raise _bad() from error


def decode_text_and_id(cursor: str | None) -> tuple[str, UUID] | None:
    """Decode a cursor. Raises Invalid if ``encode`` did not make it."""
    if cursor is None:
        return None
    try:
        text, uid = _parts(cursor)
        if "\x00" in text:
            raise _bad()
        return text, UUID(uid)
    except (ValueError, TypeError) as error:
        raise _bad() from error


def decode_text(cursor: str | None) -> str | None:
    """Decode a cursor. Raises Invalid if ``encode`` did not make it."""
    if cursor is None:
        return None
    try:
        (text,) = _parts(cursor)
    except (ValueError, TypeError) as error:
        raise _bad() from error
    if "\x00" in text:
        raise _bad()
    return text


def number(text: str) -> int:
    """Read a number of a cursor. Raises Invalid."""
    if not (text.isascii() and text.isdecimal() and len(text) <= LONGEST_NUMBER and int(text) < 2**31):
        raise _bad()
    return int(text)


def decode_int(cursor: str | None) -> int | None:
    if cursor is None:
        return None
    try:
        (text,) = _parts(cursor)
    except (ValueError, TypeError) as error:
        raise _bad() from error
    return number(text)


def _parts(cursor: str) -> list[str]:
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        parts = json.loads(base64.b64decode(padded.encode("ascii"), altchars=b"-_", validate=True))
    except (binascii.Error, UnicodeError, RecursionError) as error:
        raise ValueError("not a cursor") from error
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise ValueError("not a cursor")
    return parts


def _bad() -> errors.Invalid:
    return errors.Invalid(
        errors=[{"loc": ["query", "cursor"], "msg": "must be the `next_cursor` of an earlier response"}],
    )


def decode_id(cursor: str | None) -> UUID | None:
    """Decode a cursor. Raises Invalid if ``encode`` did not make it."""
    if cursor is None:
        return None
    try:
        (uid,) = _parts(cursor)
        return UUID(uid)
    except (ValueError, TypeError) as error:
        raise _bad() from error
