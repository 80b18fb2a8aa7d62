"""How long to wait before a call is tried again, and when not to wait in the call at all."""

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
    """What a Retry-After asks for, as seconds or as an HTTP date, at ``now`` in seconds since 1970.

    From 0 to `ASKED_MAX_SECONDS`; None if there is none, or none that makes sense.
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
    """How long to wait before the next try of a call that was retried so often, or None to give up.

    Doubling with full jitter, on top of what the provider asked for. ``left`` is the rest of the call's time and
    ``chance`` a random number from 0 to 1.
    """
    asked = error.retry_after or 0.0
    if retried >= RETRIES or asked > WAIT_MAX_SECONDS:
        return None
    seconds = asked + chance * min(BACKOFF_SECONDS * 2**retried, BACKOFF_MAX_SECONDS)
    return seconds if seconds < left else None
