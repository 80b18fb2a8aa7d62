"""HTTP clients in a separate process, so that their work does not count as a server's.

The process reads jobs from standard input, a JSON object a line, and answers each with a line: the latencies in seconds
and the total time. The client is as lean as keep-alive HTTP/1.1 allows, and knows only `Content-Length`.
"""

import asyncio
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from itertools import count, islice, takewhile
from typing import Any

import uvloop

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(frozen=True)
class Job:
    """Client i sends its request n to target (and with body) number i + n * clients, cyclically."""

    port: int
    method: str
    targets: list[str]
    bodies: list[str] = field(default_factory=list)
    clients: int = 1
    requests: int = 0
    """The number of requests of each client; 0: as many as fit the time."""
    seconds: float = 3600.0
    headers: str = ""
    """Further header lines of each request, each with its line end."""
    pipelined: int = 1
    """The number of requests that a client sends before it reads their answers."""
    reconnects: bool = False
    """Whether it opens a new connection each time."""


@dataclass(frozen=True)
class Outcome:
    latencies: list[float]
    seconds: float

    @property
    def rate(self) -> float:
        return len(self.latencies) / self.seconds


async def run(job: Job) -> Outcome:
    """Send a job's requests. Raises RuntimeError for an answer that is not 2xx."""
    connections = [await _connect(job) for _ in range(job.clients)]
    begun = time.perf_counter()
    latencies = await asyncio.gather(*(_client(job, i, connections[i]) for i in range(job.clients)))
    return Outcome([one for found in latencies for one in found], time.perf_counter() - begun)


async def _connect(job: Job) -> Connection:
    return await asyncio.open_connection("127.0.0.1", job.port, limit=1 << 20)


async def _client(job: Job, i: int, connection: Connection) -> list[float]:
    latencies: list[float] = []
    requests = _requests(job, i)
    until = time.perf_counter() + job.seconds
    try:
        while time.perf_counter() < until and (sent := list(islice(requests, job.pipelined))):
            begun = time.perf_counter()
            if job.reconnects and latencies:
                connection[1].close()
                connection = await _connect(job)
            connection[1].write(b"".join(sent))
            for request in sent:
                await _answered(connection[0], request)
                latencies.append(time.perf_counter() - begun)
        return latencies
    finally:
        connection[1].close()


async def _answered(reader: asyncio.StreamReader, request: bytes) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    body = await reader.readexactly(_length(head))
    if head[9:10] != b"2":
        raise RuntimeError(f"{request[:100]!r} was answered {head[9:12].decode()}: {body[:300]!r}")


def _requests(job: Job, i: int) -> Iterator[bytes]:
    prepared = [_heading(job.method, target, job.headers) for target in job.targets]
    bodies = [body.encode() for body in job.bodies]
    for n in takewhile(lambda n: not job.requests or n < job.requests, count()):
        at = i + n * job.clients
        body = bodies[at % len(bodies)] if bodies else b""
        yield b"%bContent-Length: %d\r\n\r\n%b" % (prepared[at % len(prepared)], len(body), body)


def _heading(method: str, target: str, more: str) -> bytes:
    return f"{method} {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n{more}".encode()


def _length(head: bytes) -> int:
    at = head.lower().index(b"content-length:") + 15
    return int(head[at : head.index(b"\r\n", at)])


def main() -> None:
    for line in sys.stdin:
        answer: dict[str, Any]
        try:
            answer = asdict(uvloop.run(run(Job(**json.loads(line)))))
        except (RuntimeError, OSError, EOFError) as error:
            answer = {"error": str(error)}
        print(json.dumps(answer), flush=True)  # noqa: T201 - the answer


if __name__ == "__main__":
    main()
