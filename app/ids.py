"""Identifiers that Quire makes itself."""

import secrets
import threading
import time
from uuid import UUID

_lock = threading.Lock()
_latest = 0


def uuid7() -> UUID:
    """Return a UUIDv7 (RFC 9562, section 6.2 method 3) greater than every earlier one of this process.

    The twelve bits after the milliseconds hold its fraction. When the clock stands still or goes
    back, the 60 bits count on from the last value instead.
    """
    global _latest
    milliseconds, rest = divmod(time.time_ns(), 1_000_000)
    with _lock:
        _latest = max(milliseconds << 12 | (rest << 12) // 1_000_000, _latest + 1)
        stamp = _latest
    high = (stamp >> 12) << 16 | 0x7000 | stamp & 0xFFF
    return UUID(int=high << 64 | 0b10 << 62 | secrets.randbits(62))
