"""Times in requests."""

import re
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError

_DATE_FIRST = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


def _text(value: Any) -> Any:
    """Refuse numbers, which Pydantic would read as seconds or milliseconds since 1970."""
    if isinstance(value, datetime) or (isinstance(value, str) and _DATE_FIRST.match(value)):
        return value
    raise PydanticCustomError("time", "must be a time as in RFC 3339, such as 2030-01-31T12:00:00Z")


def _utc(time: datetime) -> datetime:
    if time.tzinfo is None:
        return time.replace(tzinfo=UTC)
    try:
        return time.astimezone(UTC)
    except OverflowError:
        raise PydanticCustomError("time", "is before the year 1 or after the year 9999") from None


Time = Annotated[datetime, Field(strict=False), BeforeValidator(_text), AfterValidator(_utc)]
"""In UTC, also where none is named."""
