"""The environment of a benchmark: PostgreSQL in a folder of its own, Quire as `quire serve` runs it, and clients.

Each is a separate process, so that their CPU times can be distinguished. None of them outlives the run.
"""

import asyncio
import http.client
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Protocol

import asyncpg
import psutil

from app.postgres import embedded, migrate
from app.postgres.embedded import EmbeddedPostgres
from bench.clients import Job, Outcome

USER = "bench"
MODEL = "gpt-5"
"""The model of all conversations, whose vocabulary the benchmarks use to count tokens."""
QUIRE = ("-c", "import app.cli; app.cli.main(['serve'])")
"""Starts the same as `quire serve`, but is safe from anything that stops all processes of that name."""
STOP_SECONDS = 20
APPEND_MESSAGES_MAX = 1000
SETTLING_SECONDS, SETTLING_LOOKS = 0.05, 20
IDLE_SHARE = 0.04
"""The largest share of a core that an idle service takes."""
IDLE_SECONDS = 2
"""A server closes connections that are idle a little longer than this."""
BUFFERED = {"PYTHONUNBUFFERED": ""}
"""An unbuffered process that is stopped for a moment while it writes a long line would lose the rest of the line."""
_URL = re.compile(r"http://127\.0\.0\.1:(\d+)")


@dataclass(frozen=True)
class Harness:
    """Everything that runs. ``folder`` is deleted when the run ends."""

    folder: Path
    postgres: EmbeddedPostgres
    quire: "Server"
    clients: "Clients"
    api: "Api"

    def analyze(self) -> None:
        """Tell the planner how large the tables are, as autovacuum does within a minute of a change."""
        asyncio.run(_execute(self.postgres.superuser_dsn, "ANALYZE"))


def vacuum(superuser_dsn: str) -> None:
    """Vacuum and analyze everything, so that autovacuum has nothing to do."""
    asyncio.run(_execute(superuser_dsn, "VACUUM ANALYZE"))


async def _execute(dsn: str, statement: str) -> None:
    connection = await asyncpg.connect(dsn)
    await connection.execute(statement)
    await connection.close()


@contextmanager
def opened(settings: Mapping[str, str] | None = None) -> Iterator[Harness]:
    """Start everything, with additional settings if given, and stop it at the end."""
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="quire-bench-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        postgres = embedded.start(folder)
        stack.callback(postgres.stop)
        migrate.upgrade(postgres.owner_dsn)
        environment = environment_of(postgres, folder) | dict(settings or {})
        postmaster = postmaster_of(folder)
        quire = stack.enter_context(serving(QUIRE, environment, folder, postmaster))
        clients = stack.enter_context(_clients())
        api = Api(quire.port)
        stack.callback(api.close)
        yield Harness(folder, postgres, quire, clients, api)


def environment_of(postgres: EmbeddedPostgres, folder: Path) -> dict[str, str]:
    """Without embeddings: they are another benchmark's, and would take their CPU beside what is measured. Wishes are
    carried as they are with them.
    """
    return {
        "DATABASE_URL": postgres.app_dsn,
        "QUIRE_PORT": "0",
        "QUIRE_DATA_DIR": str(folder),
        "MEMORY_EMBEDDING_MODEL": "none",
        "MEMORY_CARRY": "explicit",
    }


@dataclass(frozen=True)
class Cpu:
    """CPU seconds of the server's processes and of all PostgreSQL processes."""

    server: float
    postgres: float

    @property
    def total(self) -> float:
        return self.server + self.postgres

    def __add__(self, other: "Cpu") -> "Cpu":
        return Cpu(self.server + other.server, self.postgres + other.postgres)

    def __sub__(self, other: "Cpu") -> "Cpu":
        return Cpu(self.server - other.server, self.postgres - other.postgres)


@dataclass(frozen=True)
class Server:
    port: int
    process: psutil.Process
    postmaster: psutil.Process

    def cpu(self) -> Cpu:
        return cpu_of(self.process, self.postmaster)


def cpu_of(process: psutil.Process, postmaster: psutil.Process) -> Cpu:
    """Return the CPU used so far by a process with its children, and by PostgreSQL for all clients."""
    return Cpu(_used_by_all(process), _used_by_all(postmaster))


def _used_by_all(first: psutil.Process) -> float:
    """Return the CPU seconds of a process and its children, including ended ones that it has waited for."""
    times = first.cpu_times()
    total = float(times.children_user + times.children_system)
    for process in (first, *first.children(recursive=True)):
        with suppress(OSError):  # the process has ended meanwhile
            total += time.clock_gettime(~process.pid << 3 | 2)  # its CPU clock on Linux: `cpu_times` has ticks of 10 ms
    return total


class Measured(Protocol):
    def cpu(self) -> Cpu: ...


def settled(side: Measured) -> Cpu:
    """Return the CPU used once the work besides the answers is done: when it hardly grows for a moment."""
    used = side.cpu()
    for _ in range(SETTLING_LOOKS):
        time.sleep(SETTLING_SECONDS)
        before, used = used, side.cpu()
        if used.total - before.total < SETTLING_SECONDS * IDLE_SHARE:
            break
    return used


def postmaster_of(folder: Path) -> psutil.Process:
    return psutil.Process(int((folder / "postgres/cluster/postmaster.pid").read_text().splitlines()[0]))


def superuser_dsn_of(folder: Path) -> str:
    """Return the DSN of an embedded server, whichever process and tree started it."""
    *_, port, sockets = (folder / "postgres/cluster/postmaster.pid").read_text().splitlines()[:5]
    return f"postgresql://postgres@/quire?host={sockets}&port={port}"


@contextmanager
def serving(
    arguments: Sequence[str], environment: dict[str, str], folder: Path, postmaster: psutil.Process
) -> Iterator[Server]:
    """Run a Python process that prints the URL on which it listens."""
    with (folder / "stderr").open("ab") as log, running(arguments, environment, log) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if found := _URL.search(line):
                break
        else:
            raise RuntimeError(f"{arguments} did not start: {(folder / 'stderr').read_text()[-2000:]}")
        yield Server(int(found[1]), psutil.Process(process.pid), postmaster)


@contextmanager
def running(
    arguments: Sequence[str],
    environment: dict[str, str] | None = None,
    log: IO[bytes] | None = None,
    python: str = sys.executable,
) -> Iterator[subprocess.Popen[str]]:
    """Run a Python process that reads and writes lines."""
    process = subprocess.Popen(  # noqa: S603 - a program of ours
        [python, *arguments],
        env={**os.environ, **(environment or {}), **BUFFERED},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
    )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.communicate(timeout=STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


class Clients:
    """The process that sends requests."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, job: Job) -> Outcome:
        """Run a job. Raises RuntimeError if a request failed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asdict(job)) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return Outcome(**answer)


@contextmanager
def _clients() -> Iterator[Clients]:
    with running(["-m", "bench.clients"]) as process:
        yield Clients(process)


class Api:
    """Quire's API for everything that is not measured, such as creating conversations and reading windows."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self._used = time.monotonic()

    def close(self) -> None:
        self._connection.close()

    def create(self, conversation: str, budget: int | None = None, **settings: Any) -> None:
        body = {"id": conversation, "user_id": USER, "budget": budget, "model": MODEL, "settings": settings}
        self.call("POST", "/conversations", body)

    def append(self, conversation: str, messages: Sequence[dict[str, Any]], user: str = USER) -> list[dict[str, Any]]:
        """Append messages in as few requests as the API's limit allows, and return each as it was stored."""
        stored: list[dict[str, Any]] = []
        for at in range(0, len(messages), APPEND_MESSAGES_MAX):
            body = {"messages": messages[at : at + APPEND_MESSAGES_MAX], "user_id": user}
            stored += json.loads(self.call("POST", f"/conversations/{conversation}/messages", body))["messages"]
        return stored

    def window(self, conversation: str, budget: int | None = None) -> str:
        query = f"?budget={budget}" if budget else ""
        return self.call("GET", f"/conversations/{conversation}/context{query}")

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> str:
        """Return the answer's text. Raises RuntimeError unless it is 2xx."""
        if time.monotonic() > self._used + IDLE_SECONDS:
            self._connection.close()  # it reopens by itself
        self._used = time.monotonic()
        headers = {"Content-Type": "application/json"} if body is not None else {}
        self._connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        answer = self._connection.getresponse()
        text = answer.read().decode()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path} was answered {answer.status}: {text[:500]}")
        return text
