"""The model behind the proxy: an API of any dialect."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cachetools import LRUCache

from app.core.dialects import fitting, learning, upstream_chat, upstream_messages, upstream_responses
from app.core.dialects.inbound_chat import ChatWriter
from app.core.dialects.learning import Lessons
from app.core.dialects.question import Dialect, UpstreamRequest
from app.core.edge.upstreams import pattern_of
from app.core.models import TABLE, ModelRow, ModelTable
from app.providers import ProviderError, RefusedInput, TemporaryError, UnusableReply
from app.providers.raw import RawAnswer, events_in
from app.providers.refusals import INPUT_CODES, NAMED, error_fields, refusal_in_200, shows
from app.text.language import scalar

ASKED: Mapping[Dialect, UpstreamRequest] = {
    how.dialect: how for how in (upstream_chat.ASKED, upstream_messages.ASKED, upstream_responses.ASKED)
}
FAILED = ("error", "response.failed")
"""Events that end a stream of Responses without an answer."""
VERSION = "2023-06-01"
"""Of Anthropic's API, where the client names none."""
ANSWER_BYTES_MAX = 8 * 1024 * 1024
MESSAGE_CHARACTERS_MAX = 1000
TOLD_CHARACTERS_MAX = 4000
ABOUT_FORM = frozenset({400, 422, 500})
"""Statuses with which APIs refuse a request's form; 500 where a template of the model's fails."""
TOLD = frozenset({400, 404, 409, 413, 422})
"""Statuses with messages about the client's request. Other messages may quote a key, or tell whose it is."""
FINAL = frozenset({400, 413, 415, 422})
"""Statuses that refuse the request itself, whoever sends it and whenever."""
PROVIDERS = {
    "azure.com": "azure.ai.openai", "mistral.ai": "mistral_ai", "deepseek.com": "deepseek", "groq.com": "groq",
    "x.ai": "x_ai", "googleapis.com": "gcp.gemini", "amazonaws.com": "aws.bedrock", "cohere.": "cohere",
    "perplexity.ai": "perplexity",
}  # fmt: skip
"""OpenTelemetry's names of vendors, by a part of their addresses."""
LEARNED_MAX = 1000
"""Models to remember what their APIs refused."""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    body: Mapping[str, Any]
    repeated: Sequence[int] = ()
    """How many of its messages follow each place up to which later requests repeat it (``marking.places``)."""
    alternate: bool = False
    """The conversation wants user and assistant to take turns."""


class RefusalError(ProviderError):
    """The provider answered with an error; holds the parts of it that may be passed on."""

    def __init__(self, status: int, message: str, retry_after: float | None, **identifiers: str | None) -> None:
        super().__init__(f"the provider answered {status}")
        self.status = status
        self.message = message
        """The provider's message; empty if it must not be passed on."""
        self.retry_after = retry_after
        self.identifiers = identifiers
        """``type``, ``code`` and ``param``, if the provider sent them."""
        self.told = ""
        """All that the provider said, not to be passed on."""


class OverdueError(TemporaryError):
    """The answer did not end in time."""


def is_final(error: Exception) -> bool:
    """Return whether a model's API will always refuse the question itself, not just a parameter of the request."""
    if not isinstance(error, RefusalError):
        return isinstance(error, RefusedInput)
    if error.identifiers.get("code") in INPUT_CODES:
        return error.status < 500
    param = error.identifiers.get("param")
    return error.status in FINAL and (param is None or param.startswith(("messages", "input", "content")))


def _about_form(refusal: RefusalError) -> bool:
    return refusal.status in ABOUT_FORM and refusal.identifiers.get("code") not in INPUT_CODES


def refused(status: int, body: object, *, retry_after: float | None, key: str | None) -> RefusalError:
    fields = error_fields(body)
    message = fields.get("message")
    text = scalar(message)[:MESSAGE_CHARACTERS_MAX] if status in TOLD and isinstance(message, str) else ""
    members = {name: fields.get(name) for name in ("type", "code", "param")}
    identifiers = {
        name: value if isinstance(value, str) and NAMED.fullmatch(value) and not shows(value, key) else None
        for name, value in members.items()
    }
    refusal = RefusalError(status, "" if shows(text, key) else text, retry_after, **identifiers)
    refusal.told = str(body)[:TOLD_CHARACTERS_MAX]
    return refusal


def _failed(event: Mapping[str, Any], key: str | None) -> ProviderError:
    response = event.get("response", {"error": event})
    error = response.get("error") if isinstance(response, Mapping) else None
    named = {name: error.get(name) for name in ("code", "param")} if isinstance(error, Mapping) else {}
    return refusal_in_200({"error": named}, key=key) or UnusableReply("the answer failed")


def blames_form(body: Mapping[str, Any], refusal: RefusalError) -> bool:
    """Return whether the refusal of a request is about its form, not its content."""
    return _about_form(refusal) and learning.blames_form(body, refusal.told)


class Upstream:
    """Made and closed in the event loop that uses it."""

    def __init__(
        self,
        *,
        base_url: str,
        api_key: str | None,
        timeout_seconds: float,
        connections: int,
        dialect: Dialect = "chat",
        models: ModelTable = TABLE,
    ) -> None:
        from app.providers.wire import Wire  # brings the openai package, which most deployments do without

        self.asked = ASKED[dialect]
        self._key = api_key
        self._models, self.base_url = models, base_url
        self._learned: LRUCache[str, Lessons] = LRUCache(LEARNED_MAX)
        self._headers = {} if dialect != "messages" else {"anthropic-version": VERSION}
        self._wire = Wire(
            base_url=base_url, api_key=api_key, answer_bytes_max=ANSWER_BYTES_MAX, timeout_seconds=timeout_seconds,
            connections=connections, refuse=refused, key_header="x-api-key" if dialect == "messages" else None,
        )  # fmt: skip

    @property
    def provider(self) -> str:
        """The vendor's name in OpenTelemetry's conventions, or that of the spoken dialect if the vendor is unknown."""
        own = "anthropic" if self.asked.dialect == "messages" else "openai"
        return next((name for host, name in PROVIDERS.items() if host in self.base_url), own)

    def row(self, model: str, *, alternate: bool = False) -> ModelRow:
        return self._models.row(model, self.base_url, alternate=alternate)

    def fitted(self, request: ModelRequest, learned: Lessons) -> dict[str, Any]:
        """Return a request as the model's API wants it (``fitting.fit``)."""
        row = self.row(str(request.body["model"]), alternate=request.alternate)
        return fitting.fit(row, self.asked.dialect, request.body, learned, request.repeated, time.time())

    def learned(self, model: str) -> Lessons:
        """Return the lessons of the model's API so far."""
        return self._learned.get(model, learning.NOTHING)

    def remember(self, model: str, learned: Lessons) -> None:
        self._learned[model] = learned

    def lesson(
        self, request: ModelRequest, known: Lessons, refusal: RefusalError, tried: Collection[Lessons]
    ) -> Lessons | None:
        """Return the lessons after a refusal; None if every further change was tried."""
        if not _about_form(refusal):
            return None
        fitted = self.fitted(request, known)
        found = learning.further_lessons(known, fitted, refusal.told)
        return next((one for one in found if one not in tried and self.fitted(request, one) != fitted), None)

    async def complete(self, request: Mapping[str, Any], headers: Mapping[str, str]) -> Mapping[str, Any]:
        """Complete a request. Raises a ProviderError."""
        return await self._wire.post(self.asked.path, request, {**self._headers, **headers}, self._assembled)

    async def stream(self, request: Mapping[str, Any], headers: Mapping[str, str]) -> AsyncIterator[Mapping[str, Any]]:
        """Yield the events of the answer. Raises a ProviderError, also within the stream."""
        sent = {**self._headers, **headers}
        async for event in self._wire.stream(self.asked.path, request, sent, self._events):
            if event.get("type") in FAILED:
                raise _failed(event, self._key)
            yield event

    def _events(self, whole: Mapping[str, Any]) -> list[dict[str, Any]]:
        try:
            return self.asked.events(whole)
        except (LookupError, TypeError, AttributeError):
            raise UnusableReply("the answer is malformed") from None

    def _assembled(self, stream: bytes) -> Mapping[str, Any]:
        writer, reader, usage = ChatWriter(), self.asked.reader(), None
        for event in events_in(stream):
            for chunk in reader.feed(event):
                writer.feed(chunk)
                usage = chunk.get("usage") or usage
        writer.end(usage)
        return writer.whole()

    async def raw(self, path: str, body: bytes, headers: Mapping[str, str]) -> RawAnswer:
        """Ask with a body as it is. Raises TemporaryError if the API cannot be reached."""
        return await self._wire.raw(path, body, {**self._headers, **headers})

    async def count_tokens(self, request: Mapping[str, Any], headers: Mapping[str, str]) -> Mapping[str, Any]:
        """Ask a Messages API. Raises a ProviderError."""
        return await self._wire.post("/messages/count_tokens", request, {**self._headers, **headers})

    async def embed(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Ask for embeddings. Raises a ProviderError."""
        return await self._wire.post("/embeddings", request, self._headers)

    async def models(self, headers: Mapping[str, str]) -> Mapping[str, Any]:
        """List the models. Raises a ProviderError."""
        return await self._wire.get("/models", {**self._headers, **headers})

    async def close(self) -> None:
        await self._wire.close()


@dataclass(frozen=True, slots=True)
class Upstreams:
    """The APIs behind the proxy."""

    own: Upstream | None = None
    """Serves the models that no pattern fits."""
    by_pattern: Mapping[str, Upstream] = field(default_factory=dict)
    name: str = ""
    """This deployment's, by which it knows a request that has come back."""

    @property
    def each(self) -> list[Upstream]:
        return [*([self.own] if self.own is not None else []), *self.by_pattern.values()]

    def of(self, model: str) -> Upstream | None:
        pattern = pattern_of(self.by_pattern, model)
        return self.own if pattern is None else self.by_pattern[pattern]

    async def close(self) -> None:
        for upstream in self.each:
            await upstream.close()
