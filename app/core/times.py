"""Times as the API reads and writes them, and in the ids of memories."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import UUID

from app.errors import FieldError

SAID_FIRST = datetime(1970, 1, 1, tzinfo=UTC)
"""No message can have been said before."""
CLOCKS_DIFFER = timedelta(minutes=1)
"""How far a sender's clock can be ahead of ours, or of another sender's."""
_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)?", re.ASCII)


def time_text(value: datetime) -> str:
    """Return a time in UTC as RFC 3339, such as 2030-01-31T12:00:00Z."""
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")


def offset_of(value: datetime | None) -> int:
    """Return how many minutes the clock of a time's place is ahead of UTC."""
    shift = value.utcoffset() if value is not None else None
    return int(shift.total_seconds()) // 60 if shift is not None else 0


def said_text(value: datetime, offset: int) -> str:
    """Return when a message was said as its sender can have written it."""
    return local(value, offset).isoformat().replace("+00:00", "Z")


def local(value: datetime, offset: int) -> datetime:
    """Return a time by the clock of its place: its day is the speaker's."""
    return value.astimezone(timezone(timedelta(minutes=offset))) if offset else value


def said_at(value: Any) -> datetime:
    """Read when a message was said, by the speaker's clock. Raises ValueError with the rule that is broken."""
    time = _read(value) if isinstance(value, str) and _RFC_3339.fullmatch(value) else None
    if time is None:
        raise ValueError("must be a time as in RFC 3339, such as 2030-01-31T12:00:00Z")
    if time < SAID_FIRST:
        raise ValueError(f"must not be before {time_text(SAID_FIRST)}")
    return time


def _read(text: str) -> datetime | None:
    try:
        time = datetime.fromisoformat(text.upper())
        time = time if time.tzinfo is not None else time.replace(tzinfo=UTC)
        time.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return time


def problems_of_said(
    times: Iterable[datetime | None], newest: datetime | None, now: datetime, first: int = 0
) -> list[FieldError]:
    """Return what is wrong unless messages were said in their order, after what is stored, and not in the future.

    Clocks differ: a message can be a little older than the one before it.

    ``newest``: when the newest message before them was said that has a time. ``first``: the place of the first of
    ``times`` in the request's list.
    """
    problems: list[FieldError] = []
    until = now + CLOCKS_DIFFER
    for index, time in enumerate(times, first):
        if time is None:
            continue
        loc: list[str | int] = ["body", "messages", index, "said_at"]
        if time > until:
            problems.append({"loc": loc, "msg": f"must not be in the future, after {time_text(until)}"})
        elif newest is not None and time < newest - CLOCKS_DIFFER:
            message = f"must not be before {time_text(newest)}, when a message before it was said"
            problems.append({"loc": loc, "msg": message})
        else:
            newest = max(time, newest) if newest is not None else time
    return problems


def dated(id_: UUID, time: datetime | None) -> UUID:
    """Return a UUIDv7 as one of another time (from 1970 on): searches compare times with those in memories' ids.

    None leaves the id as it is.
    """
    if time is None:
        return id_
    milliseconds = (time - SAID_FIRST) // timedelta(milliseconds=1)
    return UUID(int=milliseconds << 80 | id_.int & ((1 << 80) - 1))


def first_id(time: datetime) -> UUID:
    """Return the smallest UUIDv7 of a moment, or the nearest that exists."""
    return UUID(int=min(max(int(time.timestamp() * 1000), 0), 2**48 - 1) << 80)


def time_of(name: UUID) -> datetime:
    """Return the moment of a UUIDv7 to a millisecond, or the last that there is."""
    last = datetime.max.replace(microsecond=0, tzinfo=UTC).timestamp()
    return datetime.fromtimestamp(min((name.int >> 80) / 1000, last), UTC)
