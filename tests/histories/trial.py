"""A trial: clients, processes and faults for a time, by a seed; then every conversation's history is judged.

Two API processes and a worker, each behind a network of its own, share one PostgreSQL. The seed decides what clients
do and which faults come in which order; the machine decides how they fall together.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from urllib.parse import parse_qs, urlsplit

import asyncpg
import httpx

from app.postgres import embedded, migrate
from app.postgres.embedded import EmbeddedPostgres
from bench.crash import PROMISES
from bench.crash_work import Program
from tests.faults.lossy import SOCKET
from tests.histories.clients import Client, Record, reply
from tests.histories.linearizable import Undecided, listed, refute
from tests.histories.network import Loss, Network
from tests.providers.fake_openai import FakeOpenAI

APIS = 2
CLIENTS = 10
SETTLE_SECONDS = 60.0


@dataclass
class Report:
    seed: int
    seconds: float = 0.0
    operations: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    conversations: int = 0
    resent: int = 0
    unknown: int = 0
    refused: int = 0
    undecided: int = 0
    """Conversations with too many writes of unknown outcome for a judgement."""
    judged_seconds: float = 0.0
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"""\
seed {self.seed}, {self.seconds:.0f} s: {self.operations.total()} operations, {self.faults.total()} faults
operations: {dict(self.operations.most_common())} on {self.conversations} conversations
faults: {dict(self.faults.most_common())}
writes: {self.resent} sent again, {self.unknown} of unknown outcome, {self.refused} refused
judged in {self.judged_seconds:.1f} s: {len(self.problems)} problems, {self.undecided} conversations undecided
{self._listed}"""

    @property
    def _listed(self) -> str:
        return "\n".join(self.problems)


@dataclass
class Scene:
    """The processes, and what stands between them and the database."""

    folder: Path
    servers: list[EmbeddedPostgres]
    networks: list[Network]
    programs: list[Program]
    """APIs first, then the worker."""
    record: Record

    async def start(self, number: int) -> None:
        is_api = number < APIS
        said = await asyncio.to_thread(self.programs[number].start, "/docs" if is_api else "up")
        if is_api:
            self.record.urls[number] = said.split("/docs")[0].split()[-1]

    def kill_postgres(self) -> None:
        pid = (self.folder / "postgres/cluster/postmaster.pid").read_text().split("\n", 1)[0]
        os.kill(int(pid), signal.SIGKILL)
        self.servers.append(embedded.start(self.folder))


async def trial(seed: int, seconds: float) -> Report:
    """Run one, and judge it."""
    report = Report(seed, seconds)
    with _folder() as folder, FakeOpenAI(reply=reply) as provider:
        async with _scene(folder, provider.url, seed) as scene:
            await _run(scene, report)
        record = scene.record
    report.operations, report.conversations = record.operations, len(record.calls)
    report.resent, report.unknown, report.refused = record.resent, record.unknown, record.refused
    report.problems += record.problems
    began = time.monotonic()
    for name, calls in record.calls.items():
        try:
            found = refute(calls)
        except Undecided:
            report.undecided += 1
            continue
        if found is not None:
            report.problems.append(f"{name}: {found}\n\nAll of it:\n{listed(calls)}")
    report.judged_seconds = time.monotonic() - began
    return report


async def _run(scene: Scene, report: Report) -> None:
    record = scene.record
    async with httpx.AsyncClient(timeout=20, limits=httpx.Limits(max_connections=None)) as http:
        clients = [Client(record, number, report.seed, http) for number in range(CLIENTS)]
        async with asyncio.TaskGroup() as running:
            for client in clients:
                running.create_task(client.run())
            await _disturb(scene, Random(report.seed), report)
            record.stop.set()
        await _look_at_everything(scene, clients[0], http)
    report.problems += await _broken_promises(scene)


async def _disturb(scene: Scene, rng: Random, report: Report) -> None:
    """One fault after the other, each for a moment, with a moment of peace between them."""
    faults = _faults(scene, rng)
    deadline = time.monotonic() + report.seconds
    while time.monotonic() < deadline:
        await asyncio.sleep(rng.uniform(0.3, 1.5))
        name = rng.choice(list(faults))
        report.faults[name] += 1
        await faults[name]()


def _faults(scene: Scene, rng: Random) -> dict[str, Callable[[], Awaitable[None]]]:
    async def kill(number: int) -> None:
        await asyncio.to_thread(scene.programs[number].kill)
        await scene.start(number)

    async def for_a_moment(at_most: float, network: Network) -> None:
        await asyncio.sleep(rng.uniform(0.2, at_most))
        network.heal()

    async def delay() -> None:
        network = rng.choice(scene.networks)
        network.delay_seconds = rng.choice((0.005, 0.02))
        await for_a_moment(3.0, network)

    async def refuse() -> None:
        network = rng.choice(scene.networks)
        network.refuses = True
        network.end_all(resets=True)
        await for_a_moment(2.0, network)

    async def swallow() -> None:
        network = rng.choice(scene.networks)
        ends = rng.random() < 0.5
        network.swallow()
        await asyncio.sleep(rng.uniform(0.5, 5.0))
        if ends:
            network.end_all(resets=True)
        network.heal()

    async def end(*, resets: bool) -> None:
        rng.choice(scene.networks).end_all(resets=resets)

    async def lose(what: Loss) -> None:
        network = rng.choice(scene.networks)
        network.loses = what
        await for_a_moment(2.0, network)

    return {
        "kill of an API process": lambda: kill(rng.randrange(APIS)),
        "kill of the worker": lambda: kill(APIS),
        "kill of PostgreSQL": lambda: asyncio.to_thread(scene.kill_postgres),
        "delay": delay,
        "connections refused": refuse,
        "black hole": swallow,
        "connections cut": lambda: end(resets=False),
        "connections reset": lambda: end(resets=True),
        "commits lost": lambda: lose("request"),
        "answers to commits lost": lambda: lose("answer"),
    }


async def _look_at_everything(scene: Scene, client: Client, http: httpx.AsyncClient) -> None:
    """Each conversation once more through each process, when all is well again."""
    deadline = time.monotonic() + SETTLE_SECONDS
    urls = list(scene.record.urls)
    for url in urls:
        while not await _is_ready(http, url):
            assert time.monotonic() < deadline, f"{url} is not ready again"
            await asyncio.sleep(0.1)
        scene.record.urls[:] = [url]
        for name in scene.record.calls:
            for look in (client.read, client.window):
                before = len(scene.record.calls[name])
                while len(scene.record.calls[name]) == before:
                    assert time.monotonic() < deadline, f"{name} cannot be read"
                    await look(name)


async def _is_ready(http: httpx.AsyncClient, url: str) -> bool:
    try:
        return (await http.get(f"{url}/readyz")).is_success
    except httpx.TransportError:
        return False


async def _broken_promises(scene: Scene) -> list[str]:
    connection = await asyncpg.connect(scene.servers[-1].superuser_dsn)
    try:
        found = {promise: await connection.fetch(sql) for promise, sql in PROMISES.items()}
    finally:
        await connection.close()
    return [f"{promise}: {len(rows)} times" for promise, rows in found.items() if rows]


@contextmanager
def _folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="quire-histories-"))
    yield made
    shutil.rmtree(made, ignore_errors=True)


@asynccontextmanager
async def _scene(folder: Path, provider: str, seed: int) -> AsyncIterator[Scene]:
    postgres = embedded.start(folder)
    await asyncio.to_thread(migrate.upgrade, postgres.owner_dsn)
    [sockets] = parse_qs(urlsplit(postgres.app_dsn).query)["host"]
    networks = [Network(Path(sockets) / SOCKET, Random(f"{seed} network {n}")) for n in range(APIS + 1)]
    for network in networks:
        await network.open()
    programs = [_program(folder, network.port, provider, number) for number, network in enumerate(networks)]
    scene = Scene(folder, [postgres], networks, programs, Record([""] * APIS))
    try:
        for number in range(len(programs)):
            await scene.start(number)
        yield scene
    finally:
        for program in programs:
            program.kill()
        for network in networks:
            await network.close()
        for server in scene.servers:
            server.stop()


def _program(folder: Path, port: int, provider: str, number: int) -> Program:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("QUIRE_", "MEMORY_", "DATABASE_"))}
    environment = {
        **kept,
        "DATABASE_URL": f"postgresql://quire_app@127.0.0.1:{port}/quire?sslmode=disable",
        "QUIRE_DATA_DIR": str(folder),
        "QUIRE_PORT": "0",
        "QUIRE_WORKER": "false",
        "QUIRE_WORKER_LEASE_SECONDS": "5",
        "QUIRE_PROXY_BASE_URL": provider,
        "MEMORY_EMBEDDING_MODEL": "none",
    }
    return Program(folder, environment, *(("-m", "app", "serve") if number < APIS else ("-m", "bench.soak_worker")))
