"""An identity provider's public keys (JWKS), and the signatures of its tokens.

Keys are kept in memory. They are read again when they are ten minutes old, and when a token names an unknown one, so
that rotated keys work without a restart and withdrawn ones end. Reads are shared and limited in time, size and number:
a flood of tokens causes no flood of reads, and a hanging provider delays a request by READ_SECONDS at most. While the
provider is unavailable, known keys stay valid.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import anyio.to_thread
import httpx
import jwt
from jwt.api_jws import PyJWS
from jwt.types import JWKDict

from app import errors
from app.core.edge.rate import Bucket, take

READ_SECONDS: Final = 3.0
KEYS_SECONDS: Final = 600.0
RETRY_SECONDS: Final = 30.0
"""Until keys whose age is due are read again after a failure."""
READS_PER_MINUTE: Final = 6
JWKS_BYTES_MAX: Final = 1 << 20

_RSA = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
_ALGORITHMS: Mapping[tuple[str, str], Sequence[str]] = {
    ("EC", "P-256"): ("ES256",), ("EC", "P-384"): ("ES384",), ("EC", "P-521"): ("ES512",),
    ("OKP", "Ed25519"): ("EdDSA",), ("OKP", "Ed448"): ("EdDSA",),
}  # fmt: skip
"""Algorithms by a key's type and curve. None is symmetric: an issuer's public key must not pass for a shared secret."""
ALGORITHMS: Final = frozenset({*_RSA, *(name for names in _ALGORITHMS.values() for name in names)})

_logger = logging.getLogger(__name__)
_signatures = PyJWS(algorithms=sorted(ALGORITHMS))


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A public key, and the algorithms whose signatures it checks."""

    kid: str | None
    algorithms: Sequence[str]
    key: Any


class Issuer:
    """An identity provider's keys. ``source`` is a URL or the path of a file."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._keys: Sequence[SigningKey] = ()
        self._due_at = -math.inf
        self._failure: str | None = None
        self._bucket: Bucket | None = None
        self._reading: asyncio.Task[None] | None = None

    async def claims(self, token: str) -> dict[str, Any]:
        """Return a token's verified claims. Raises InvalidToken, or IssuerUnavailable if the keys cannot be read."""
        try:
            header = _signatures.get_unverified_header(token)
        except (jwt.PyJWTError, RecursionError):
            raise errors.InvalidToken("The token is malformed.") from None
        algorithm, kid = header.get("alg"), header.get("kid")
        if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
            raise errors.InvalidToken("The token is not signed by an accepted algorithm, such as RS256 or ES256.")
        key = await self._key(kid)
        if algorithm not in key.algorithms:
            raise errors.InvalidToken("The token is signed by an algorithm that its key is not for.")
        return _verified(token, key, algorithm)

    async def close(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)

    async def _key(self, kid: str | None) -> SigningKey:
        if time.monotonic() >= self._due_at or _found(self._keys, kid) is None:
            await self._refresh()
        key = _found(self._keys, kid)
        if key is not None:
            return key
        if self._failure is not None:
            raise errors.IssuerUnavailable(f"The keys of the tokens' issuer cannot be read: {self._failure}.")
        raise errors.InvalidToken("The token's key (kid) is not one of its issuer's.")

    async def _refresh(self) -> None:
        """Read the keys, or wait for the read in progress. Does nothing after too many reads."""
        if self._reading is None:
            taken = take(self._bucket, time.monotonic(), READS_PER_MINUTE)
            self._bucket = taken.bucket
            if not taken.allowed:
                return
            self._reading = asyncio.create_task(self._read())
        await asyncio.shield(self._reading)

    async def _read(self) -> None:
        try:
            async with asyncio.timeout(READ_SECONDS):
                self._keys = keys_of(await _fetched(self._source))
            self._failure, self._due_at = None, time.monotonic() + KEYS_SECONDS
        except (TimeoutError, httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
            self._failure, self._due_at = _reason(error), time.monotonic() + RETRY_SECONDS
            _logger.warning("the keys of the tokens' issuer cannot be read: %s", self._failure)
        finally:
            self._reading = None


def keys_of(text: bytes) -> Sequence[SigningKey]:
    """Return the usable keys of a JWKS. Raises ValueError if there are none."""
    try:
        value = json.loads(text)
    except RecursionError:
        value = None
    listed = value.get("keys") if isinstance(value, dict) else None
    found = [_signing_key(one) for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    keys = [one for one in found if one is not None]
    if not keys:
        raise ValueError("no public keys for signatures")
    return keys


def _signing_key(value: JWKDict) -> SigningKey | None:
    """Return a key of a JWKS; None if it is symmetric, private, damaged or not for signatures."""
    kind, curve, named, kid = (value.get(name) for name in ("kty", "crv", "alg", "kid"))
    algorithms = _RSA if kind == "RSA" else _ALGORITHMS.get((str(kind), str(curve)), ())
    if named is not None and kind != "OKP":  # its algorithm has two names
        algorithms = tuple(one for one in algorithms if one == named)
    if not algorithms or value.get("use") not in (None, "sig") or "d" in value or not isinstance(kid, str | None):
        return None
    try:
        return SigningKey(kid, algorithms, jwt.PyJWK(value, algorithm=algorithms[0]).key)
    except (jwt.PyJWTError, ValueError, TypeError):
        return None


def _found(keys: Sequence[SigningKey], kid: str | None) -> SigningKey | None:
    if kid is None:
        return keys[0] if len(keys) == 1 else None
    return next((one for one in keys if one.kid == kid), None)


def _verified(token: str, key: SigningKey, algorithm: str) -> dict[str, Any]:
    try:
        claims = json.loads(_signatures.decode(token, key.key, algorithms=[algorithm]))
    except jwt.InvalidSignatureError:
        raise errors.InvalidToken("The token's signature is not valid.") from None
    except (jwt.PyJWTError, ValueError, RecursionError):
        raise errors.InvalidToken("The token is malformed.") from None
    if not isinstance(claims, dict):
        raise errors.InvalidToken("The token is malformed.")
    return claims


async def _fetched(source: str) -> bytes:
    if not source.startswith(("http://", "https://")):
        return await anyio.to_thread.run_sync(_file, source, abandon_on_cancel=True)
    async with httpx.AsyncClient(timeout=READ_SECONDS) as client, client.stream("GET", source) as answer:
        if answer.status_code != httpx.codes.OK:
            raise ValueError(f"the answer's status is {answer.status_code}")
        text = bytearray()
        async for part in answer.aiter_bytes():
            text += part
            if len(text) > JWKS_BYTES_MAX:
                raise ValueError("the answer is too large")
    return bytes(text)


def _file(path: str) -> bytes:
    with Path(path).open("rb") as file:
        return file.read(JWKS_BYTES_MAX)


def _reason(error: Exception) -> str:
    """Return why a read failed, without the address."""
    if isinstance(error, TimeoutError | httpx.TimeoutException):
        return f"no answer within {READ_SECONDS:g} s"
    if isinstance(error, UnicodeDecodeError | json.JSONDecodeError):
        return "the answer is not JSON"
    if isinstance(error, ValueError):
        return str(error)
    return "the file cannot be read" if type(error).__module__ == "builtins" else "the address cannot be reached"
