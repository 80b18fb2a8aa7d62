"""A network between Quire and PostgreSQL that delays, cuts, resets, swallows and refuses, and loses commits."""

import asyncio
import random
import socket
import struct
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tests.faults.lossy import WRITES, Said

Loss = Literal["request", "answer"]
"""What of a commit is lost: then the server has not committed, or it has."""


@dataclass(eq=False)
class _Link:
    """One connection, and its other half."""

    client: asyncio.StreamWriter
    server: asyncio.StreamWriter
    is_deaf: bool = False
    """What comes next from the server is lost, and the connection with it."""

    def end(self, *, resets: bool) -> None:
        if resets:
            raw = self.client.get_extra_info("socket")
            with suppress(OSError):
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        for writer in (self.client, self.server):
            writer.transport.abort() if resets else writer.close()

    async def close(self) -> None:
        """End it, with a moment for what was said last to arrive."""
        self.end(resets=False)
        for writer in (self.client, self.server):
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(1):
                    await writer.wait_closed()
            writer.transport.abort()


@dataclass
class Network:
    """Listens on a loopback port for PostgreSQL's clients, before a server's socket."""

    upstream: Path
    rng: random.Random
    delay_seconds: float = 0.0
    refuses: bool = False
    loses: Loss | None = None
    """Of every second commit."""
    lost: int = 0
    port: int = 0
    _flows: asyncio.Event = field(default_factory=asyncio.Event)
    _links: set[_Link] = field(default_factory=set)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _server: asyncio.Server | None = None

    async def open(self) -> None:
        self._flows.set()
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.sleep(0)  # transports that were aborted are closed in the loop's next round

    def heal(self) -> None:
        self.delay_seconds, self.refuses, self.loses = 0.0, False, None
        self._flows.set()

    def swallow(self) -> None:
        """Hold back whatever is said, without ending a connection. What is held flows on when the network heals."""
        self._flows.clear()

    def end_all(self, *, resets: bool) -> None:
        for link in list(self._links):
            link.end(resets=resets)

    def _accept(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._connect(client, to_client))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _connect(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        try:
            if self.refuses:
                raise ConnectionRefusedError
            server, to_server = await asyncio.open_unix_connection(self.upstream)
        except OSError:
            to_client.transport.abort()
            return
        link = _Link(to_client, to_server)
        self._links.add(link)
        halves = [asyncio.create_task(half) for half in (self._requests(client, link), self._answers(server, link))]
        try:
            await asyncio.wait(halves, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for half in halves:
                half.cancel()
            await asyncio.gather(*halves, return_exceptions=True)
            self._links.discard(link)
            await link.close()

    async def _requests(self, client: asyncio.StreamReader, link: _Link) -> None:
        size = await client.readexactly(4)
        link.server.write(size + await client.readexactly(struct.unpack("!I", size)[0] - 4))
        said = Said()
        while True:
            head = await client.readexactly(5)
            message = head + await client.readexactly(struct.unpack("!I", head[1:])[0] - 4)
            await self._pass()
            if said.commits(message) == WRITES and self.loses is not None and self.rng.random() < 0.5:
                self.lost += 1
                if self.loses == "request":
                    return
                link.is_deaf = True
            link.server.write(message)
            await link.server.drain()

    async def _answers(self, server: asyncio.StreamReader, link: _Link) -> None:
        while data := await server.read(65536):
            await self._pass()
            if link.is_deaf:
                return
            link.client.write(data)
            await link.client.drain()

    async def _pass(self) -> None:
        if self.delay_seconds:
            await asyncio.sleep(self.rng.uniform(0, self.delay_seconds))
        await self._flows.wait()
