"""Decode request bodies that come compressed, for every route alike.

A body comes out in small pieces however little went in, so the limits of whoever reads it hold for what comes out, and
a bomb is never unpacked beyond them.
"""

from __future__ import annotations

import asyncio
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app import errors

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

try:
    import brotli
except ImportError:  # it is an extra
    brotli = None

CODINGS_MAX = 2
PIECE_BYTES = 65_536
OVERHEAD_BYTES = 262_144
"""What may come before anything comes out: more than a block of any coding."""
WINDOW_LOG_MAX = 23
"""A decoder's memory is 8 MiB: RFC 9659 lets the zstd of HTTP ask for no more."""
_ENCODED = "quire.encoded"


def encoded_body(request: Request) -> EncodedBody | None:
    """Return a body that is yet to be read and then kept as it came, too; None if it is not compressed."""
    encoded: EncodedBody | None = request.scope.get(_ENCODED)
    if encoded is not None:
        encoded.is_kept = True
    return encoded


class Decompressed:
    """Hands compressed bodies on decoded."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (codings := _codings(scope)):
            headers = [pair for pair in scope["headers"] if pair[0] not in (b"content-encoding", b"content-length")]
            encoded = EncodedBody(codings, receive)
            scope, receive = {**scope, "headers": headers, _ENCODED: encoded}, encoded.receive
        await self._app(scope, receive, send)


def _codings(scope: Scope) -> list[str]:
    named = b",".join(value for name, value in scope["headers"] if name == b"content-encoding").decode("latin-1")
    codings = [one.strip().lower().removeprefix("x-") for one in named.split(",")]
    return [one for one in codings if one not in ("", "identity")]


class EncodedBody:
    """A body on its way through its codings."""

    def __init__(self, codings: Sequence[str], receive: Receive) -> None:
        self.coding = ", ".join(codings)
        self.is_kept = False
        self.kept = bytearray()
        self._receive = receive
        self._stages = [_Stage(coding) for coding in reversed(codings)]  # the last one was put on last
        self._pieces: Iterator[bytes] = iter(())
        self._came = self._left = 0
        self._is_whole = self._is_over = False

    async def receive(self) -> Message:
        """Return the next piece. Raises UnsupportedMediaType and BadRequest."""
        while not self._is_over:
            if piece := self._next_piece():
                await asyncio.sleep(0)  # the next one may be ready already; give others a turn
                return {"type": "http.request", "body": piece, "more_body": True}
            if self._is_whole:
                self._end()
                return {"type": "http.request", "body": b"", "more_body": False}
            message = await self._receive()
            if message["type"] != "http.request":
                return message
            self._take(message.get("body", b""), is_last=not message.get("more_body", False))
        return await self._receive()

    def _take(self, data: bytes, *, is_last: bool) -> None:
        if not self._came and (len(self._stages) > CODINGS_MAX or not all(stage.is_known for stage in self._stages)):
            detail = f"The Content-Encoding must be {KNOWN}, or {CODINGS_MAX} of them."
            raise errors.UnsupportedMediaType(detail, headers={"Accept-Encoding": KNOWN})
        self._came += len(data)
        self._is_whole = is_last
        self._pieces = _through(data, self._stages)
        if self.is_kept:
            self.kept += data

    def _next_piece(self) -> bytes | None:
        try:
            piece = next(self._pieces, None)
        except _UNSOUND:
            raise _unreadable("is not what its Content-Encoding says") from None
        self._left += len(piece or b"")
        if piece is None and self._came > 2 * self._left + OVERHEAD_BYTES:
            raise _unreadable("has hardly anything in it")  # it could come for ever and reach no limit
        return piece

    def _end(self) -> None:
        self._is_over = True
        if self._came and not all(stage.is_whole for stage in self._stages):
            raise _unreadable("ended early")


def _through(data: bytes, stages: Sequence[_Stage]) -> Iterator[bytes]:
    if not stages:
        yield data
    else:
        for piece in stages[0].decode(data):
            yield from _through(piece, stages[1:])


def _unreadable(what: str) -> errors.QuireError:
    return errors.BadRequest(f"The compressed body {what}.", headers={"Connection": "close"})


class _Stage:
    """One coding of a body: frames or members, one after another."""

    def __init__(self, coding: str) -> None:
        self._coding = coding
        self._decoder: Any = None

    @property
    def is_known(self) -> bool:
        return self._coding in _DECODERS

    @property
    def is_whole(self) -> bool:
        return self._decoder is not None and self._decoder.eof

    def decode(self, data: bytes) -> Iterator[bytes]:
        is_full = False
        while data or is_full:
            if self._decoder is None or self._decoder.eof:
                self._decoder = _DECODERS[self._coding](data)
            piece = self._decoder.decompress(data, PIECE_BYTES)
            left = getattr(self._decoder, "unconsumed_tail", b"")  # of zlib; the others keep it themselves
            data = self._decoder.unused_data if self._decoder.eof else left
            is_full = len(piece) >= PIECE_BYTES and not self._decoder.eof
            if piece:
                yield piece


class _Brotli:
    """Decodes brotli as the decoder of zstd does."""

    unused_data = b""

    def __init__(self) -> None:
        self._decoder = brotli.Decompressor()

    @property
    def eof(self) -> bool:
        return bool(self._decoder.is_finished())

    def decompress(self, data: bytes, bytes_wanted: int) -> bytes:
        return bytes(self._decoder.process(data, output_buffer_limit=bytes_wanted))


def _deflate(begins: bytes) -> Any:
    """Return the decoder of a "deflate", which some clients send without zlib's frame around it."""
    return zlib.decompressobj(zlib.MAX_WBITS if begins[0] & 0x0F == zlib.DEFLATED else -zlib.MAX_WBITS)


_DECODERS: Mapping[str, Callable[[bytes], Any]] = {
    "gzip": lambda _: zlib.decompressobj(16 + zlib.MAX_WBITS),
    "deflate": _deflate,
    "zstd": lambda _: zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: WINDOW_LOG_MAX}),
    # Before 1.2 its decoder had no limit on what comes out.
    **({"br": lambda _: _Brotli()} if brotli and hasattr(brotli.Decompressor, "can_accept_more_data") else {}),
}
_UNSOUND = (zlib.error, zstd.ZstdError, *([brotli.error] if brotli else []))
KNOWN = ", ".join(_DECODERS)
