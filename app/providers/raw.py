"""Answers of a model's API that are passed on as they come."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

PASSED = ("content-type", "retry-after", "request-id", "x-request-id", "x-should-retry")
PASSED_PREFIXES = ("anthropic-", "openai-", "x-ratelimit-", "x-codex-")


@dataclass(frozen=True, slots=True)
class RawAnswer:
    status: int
    headers: Mapping[str, str]
    parts: AsyncIterator[bytes]
    """Must be read to the end, or closed."""

    @property
    def is_stream(self) -> bool:
        return self.headers.get("content-type", "").startswith("text/event-stream")


def passed_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the API's headers for the client, without cookies and those about the connection."""
    lower = {name.lower(): value for name, value in headers.items()}
    return {n: value for n, value in lower.items() if n in PASSED or n.startswith(PASSED_PREFIXES)}


def events_in(body: bytes) -> Iterator[Mapping[str, Any]]:
    """Yield the JSON objects of server-sent events. Raises ValueError for what is no JSON."""
    text = body.decode("utf-8-sig", errors="replace").replace("\r\n", "\n")
    for block in text.split("\n\n"):
        data = "\n".join(line[5:].removeprefix(" ") for line in block.split("\n") if line.startswith("data:"))
        if data and data != "[DONE]" and isinstance(found := json.loads(data), dict):
            yield found
