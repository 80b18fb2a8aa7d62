"""A trial: clients, processes and faults for a time, by a seed; then every conversation's history is judged.

Two API processes and a worker, each behind a network of its own, share one database (``databases``). The seed decides
what clients do and which faults come in which order; the machine decides how they fall together.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random

import httpx

from bench.load.crash import PROMISES
from bench.load.crash_work import Program
from tests.histories.clients import Client, Record, reply
from tests.histories.databases import Alone, Database, fetch
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

    database: Database
    networks: list[Network]
    programs: list[Program]
    """APIs first, then the worker."""
    record: Record

    async def start(self, number: int) -> None:
        is_api = number < APIS
        said = await asyncio.to_thread(self.programs[number].start, "/docs" if is_api else "up")
        if is_api:
            self.record.urls[number] = said.split("/docs")[0].split()[-1]


async def trial(seed: int, seconds: float, database: Callable[[Path], Database] = Alone) -> Report:
    """Run one, and judge it. ``database`` makes one in a folder."""
    report = Report(seed, seconds)
    with _folder() as folder, FakeOpenAI(reply=reply) as provider:
        async with _scene(folder, provider.url, seed, database) as scene:
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
    """One fault after the other, each for a moment, with a moment of peace between them; the database's own first."""
    own: dict[str, Callable[[], Awaitable[object]]] = {
        name: partial(asyncio.to_thread, fault) for name, fault in scene.database.faults(scene.networks).items()
    }
    faults = {**own, **_faults(scene, rng)}
    first = list(own)
    deadline = time.monotonic() + report.seconds
    while time.monotonic() < deadline:
        await asyncio.sleep(rng.uniform(0.3, 1.5))
        name = first.pop() if first else rng.choice(list(faults))
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
    found = {promise: await fetch(scene.database.superuser_dsn, sql) for promise, sql in PROMISES.items()}
    return [f"{promise}: {len(rows)} times" for promise, rows in found.items() if rows]


@contextmanager
def _folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="quire-histories-"))
    yield made
    shutil.rmtree(made, ignore_errors=True)


@asynccontextmanager
async def _scene(folder: Path, provider: str, seed: int, make: Callable[[Path], Database]) -> AsyncIterator[Scene]:
    database = await asyncio.to_thread(make, folder)
    networks = [Network(database.socket, Random(f"{seed} network {n}")) for n in range(APIS + 1)]
    for network in networks:
        await network.open()
    programs = [
        _program(folder, network.port, provider, number, database.environment)
        for number, network in enumerate(networks)
    ]
    scene = Scene(database, networks, programs, Record([""] * APIS))
    try:
        for number in range(len(programs)):
            await scene.start(number)
        yield scene
    finally:
        for program in programs:
            program.kill()
        for network in networks:
            await network.close()
        await asyncio.to_thread(database.close)


def _program(folder: Path, port: int, provider: str, number: int, more: Mapping[str, str]) -> Program:
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
        **more,
    }
    command = ("app", "serve") if number < APIS else ("bench.load.soak_worker",)
    return Program(folder, environment, "-m", *command)
