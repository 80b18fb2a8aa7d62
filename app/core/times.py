"""Times as the API writes them."""

from __future__ import annotations

from datetime import datetime


def time_text(value: datetime) -> str:
    """Return a time in UTC as RFC 3339, such as 2030-01-31T12:00:00Z."""
    return value.isoformat().replace("+00:00", "Z")
