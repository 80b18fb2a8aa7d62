"""Decode request bodies that come compressed, for every route alike.

A body comes out in small pieces however little went in, so the limits of whoever reads it hold for what comes out, and
a bomb is never unpacked beyond them.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import zstandard
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app import errors

CODINGS_MAX = 2
PIECE_BYTES = 65_536
OVERHEAD_BYTES = 262_144
"""What a coding may take before anything comes out: more than a block of any of them."""
WINDOW_BYTES_MAX = 8 * 1024 * 1024
"""A decoder's memory: RFC 9659 lets the zstd of HTTP ask for no more."""
STEP_BYTES = 64
"""Of zstd, decoded at a time: at most sixteen blocks, which make 2 MiB; its decoder has no limit on what comes out."""
_ENCODED = "quire.encoded"


@dataclass
class Encoded:
    """A compressed body as it comes."""

    codings: Sequence[str]
    is_kept: bool = False
    parts: list[bytes] = field(default_factory=list)
    """As they came, if they are kept."""


def kept_as_it_comes(request: Request) -> Encoded | None:
    """Keep a body that is yet to be read as it comes, beside what it is decoded to; None if it is not compressed."""
    encoded: Encoded | None = request.scope.get(_ENCODED)
    if encoded is not None:
        encoded.is_kept = True
    return encoded


class Decompressed:
    """Hands compressed bodies on decoded."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        codings = _codings(scope) if scope["type"] == "http" else []
        if codings:
            encoded = Encoded(codings)
            headers = [pair for pair in scope["headers"] if pair[0] not in (b"content-encoding", b"content-length")]
            scope = {**scope, "headers": headers, _ENCODED: encoded}
            receive = _decoding(encoded, receive)
        await self._app(scope, receive, send)


def _codings(scope: Scope) -> list[str]:
    named = [value for name, value in scope["headers"] if name == b"content-encoding"]
    codings = [one.strip().lower().removeprefix("x-") for value in named for one in value.decode("latin-1").split(",")]
    return [one for one in codings if one not in ("", "identity")]


def _decoding(encoded: Encoded, receive: Receive) -> Receive:
    """Return a ``receive`` that decodes. It raises UnsupportedMediaType and BadRequest when the body is read."""
    body: _Body | None = None

    async def receiving() -> Message:
        nonlocal body
        body = body or _Body(encoded.codings)
        while not body.is_over:
            if piece := body.next_piece():
                await asyncio.sleep(0)  # the next one may be ready already; give others a turn
                return {"type": "http.request", "body": piece, "more_body": True}
            if body.is_whole:
                return body.end()
            message = await receive()
            if message["type"] != "http.request":
                return message
            if encoded.is_kept:
                encoded.parts.append(message.get("body", b""))
            body.take(message.get("body", b""), is_last=not message.get("more_body", False))
        return await receive()

    return receiving


class _Body:
    """A body on its way through its codings."""

    def __init__(self, codings: Sequence[str]) -> None:
        """Raises UnsupportedMediaType."""
        if len(codings) > CODINGS_MAX or not _DECODERS.keys() >= set(codings):
            known = ", ".join(_DECODERS)
            detail = f"The Content-Encoding must be {known}, or {CODINGS_MAX} of them."
            raise errors.UnsupportedMediaType(detail, headers={"Accept-Encoding": known})
        self._stages = [_Stage(_DECODERS[one]) for one in reversed(codings)]  # the last one was put on last
        self._pieces: Iterator[bytes] = iter(())
        self._came = self._left = 0
        self.is_whole = self.is_over = False

    def take(self, data: bytes, *, is_last: bool) -> None:
        self._came += len(data)
        self.is_whole = is_last
        self._pieces = self._through(data, self._stages)

    def _through(self, data: bytes, stages: Sequence[_Stage]) -> Iterator[bytes]:
        if not stages:
            yield data
            return
        for piece in stages[0].decode(data):
            yield from self._through(piece, stages[1:])

    def next_piece(self) -> bytes | None:
        """Return what comes out next, None if nothing does before more comes in. Raises BadRequest."""
        try:
            piece = next(self._pieces, None)
        except (zlib.error, zstandard.ZstdError):
            raise _unreadable("is not what its Content-Encoding says") from None
        self._left += len(piece or b"")
        if piece is None and self._came > 2 * self._left + OVERHEAD_BYTES:
            raise _unreadable("has hardly anything in it")  # it could come for ever and reach no limit
        return piece

    def end(self) -> Message:
        """Return the end of the body. Raises BadRequest."""
        self.is_over = True
        if self._came and not all(stage.is_whole for stage in self._stages):
            raise _unreadable("ended early")
        return {"type": "http.request", "body": b"", "more_body": False}


class _Stage:
    """One coding of a body: frames or members, one after another."""

    def __init__(self, make: Callable[[bytes], Any]) -> None:
        self._make = make
        self._decoder: Any = None

    @property
    def is_whole(self) -> bool:
        return self._decoder is not None and self._decoder.eof

    def decode(self, data: bytes) -> Iterator[bytes]:
        is_full = False
        while data or is_full:
            if self._decoder is None or self._decoder.eof:
                self._decoder = self._make(data)
            piece = self._decoder.decompress(data, PIECE_BYTES)
            ended = self._decoder.eof
            data = self._decoder.unused_data if ended else getattr(self._decoder, "unconsumed_tail", b"")
            is_full = len(piece) >= PIECE_BYTES and not ended
            if piece:
                yield piece


class _Zstd:
    """Decodes a frame of zstd as ``zlib.decompressobj`` does."""

    def __init__(self) -> None:
        self._decoder = zstandard.ZstdDecompressor(max_window_size=WINDOW_BYTES_MAX).decompressobj()
        self.unconsumed_tail = self.unused_data = b""

    @property
    def eof(self) -> bool:
        return self._decoder.eof

    def decompress(self, data: bytes, bytes_wanted: int) -> bytes:
        piece, at = bytearray(), 0
        while at < len(data) and len(piece) < bytes_wanted and not self.eof:
            piece += self._decoder.decompress(data[at : at + STEP_BYTES])
            at += STEP_BYTES
        self.unused_data = self._decoder.unused_data + data[at:]
        self.unconsumed_tail = data[at:]
        return bytes(piece)


def _deflate(begins: bytes) -> Any:
    """Return the decoder of a "deflate", which some clients send without zlib's frame around it."""
    return zlib.decompressobj(zlib.MAX_WBITS if begins[0] & 0x0F == zlib.DEFLATED else -zlib.MAX_WBITS)


_DECODERS: Mapping[str, Callable[[bytes], Any]] = {
    "gzip": lambda _: zlib.decompressobj(16 + zlib.MAX_WBITS),
    "deflate": _deflate,
    "zstd": lambda _: _Zstd(),
}


def _unreadable(what: str) -> errors.QuireError:
    return errors.BadRequest(f"The compressed body {what}.", headers={"Connection": "close"})
