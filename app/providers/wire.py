"""One bounded request to an OpenAI-compatible API, by the openai package: JSON there, JSON back, or a ProviderError.

Or a stream of JSON objects, as server-sent events. Nothing is retried here and no redirect followed. An answer beyond
its limit is refused while it is read and the connection closed, so that no provider can fill the memory. An
unexpectedly compressed answer is unpacked in pieces, up to the same limit. No error carries the key, in its text or its
cause.
"""

import codecs
import time
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from typing import Any

import httpx2
import openai

from app.core.canonical import loads
from app.core.edge.upstreams import sound_url
from app.providers import ProviderError, TemporaryError, UnreachableError, UnusableReply
from app.providers.raw import RawAnswer, passed_headers
from app.providers.refusals import Refuse, refusal, refusal_in_200
from app.providers.retry import asked_seconds
from app.text.language import scalars

CONNECT_SECONDS = 5.0
RAW = {"quire.raw": True}
"""Of a request whose answer is passed on as it is."""
UNPACKED, PIECE_BYTES = ("gzip", "deflate"), 65_536
ERROR_BYTES_MAX = 16_384
"""Bytes read of an error response; the rest is discarded."""

NO_KEY = "none"
"""The openai package wants a key, and would take one from the environment that was meant for somebody else."""


class Wire:
    def __init__(
        self,
        *,
        base_url: str,
        api_key: str | None,
        answer_bytes_max: int,
        timeout_seconds: float,
        connections: int,
        epoch: Callable[[], float] = time.time,
        refuse: Refuse = refusal,
        key_header: str | None = None,
    ) -> None:
        """Configure the client. ``epoch`` returns seconds since 1970, for a Retry-After that is a date. ``refuse``
        turns error responses into errors. ``key_header`` is the header of the key; None: the key is the bearer token.
        """
        sound_url(base_url)
        self._refuse = refuse
        self._key = api_key
        self._answer_bytes_max = answer_bytes_max
        self._epoch = epoch
        self._key_headers = _key_headers(key_header, api_key)
        self._key_header = key_header
        self._base_url = base_url.rstrip("/")
        self._http = httpx2.AsyncClient(
            timeout=httpx2.Timeout(timeout_seconds, connect=min(CONNECT_SECONDS, timeout_seconds)),
            limits=httpx2.Limits(max_connections=connections, max_keepalive_connections=connections),
            headers={"Accept-Encoding": "identity"}, follow_redirects=False, event_hooks={"response": [self._bound]},
        )  # fmt: skip
        self._client = openai.AsyncOpenAI(
            api_key=api_key or NO_KEY, base_url=base_url, max_retries=0, http_client=self._http
        )

    async def post(
        self,
        path: str,
        body: Mapping[str, Any],
        headers: Mapping[str, str] | None = None,
        assembled: Callable[[bytes], Mapping[str, Any]] | None = None,
    ) -> Mapping[str, Any]:
        """Return the JSON object of an answer with status 200. Raises a ProviderError.

        ``assembled`` makes an object from a stream that comes unrequested.
        """
        options = self._options(headers)
        return await self._whole(
            self._client.post(path, body=scalars(body), cast_to=httpx2.Response, options=options), assembled
        )

    async def get(self, path: str, headers: Mapping[str, str] | None = None) -> Mapping[str, Any]:
        """Send a GET; like ``post``."""
        return await self._whole(self._client.get(path, cast_to=httpx2.Response, options=self._options(headers)))

    async def _whole(
        self, asking: Awaitable[httpx2.Response], assembled: Callable[[bytes], Mapping[str, Any]] | None = None
    ) -> Mapping[str, Any]:
        failure: ProviderError
        try:
            response = await asking
        except (openai.OpenAIError, httpx2.RequestError) as error:
            failure = self._failure(error)
        else:
            if assembled is not None and "event-stream" in response.headers.get("Content-Type", ""):
                return assembled(response.content)
            return self._envelope(response.content)
        # Outside of the handler, so that no request with its headers hangs on the error as its context.
        raise failure

    async def stream(
        self,
        path: str,
        body: Mapping[str, Any],
        headers: Mapping[str, str] | None = None,
        events: Callable[[Mapping[str, Any]], Iterable[Mapping[str, Any]]] = lambda whole: (whole,),
    ) -> AsyncIterator[Mapping[str, Any]]:
        """Yield the JSON objects of a stream, as they come. Raises a ProviderError, also within it.

        ``events`` makes a stream's events from an answer that comes in one piece.
        """
        failure: ProviderError
        try:
            chunks = await self._client.post(
                path, body=scalars(body), cast_to=object, stream=True, stream_cls=openai.AsyncStream[object],
                options=self._options(headers),
            )  # fmt: skip
            async with chunks:
                if "json" in chunks.response.headers.get("Content-Type", ""):
                    for event in events(self._envelope(await chunks.response.aread())):
                        yield event
                    return
                async for chunk in chunks:
                    if isinstance(chunk, Mapping):
                        yield chunk
        except (openai.OpenAIError, httpx2.RequestError) as error:
            failure = self._failure(error)
        except (ValueError, RecursionError):
            failure = TemporaryError("a part of the answer is not JSON")
        else:
            return
        raise failure

    async def raw(self, path: str, body: bytes, headers: Mapping[str, str]) -> RawAnswer:
        """Send a body unchanged and return any answer. ``headers`` can have their own key.

        Raises TemporaryError if there is no connection.
        """
        own = {self._key_header: self._key} if self._key_header else {"Authorization": f"Bearer {self._key or NO_KEY}"}
        keys = {} if {"authorization", "x-api-key"} & set(headers) else own
        sent = {name: value for name, value in {**keys, **headers}.items() if value}
        request = self._http.build_request(
            "POST", f"{self._base_url}{path}", content=body, headers=sent, extensions=RAW
        )
        try:
            response = await self._http.send(request, stream=True)
        except httpx2.RequestError as error:
            failure = _no_connection(error)
        else:
            return RawAnswer(response.status_code, passed_headers(response.headers), _parts_of(response))
        raise failure

    def _options(self, headers: Mapping[str, str] | None) -> openai.RequestOptions:
        return {"follow_redirects": False, "headers": {**self._key_headers, **(headers or {})}}

    def _failure(self, error: Exception) -> ProviderError:
        match error:
            case openai.APIStatusError():
                retry_after = asked_seconds(error.response.headers.get("Retry-After"), self._epoch())
                return self._refuse(error.status_code, error.body, retry_after=retry_after, key=self._key)
            case openai.APITimeoutError():
                return TemporaryError("the provider took too long")
            case openai.APIConnectionError() | httpx2.RequestError():
                return _no_connection(error.__cause__ or error)
            case openai.APIError():  # within a stream
                body = {"error": error.body} if isinstance(error.body, Mapping) else {"error": True}
                failure = refusal_in_200(body, key=self._key, refuse=self._refuse)
                return failure or UnusableReply("the answer is an error")
        raise error

    async def close(self) -> None:
        await self._client.close()

    def _envelope(self, content: bytes) -> Mapping[str, Any]:
        body = loads(content)
        if not isinstance(body, dict):
            raise TemporaryError("the answer is not a JSON object")
        failure = refusal_in_200(body, key=self._key, refuse=self._refuse)
        if failure is not None:
            raise failure
        return body

    async def _bound(self, response: httpx2.Response) -> None:
        stream = response.stream
        assert isinstance(stream, httpx2.AsyncByteStream)
        if not response.is_success:
            response.stream = _Beginning(stream, ERROR_BYTES_MAX)
        else:
            if (coding := response.headers.pop("Content-Encoding", "identity").lower()) != "identity":
                if coding not in UNPACKED:
                    raise UnusableReply("the answer is compressed, which was not asked for")
                stream = _Unpacked(stream, self._answer_bytes_max)
                response.headers.pop("Content-Length", None)
            mark = b"" if RAW.items() <= response.request.extensions.items() else codecs.BOM_UTF8
            response.stream = _Bounded(stream, self._answer_bytes_max, mark)


def _no_connection(why: BaseException) -> TemporaryError:
    kind = UnreachableError if isinstance(why, httpx2.ConnectError | httpx2.ConnectTimeout) else TemporaryError
    return kind(f"no connection to the provider ({type(why).__name__})")


async def _parts_of(response: httpx2.Response) -> AsyncIterator[bytes]:
    try:
        async for part in response.aiter_raw():
            yield part
    finally:
        await response.aclose()


def _key_headers(name: str | None, key: str | None) -> dict[str, Any]:
    return {} if name is None else {"Authorization": openai.Omit(), **({name: key} if key else {})}


class _Bounded(httpx2.AsyncByteStream):
    """A body that may not be longer than its limit."""

    def __init__(self, stream: httpx2.AsyncByteStream, bytes_max: int, mark: bytes = b"") -> None:
        self._stream, self._bytes_max = stream, bytes_max
        self._mark = mark
        """Left out where the body begins with it."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._stream:
            size += len(part)
            if size > self._bytes_max:
                raise UnusableReply(f"the answer is larger than {self._bytes_max} bytes")
            yield part.removeprefix(self._mark) if size == len(part) else part

    async def aclose(self) -> None:
        await self._stream.aclose()


class _Unpacked(_Bounded):
    """A gzip or deflate body, unpacked in pieces."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        decoder = zlib.decompressobj(32 + zlib.MAX_WBITS)
        async for part in self._stream:
            left = part
            while left:
                try:
                    piece = decoder.decompress(left, PIECE_BYTES)
                except zlib.error:
                    raise UnusableReply("the answer is not compressed as it says") from None
                left = decoder.unconsumed_tail
                if piece:
                    yield piece


class _Beginning(_Bounded):
    """A body that is read up to the limit only."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = self._bytes_max
        async for part in self._stream:
            yield part[:left]
            left -= len(part)
            if left <= 0:
                return
