"""The one way Quire turns a value into JSON text.

Stored messages, hashes and rendered windows are compared byte for byte, so every caller must
serialise alike: members in the order they were given, no spaces, characters as themselves.
"""

import hashlib
import json
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

T = TypeVar("T")

_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


def dumps(value: Any) -> str:
    """Return the canonical JSON of a value. NaN and infinities raise ValueError."""
    return _encode(value)


def loads(text: str | bytes) -> Any:
    """Return the value of a JSON text; None if it is not JSON or is nested too deeply."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def spaced(value: Any) -> str:
    """Return JSON with the spaces that most serialisers write, to count schemas as callers can send them."""
    return json.dumps(value, ensure_ascii=False)


def etag_of(body: bytes) -> str:
    return f'"{hashlib.sha256(body).hexdigest()[:32]}"'


def hash_of(*texts: str) -> str:
    """Return the SHA-256 of texts joined by NUL, in hexadecimal."""
    return hashlib.sha256("\x00".join(texts).encode()).hexdigest()


def digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest()


def remembered(most: int) -> Callable[[Callable[[str], T]], Callable[[str], T]]:
    """Cache a function of texts by their digests: the texts themselves must not be kept, because they can be erased."""

    def remembering(tell: Callable[[str], T]) -> Callable[[str], T]:
        known: dict[bytes, T] = {}

        @wraps(tell)
        def told(text: str) -> T:
            found = known.get(key := digest(text))
            if found is None:
                if len(known) >= most:
                    known.clear()
                known[key] = found = tell(text)
            return found

        return told

    return remembering
