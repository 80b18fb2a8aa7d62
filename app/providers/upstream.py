"""The model behind the proxy: any OpenAI-compatible chat API, asked what a client asked, as it asked it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from typing import Any

from app.providers import ProviderError, TemporaryError
from app.text.language import scalar

ANSWER_BYTES_MAX = 8 * 1024 * 1024
MESSAGE_CHARACTERS_MAX = 1000
TOLD = frozenset({400, 404, 409, 413, 422})
"""Statuses whose words speak of the client's request. Those of others may quote a key, or say whose it is."""
KEY_PIECE = 6
"""So many characters of a key in a row are not told."""
_IDENTIFIER = re.compile(r"[A-Za-z0-9_][\w.\-\[\]]{0,127}")


class RefusalError(ProviderError):
    """The provider answered with an error; what of it may be told."""

    def __init__(self, status: int, message: str, retry_after: float | None, **identifiers: str | None) -> None:
        super().__init__(f"the provider answered {status}")
        self.status = status
        self.message = message
        """Its words; empty where they are not to be told."""
        self.retry_after = retry_after
        self.identifiers = identifiers
        """``type``, ``code`` and ``param``, where it gave them."""


class OverdueError(TemporaryError):
    """The answer did not end in time."""


def refused(status: int, body: object, *, retry_after: float | None, key: str | None) -> RefusalError:
    error = body.get("error", body) if isinstance(body, Mapping) else None
    said = error if isinstance(error, Mapping) else {}
    message = said.get("message")
    told = scalar(message)[:MESSAGE_CHARACTERS_MAX] if status in TOLD and isinstance(message, str) else ""
    found = {name: said.get(name) for name in ("type", "code", "param")}
    identifiers = {
        name: value if isinstance(value, str) and _IDENTIFIER.fullmatch(value) and not _shows(value, key) else None
        for name, value in found.items()
    }
    return RefusalError(status, "" if _shows(told, key) else told, retry_after, **identifiers)


def _shows(text: str, key: str | None) -> bool:
    """Whether a text holds a piece of the key."""
    pieces = (key[i : i + KEY_PIECE] for i in range(max(1, len(key) - KEY_PIECE + 1))) if key else ()
    return any(piece in text for piece in pieces)


class Upstream:
    """Made and closed in the event loop that uses it."""

    def __init__(self, *, base_url: str, api_key: str | None, timeout_seconds: float, connections: int) -> None:
        """``timeout_seconds``: the longest silence. Who asks bounds the whole."""
        from app.providers.wire import Wire  # brings the openai package, which most deployments do without

        self._wire = Wire(
            base_url=base_url, api_key=api_key, answer_bytes_max=ANSWER_BYTES_MAX, timeout_seconds=timeout_seconds,
            connections=connections, refuse=refused,
        )  # fmt: skip

    async def complete(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Raises a ProviderError."""
        return await self._wire.post("/chat/completions", request)

    def stream(self, request: Mapping[str, Any]) -> AsyncIterator[Mapping[str, Any]]:
        """Its chunks. Raises a ProviderError, also within the stream."""
        return self._wire.stream("/chat/completions", request)

    async def models(self) -> Mapping[str, Any]:
        """Raises a ProviderError."""
        return await self._wire.get("/models")

    async def close(self) -> None:
        await self._wire.close()
