"""Decide how long to wait before a retry, and when to give up instead."""

import re
from datetime import UTC
from email.utils import parsedate_to_datetime

from app.providers import TemporaryError

RETRIES = 2
"""After the first try."""

BACKOFF_SECONDS = 0.5
BACKOFF_MAX_SECONDS = 8.0
WAIT_MAX_SECONDS = 10.0
"""The longest that a provider may ask for and be waited for with the caller held; beyond it the caller is told."""

ASKED_MAX_SECONDS = 3600.0
"""The longest that a caller is told to stay away, whatever the provider says."""

_SECONDS = re.compile(r"[0-9]{1,12}(?:\.[0-9]{0,9})?")


def asked_seconds(retry_after: str | None, now: float) -> float | None:
    """Parse a Retry-After, in seconds or as an HTTP date; ``now`` is in seconds since 1970.

    The result is between 0 and `ASKED_MAX_SECONDS`; None if the header is absent or malformed.
    """
    if retry_after is None:
        return None
    value = retry_after.strip()
    if _SECONDS.fullmatch(value):
        return min(float(value), ASKED_MAX_SECONDS)
    try:
        moment = parsedate_to_datetime(value)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return min(max(moment.timestamp() - now, 0.0), ASKED_MAX_SECONDS)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def pause_seconds(error: TemporaryError, retried: int, left: float, chance: float) -> float | None:
    """Return how long to wait before the next attempt after ``retried`` retries, or None to give up.

    Doubles with full jitter, on top of what the provider asked for. ``left`` is what remains of the call's time, and
    ``chance`` a random number from 0 to 1.
    """
    retry_after = error.retry_after or 0.0
    if retried >= RETRIES or retry_after > WAIT_MAX_SECONDS:
        return None
    seconds = retry_after + chance * min(BACKOFF_SECONDS * 2**retried, BACKOFF_MAX_SECONDS)
    return seconds if seconds < left else None
