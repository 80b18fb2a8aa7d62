"""The interface to models: chat completions, embeddings and rerankers, whoever provides them.

Job handlers and the recall agent see only these types. Every call is bounded in time and size, and fails with one of
four errors that tell what to do next. Windows and appends never call a provider.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

Vector = Sequence[float]
"""A vector of unit length."""


class ProviderError(Exception):
    """The provider did not deliver what was requested."""

    spent: tuple[int, int] | None = None
    """Tokens of the prompt and of the answer, where one came that is paid for all the same."""
    sentence = ""
    """What the provider says; it can quote what was asked."""


class TemporaryError(ProviderError):
    """Worth another try later: rate limits, time-outs, 5xx, a cut connection, an open circuit."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        """Seconds that the provider asked to be left alone, already bounded; None if it said nothing."""


class UnreachableError(TemporaryError):
    """No connection could be made."""


class UnusableReply(ProviderError):
    """The reply was paid for but cannot be used: empty, cut off, too large, or not what was requested."""


class UndeliveredError(ProviderError):
    """A webhook's receiver did not take an event."""


class RefusedInput(ProviderError):
    """The provider will never take this input (400, 413, 422, content policy); others may be fine."""


class RefusedCaller(ProviderError):
    """The provider does not take us (401, 403, no such model): nothing will work until a person mends it."""


@dataclass(frozen=True, slots=True)
class ModelToolCall:
    id: str
    name: str
    arguments: str
    """JSON as the model wrote it: not validated."""


@dataclass(frozen=True, slots=True)
class Reply:
    text: str
    tool_calls: tuple[ModelToolCall, ...]
    model: str
    prompt_tokens: int
    completion_tokens: int
    """As reported by the provider, else as counted by us."""


class Chat(Protocol):
    model: str
    context_window: int
    """Tokens of prompt and answer together."""

    async def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        max_tokens: int,
        json_object: bool = False,
        tools: Sequence[Mapping[str, Any]] = (),
    ) -> Reply:
        """Complete a list of messages in OpenAI form. Raises a ProviderError."""

    async def close(self) -> None: ...


class Embedder(Protocol):
    """A text embedding model. Vectors of different models or dimensions cannot be compared."""

    model: str
    dimensions: int
    """0: not known before its first answer."""
    batch: int
    """Texts that one call may carry."""

    async def prepare(self) -> None:
        """Load now what the first text would wait for."""

    async def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        """Return one vector for each text, in order. Raises a ProviderError."""

    async def embed_query(self, text: str) -> Vector:
        """Return the vector of a query, which some models embed differently. Raises a ProviderError."""

    async def close(self) -> None: ...


class Reranker(Protocol):
    """A model that judges how well documents answer a query."""

    model: str

    async def rank(self, query: str, documents: Sequence[str]) -> list[int]:
        """Return the places of the documents, the most relevant first. Raises a ProviderError."""

    async def close(self) -> None: ...
