"""The head of a request: headers that must have one value.

A proxy in front and Quire must understand a request alike. If such a header has two different values, each could use
another one, so the request is refused.
"""

from __future__ import annotations

from collections.abc import Iterable

ONCE = {b"host": "Host", b"idempotency-key": "Idempotency-Key", b"content-encoding": "Content-Encoding"}
"""Headers that a request has once at most."""


def fault_of(headers: Iterable[tuple[bytes, bytes]], http_version: str) -> str | None:
    """Return what is wrong with headers, whose names are in lower case; None if nothing is."""
    seen: set[bytes] = set()
    for name, _ in headers:
        if name in seen:
            return f"The header {ONCE[name]} must not be repeated."
        if name in ONCE:
            seen.add(name)
    if http_version == "1.1" and b"host" not in seen:
        return "The header Host is missing; HTTP/1.1 requires it."
    return None
