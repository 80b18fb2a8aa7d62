"""The head of a request: what stands in it once.

A proxy in front and Quire must read the same request. Where two values of such a header differ, each could go by
another one, so the request is refused.
"""

from __future__ import annotations

from collections.abc import Iterable

ONCE = {b"host": "Host", b"idempotency-key": "Idempotency-Key", b"content-encoding": "Content-Encoding"}
"""Headers that a request has once at most."""


def fault_of(headers: Iterable[tuple[bytes, bytes]], http_version: str) -> str | None:
    """Return what is wrong with a request's headers, whose names are in lower case; None if nothing is."""
    seen: set[bytes] = set()
    for name, _ in headers:
        if name in seen:
            return f"The header {ONCE[name]} must not be repeated."
        if name in ONCE:
            seen.add(name)
    if http_version == "1.1" and b"host" not in seen:
        return "The header Host is missing; HTTP/1.1 requires it."
    return None
