"""An OpenAI-compatible API on loopback that fails in every way on demand. Speaks HTTP itself, to break it exactly.

In a test::

    with FakeOpenAI() as api:
        api.chat.queue.extend([rate_limited("1"), ok("a summary")])
        api.embeddings.default = status(503)

Each request takes the next behaviour of its endpoint's queue, else its default. `requests` records what was sent,
`wait_until` waits for a condition over it all, `release` lets go what `held` holds.

As a process of its own, told what to do by HTTP, with the functions of this module by their names::

    python -m tests.providers.fake_openai --port 0 [--reply some.module:function] [--embed some.module:function]
    POST /control {"endpoint": "chat", "queue": [["rate_limited", {"retry_after": "1"}]], "default": ["ok", {}]}
    GET /control
"""

import argparse
import asyncio
import base64
import hashlib
import json
import math
import re
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal, Self
from uuid import uuid4

Json = dict[str, Any]
Reply = Callable[[Json], str | Json]
"""From a chat request: the answer's text, or its whole message."""
Embed = Callable[[Json], list[list[float]]]
"""From an embedding request: a vector for each text."""

DIMENSIONS = 256


@dataclass(frozen=True)
class Behaviour:
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    reply: str | Json | None = None
    """Of the chat; None: the server's `reply`."""
    edit: Callable[[Json], object] | None = None
    """Makes the answer from the proper one."""
    body: Callable[[bytes], bytes] | None = None
    """Makes the bytes that are sent from the proper ones."""
    manner: Literal["whole", "reset", "reset within", "cut", "hang", "drip", "held", "held within"] = "whole"
    after_seconds: float = 0.0
    """Before the answer; between two bytes of one that drips."""


def ok(reply: str | Json | None = None) -> Behaviour:
    return Behaviour(reply=reply)


def status(number: int, *, headers: Mapping[str, str] | None = None, **error: Any) -> Behaviour:
    """An error of this status, with these fields in its body."""
    body = {"error": {"message": f"error {number}", "type": None, "param": None, "code": None, **error}}
    return Behaviour(status=number, headers=headers or {}, edit=lambda _: body)


def rate_limited(retry_after: str | None = None, **error: Any) -> Behaviour:
    return status(429, headers={} if retry_after is None else {"Retry-After": retry_after}, **error)


def refuses_parameter(name: str, number: int = 400) -> Behaviour:
    return status(number, message=f"Unsupported parameter: '{name}'", code="unsupported_parameter", param=name)


def redirect(location: str) -> Behaviour:
    return Behaviour(status=307, headers={"Location": location})


def hang() -> Behaviour:
    """Never answers."""
    return Behaviour(manner="hang")


def held() -> Behaviour:
    """Answers once `FakeOpenAI.release` was called."""
    return Behaviour(manner="held")


def held_within() -> Behaviour:
    """Of a streamed answer, its second half."""
    return Behaviour(manner="held within")


def late(seconds: float) -> Behaviour:
    return Behaviour(after_seconds=seconds)


def drip(seconds: float = 1.0) -> Behaviour:
    """One byte at a time."""
    return Behaviour(manner="drip", after_seconds=seconds)


def reset() -> Behaviour:
    """The connection, before the answer."""
    return Behaviour(manner="reset")


def reset_within() -> Behaviour:
    """The connection, in the middle of the answer's body."""
    return Behaviour(manner="reset within")


def cut() -> Behaviour:
    """The connection is closed in the middle of the body."""
    return Behaviour(manner="cut")


def empty_body() -> Behaviour:
    return Behaviour(body=lambda _: b"")


def truncated() -> Behaviour:
    """Half of the JSON, in a proper HTTP answer."""
    return Behaviour(body=lambda body: body[: len(body) // 2])


def html(number: int = 200) -> Behaviour:
    page = b"<!doctype html><title>Welcome</title>"
    return Behaviour(status=number, headers={"Content-Type": "text/html"}, body=lambda _: page)


def compressed() -> Behaviour:
    return Behaviour(headers={"Content-Encoding": "gzip"})


def huge(size: int = 1_000_000) -> Behaviour:
    return Behaviour(body=lambda body: body + b" " * (size - len(body)))


def huge_error(size: int = 1_000_000) -> Behaviour:
    return Behaviour(status=500, body=lambda _: b"x" * size)


def error_in_200(code: Any = None) -> Behaviour:
    return Behaviour(edit=lambda _: {"error": {"message": "no", "code": code}})


def no_choices() -> Behaviour:
    return Behaviour(edit=lambda answer: {**answer, "choices": []})


def null_content() -> Behaviour:
    return ok({"content": None})


def reasoning_only() -> Behaviour:
    return ok({"content": None, "reasoning_content": "Let me think."})


def finished(reason: str, reply: str = "half of a sent") -> Behaviour:
    return Behaviour(reply=reply, edit=lambda answer: _with_choice(answer, finish_reason=reason))


def null_usage() -> Behaviour:
    return Behaviour(edit=lambda answer: {**answer, "usage": None})


def wrong_dimension(dimensions: int = 7) -> Behaviour:
    return _vectors(lambda _: [1.0] * dimensions)


def nan_vectors() -> Behaviour:
    return _vectors(lambda vector: [math.nan, *vector[1:]])


def infinite_vectors() -> Behaviour:
    return _vectors(lambda vector: [*vector[:-1], math.inf])


def zero_vectors() -> Behaviour:
    return _vectors(lambda vector: [0.0] * len(vector))


def odd_dimension() -> Behaviour:
    """The first vector is longer than the others."""
    return Behaviour(
        edit=lambda answer: {
            **answer,
            "data": [{**answer["data"][0], "embedding": [1.0] * (DIMENSIONS + 1)}, *answer["data"][1:]],
        }
    )


def too_few() -> Behaviour:
    return Behaviour(edit=lambda answer: {**answer, "data": answer["data"][:-1]})


def shuffled() -> Behaviour:
    """The vectors in another order, by which their `index` tells them apart."""
    return Behaviour(edit=lambda answer: {**answer, "data": answer["data"][::-1]})


def scored(*scores: object) -> Behaviour:
    """Of a reranker: these scores for the documents, in their order."""
    results = [{"index": index, "relevance_score": score} for index, score in enumerate(scores)]
    return Behaviour(edit=lambda answer: {**answer, "results": results})


def last_first() -> Behaviour:
    """Of a reranker: the last document is the most relevant."""
    return Behaviour(
        edit=lambda answer: {
            **answer, "results": [{**one, "relevance_score": one["index"] - 7.5} for one in answer["results"]],
        }
    )  # fmt: skip


@dataclass
class Request:
    path: str
    headers: dict[str, str]
    """Their names in lower case."""
    body: Json


@dataclass
class Endpoint:
    default: Behaviour = field(default_factory=ok)
    queue: deque[Behaviour] = field(default_factory=deque)
    picks: Callable[[Json], Behaviour | None] | None = None
    """For a request by what it says, before queue and default."""
    requests: list[Request] = field(default_factory=list)
    running: int = 0
    running_max: int = 0


def embedding(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    """A bag of words, hashed: texts with the same words are near each other, in Chinese by pairs of characters."""
    vector = [0.0] * dimensions
    for found in re.finditer(r"[a-z0-9]+|(?=([\u4e00-\u9fff]{2}))|[\u4e00-\u9fff]", text.lower()):
        digest = hashlib.blake2b((found[1] or found[0]).encode(), digest_size=8).digest()
        vector[int.from_bytes(digest[:4]) % dimensions] += 1.0 if digest[4] & 1 else -1.0
    length = math.sqrt(sum(value * value for value in vector))
    return [value / length for value in vector] if length else [1.0] + [0.0] * (dimensions - 1)


def echo(request: Json) -> str:
    """The reply of a server that was given none."""
    if request.get("response_format", {}).get("type") == "json_object":
        return json.dumps({"echo": str(request["messages"][-1].get("content"))[:200]}, ensure_ascii=False)
    return "You said: " + str(request["messages"][-1].get("content"))[:200]


class FakeOpenAI:
    """Runs in a thread from `__enter__` to `__exit__`. Its endpoints may be changed at any time."""

    def __init__(
        self, *, reply: Reply = echo, embed: Embed | None = None, dimensions: int = DIMENSIONS, port: int = 0
    ) -> None:
        """``embed``: None for vectors of words."""
        self.reply = reply
        self.embed = embed or self._words
        self.dimensions = dimensions
        self.chat = Endpoint()
        self.embeddings = Endpoint()
        self.models = Endpoint()
        self.rerank = Endpoint()
        self.connections = 0
        """Open now."""
        self.connections_made = 0
        self._port = port
        self._changed = threading.Condition()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="fake-openai")
        self._started = threading.Event()
        self._released = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        """The base URL for a client."""
        return f"http://127.0.0.1:{self._port}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        self._started.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def wait_until(self, condition: Callable[[], bool], timeout_seconds: float = 30.0) -> None:
        """Blocks until the condition holds; it is looked at whenever a request or a connection comes or goes."""
        with self._changed:
            assert self._changed.wait_for(condition, timeout_seconds), "the condition never held"

    def release(self) -> None:
        """Whatever is held, now and from now on."""
        self._loop.call_soon_threadsafe(self._released.set)

    def hold(self) -> None:
        """What is to be held from now on, after a `release`."""
        self._loop.call_soon_threadsafe(self._released.clear)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._connection, "127.0.0.1", self._port))
        self._port = server.sockets[0].getsockname()[1]
        self._started.set()
        self._loop.run_forever()
        server.close()
        for task in self._tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*self._tasks, return_exceptions=True))
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        with self._changed:
            self.connections += 1
            self.connections_made += 1
            self._changed.notify_all()
        try:
            while (request := await _read(reader)) is not None:
                await self._respond(request, reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()
            with self._changed:
                self.connections -= 1
                self._changed.notify_all()

    async def _respond(self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        match request.path:
            case "/v1/chat/completions":
                await self._behave(self.chat, request, self._completion, reader, writer)
            case "/v1/embeddings":
                await self._behave(self.embeddings, request, self._vectors, reader, writer)
            case "/v1/models":
                await self._behave(self.models, request, lambda *_: MODELS, reader, writer)
            case "/v1/rerank":
                await self._behave(self.rerank, request, _ranked, reader, writer)
            case "/control":
                await _write(writer, Behaviour(), _dump(self._control(request.body)))
            case _:
                await _write(writer, status(404), _dump({"detail": "Not Found"}))

    async def _behave(
        self,
        endpoint: Endpoint,
        request: Request,
        proper: Callable[[Json, Behaviour], Json],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        with self._changed:
            picked = endpoint.picks(request.body) if endpoint.picks is not None else None
            behaviour = picked or (endpoint.queue.popleft() if endpoint.queue else endpoint.default)
            endpoint.requests.append(request)
            endpoint.running += 1
            endpoint.running_max = max(endpoint.running_max, endpoint.running)
            self._changed.notify_all()
        try:
            if behaviour.manner == "held":
                await self._released.wait()
            elif behaviour.manner == "hang":
                await _stay(reader, None)
            elif behaviour.manner != "drip" and behaviour.after_seconds:
                await _stay(reader, behaviour.after_seconds)
            if request.body.get("stream") and behaviour.status == 200 and behaviour.body is None:
                await self._stream(writer, behaviour, proper(request.body, behaviour), request.body)
                return
            answer: object = proper(request.body, behaviour)
            if behaviour.edit is not None:
                answer = behaviour.edit(proper(request.body, behaviour))
            body = _dump(_encoded(answer, request.body))
            await _write(writer, behaviour, behaviour.body(body) if behaviour.body is not None else body)
        finally:
            with self._changed:
                endpoint.running -= 1
                self._changed.notify_all()

    async def _stream(self, writer: asyncio.StreamWriter, behaviour: Behaviour, whole: Json, request: Json) -> None:
        """As server-sent events, each in a chunk of its own. An ``edit`` is of the list of what they carry."""
        events = events_of(whole, usage=(request.get("stream_options") or {}).get("include_usage", False))
        if behaviour.edit is not None:
            behaviour.edit({"events": events})
        if behaviour.manner == "reset":
            _reset(writer)
            raise ConnectionAbortedError
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        for place, event in enumerate([*(_dump(event) for event in events), b"[DONE]"]):
            if place == len(events) // 2:
                match behaviour.manner:
                    case "held within":
                        await self._released.wait()
                    case "cut":
                        writer.close()
                        raise ConnectionAbortedError
                    case "reset within":
                        _reset(writer)
                        raise ConnectionAbortedError
            data = b"data: " + event + b"\n\n"
            writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            await writer.drain()
            if behaviour.manner == "drip":
                await asyncio.sleep(behaviour.after_seconds)
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    def _completion(self, request: Json, behaviour: Behaviour) -> Json:
        reply = behaviour.reply if behaviour.reply is not None else self.reply(request)
        message = {"role": "assistant", **(reply if isinstance(reply, dict) else {"content": reply})}
        return {
            "id": f"chatcmpl-{uuid4().hex}",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": request.get("model"),
            "choices": [{"index": 0, "finish_reason": _reason(message), "message": message}],
            "usage": _usage(len(json.dumps(request.get("messages"))) // 4, len(json.dumps(message)) // 4),
        }

    def _vectors(self, request: Json, _: Behaviour) -> Json:
        vectors = enumerate(self.embed(request))
        data = [{"object": "embedding", "index": index, "embedding": vector} for index, vector in vectors]
        texts = request.get("input", [])
        return {"object": "list", "model": request.get("model"), "data": data, "usage": _usage(len(str(texts)) // 4, 0)}

    def _words(self, request: Json) -> list[list[float]]:
        width = request.get("dimensions") or self.dimensions
        return [embedding(text, width) for text in texts_of(request)]

    def _control(self, order: Json) -> Json:
        endpoints = {
            "chat": self.chat, "embeddings": self.embeddings, "models": self.models, "rerank": self.rerank,
        }  # fmt: skip
        if order:
            with self._changed:
                endpoint = endpoints[order["endpoint"]]
                endpoint.queue.extend(_behaviour(*named) for named in order.get("queue", []))
                if "default" in order:
                    endpoint.default = _behaviour(*order["default"])
        return {
            name: {"requests": len(endpoint.requests), "queued": len(endpoint.queue), "running": endpoint.running}
            for name, endpoint in endpoints.items()
        }


def texts_of(request: Json) -> list[str]:
    """What an embedding request is about."""
    texts = request.get("input", [])
    return [texts] if isinstance(texts, str) else texts


def _ranked(request: Json, _: Behaviour) -> Json:
    """The documents by the words that they share with the query, best first."""
    query = embedding(request["query"])
    scores = [sum(a * b for a, b in zip(query, embedding(text), strict=True)) for text in request["documents"]]
    results = [{"index": index, "relevance_score": score} for index, score in enumerate(scores)]
    return {"model": request["model"], "results": sorted(results, key=lambda one: -scores[one["index"]])}


def events_of(whole: Json, *, usage: bool) -> list[Json]:
    """The chunks of a completion: its text word by word, a call's name before its arguments, these in two pieces."""
    [choice] = whole["choices"]
    message = choice["message"]
    deltas: list[Json] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": word} for word in re.findall(r"\S+\s*|\s+", message.get("content") or "")]
    deltas += [{"audio": {name: value}} for name, value in (message.get("audio") or {}).items()]
    for index, call in enumerate(message.get("tool_calls") or []):
        name, arguments = call["function"]["name"], call["function"]["arguments"]
        half = len(arguments) // 2
        deltas.append({"tool_calls": [{**call, "index": index, "function": {"name": name, "arguments": ""}}]})
        for piece in (arguments[:half], arguments[half:]):
            deltas.append({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    head = {**whole, "object": "chat.completion.chunk"}
    del head["usage"]
    chunks = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]})
    return [*chunks, {**head, "choices": [], "usage": whole["usage"]}] if usage else chunks


MODELS: Json = {"object": "list", "data": [{"id": "fake", "object": "model", "created": 0, "owned_by": "tests"}]}


def _behaviour(name: str, arguments: Json) -> Behaviour:
    behaviour: Behaviour = globals()[name](**arguments)
    assert isinstance(behaviour, Behaviour)
    return behaviour


def _reason(message: Json) -> str:
    return "tool_calls" if message.get("tool_calls") else "stop"


def _usage(prompt: int, completion: int) -> Json:
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _with_choice(answer: Json, **fields: Any) -> Json:
    return {**answer, "choices": [{**answer["choices"][0], **fields}]}


def _vectors(edit: Callable[[list[float]], list[float]]) -> Behaviour:
    return Behaviour(
        edit=lambda answer: {
            **answer,
            "data": [{**item, "embedding": edit(item["embedding"])} for item in answer["data"]],
        }
    )


def _encoded(answer: object, request: Json) -> object:
    """With its vectors in base64 if the request asks for that."""
    if request.get("encoding_format") != "base64" or not isinstance(answer, dict) or not answer.get("data"):
        return answer
    return {
        **answer,
        "data": [
            {**item, "embedding": base64.b64encode(struct.pack(f"<{len(v)}f", *v)).decode()}
            for item in answer["data"]
            for v in [item["embedding"]]
        ],
    }


def _dump(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


async def _read(reader: asyncio.StreamReader) -> Request | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    start, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(start.split(" ")[1], headers, json.loads(body) if body else {})


async def _stay(reader: asyncio.StreamReader, seconds: float | None) -> None:
    """For that long, or until the client goes."""
    with suppress(TimeoutError):
        await asyncio.wait_for(reader.read(1), seconds)
        raise ConnectionAbortedError


async def _write(writer: asyncio.StreamWriter, behaviour: Behaviour, body: bytes) -> None:
    headers = {"Content-Type": "application/json", "Content-Length": str(len(body)), **behaviour.headers}
    head = f"HTTP/1.1 {behaviour.status} Any\r\n" + "".join(f"{name}: {text}\r\n" for name, text in headers.items())
    match behaviour.manner:
        case "reset":
            _reset(writer)
            raise ConnectionAbortedError
        case "reset within" | "cut":
            writer.write(f"{head}\r\n".encode() + body[: len(body) // 2])
            await writer.drain()
            if behaviour.manner == "cut":
                writer.close()
            else:
                _reset(writer)
            raise ConnectionAbortedError
        case "drip":
            writer.write(f"{head}\r\n".encode())
            for byte in body:
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(behaviour.after_seconds)
        case _:
            writer.write(f"{head}\r\n".encode() + body)
            await writer.drain()


def _reset(writer: asyncio.StreamWriter) -> None:
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--dimensions", type=int, default=DIMENSIONS)
    parser.add_argument("--reply", help="module:function that makes a chat reply from the request")
    parser.add_argument("--embed", help="module:function that makes vectors from the request")
    arguments = parser.parse_args()
    reply: Reply = _function(arguments.reply) if arguments.reply else echo
    embed: Embed | None = _function(arguments.embed) if arguments.embed else None
    with FakeOpenAI(reply=reply, embed=embed, dimensions=arguments.dimensions, port=arguments.port) as api:
        print(api.url, flush=True)  # noqa: T201 - how the one who started it learns where it is
        with suppress(KeyboardInterrupt):
            threading.Event().wait()


def _function(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


if __name__ == "__main__":
    main()
