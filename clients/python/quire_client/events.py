"""The event stream, as both clients follow it: where they are, and when they open it again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import httpx

from quire_client.retries import Retries
from quire_client.shapes import Json, QuireEvent

QUIET_SECONDS = 60.0
"""A stream that says nothing for so long is lost: the service says every few seconds that it is still there."""
FOREVER = 1000


class Following:
    """A reader's place in the stream. It is opened as `Retries` says; once open, it is opened again without end."""

    def __init__(self, after: int | None, retries: Retries, *, wait: bool) -> None:
        self._seq = after
        self._retries = retries
        self._wait = wait
        self._failures = 0
        self._rest = b""

    def query(self) -> Json:
        """Return what to ask for next. Begins a new stream."""
        self._rest = b""
        return {"wait": self._wait, **({} if self._seq is None else {"after": self._seq})}

    def opened(self, headers: httpx.Headers) -> None:
        """The stream is open. Where it begins is kept, for one that breaks off before its first event."""
        if self._seq is None and "last-event-id" in headers:
            self._seq = int(headers["last-event-id"])
        self._failures = 0
        self._retries = replace(self._retries, times=FOREVER)

    def read(self, piece: bytes) -> Iterator[QuireEvent]:
        """Yield the events that a piece of the stream completes."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            if line.startswith(b"data:"):
                event: QuireEvent = json.loads(line[5:])
                self._seq = event["seq"]
                yield event

    def pause(self, answer: httpx.Response | None) -> float | None:
        """Seconds to wait before the stream is opened again; None to give up. No answer: it broke off, or ended."""
        self._failures = min(self._failures + 1, FOREVER)
        return self._retries.before_next(self._failures, answer)


def timeout(usual: httpx.Timeout) -> httpx.Timeout:
    return httpx.Timeout(usual.connect, read=QUIET_SECONDS)
