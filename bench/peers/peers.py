"""Quire's alternatives on the same work: LangGraph's checkpointer with `trim_messages` or with summaries,
its store for searches, and mem0.

They are no dependencies of Quire. Install them where they disturb nothing, and say where:

    python3.11 -m venv /tmp/peers
    /tmp/peers/bin/pip install langgraph langgraph-checkpoint-postgres 'psycopg[binary,pool]' openai mem0ai
    BENCH_PEERS_PYTHON=/tmp/peers/bin/python python -m bench peers

Without the variable they are looked for beside Quire. What is not installed has rows that say so.

All sides take turns, in rounds, at histories of the same messages, in one PostgreSQL (the peers in a database of
their own). In a round each conversation is appended to once and asked for its context once, so that no context is
one that was asked for before. Each peer runs in a process of its own (`bench.peers.peer`), and Quire's API in another. The
jobs that appends enqueue are Quire's cost too: what they take is measured first, with a worker in a third process that
is halted while requests are made. While the sides take turns there is no worker, as if it were on another machine.
"""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from statistics import median
from typing import Any, Protocol
from urllib.parse import quote, urlsplit

import asyncpg
import psutil

from bench.clients import Job
from bench.harness import QUIRE, STOP_SECONDS, Api, Cpu, Harness, Server, cpu_of, environment_of, running, serving
from bench.load.blocks import BUDGET
from bench.load.sizes import POLL_SECONDS, POLLS_MAX, until_idle
from bench.tables import Table, milliseconds
from bench.words import WORDS, history

PEERS = {
    "LangGraph": ("langgraph", "async"),
    "LangGraph, durability exit": ("langgraph", "exit"),
    "LangGraph, delta channel": ("langgraph", "delta"),
    "LangGraph, summaries": ("langgraph_summary", "summary"),
    "LangGraph, store": ("langgraph_store", "search"),
    "mem0, infer off": ("mem0", "turns"),
}
"""The module and the variant of each peer, by its name in the tables."""
OURS = "Quire"
KEEPS_NO_CONVERSATION = frozenset({"mem0, infer off"})
SEARCHES = ("LangGraph, store", "mem0, infer off")
TURNS = tuple(name for name in PEERS if name != "LangGraph, store")
INSTALL = "pip install langgraph langgraph-checkpoint-postgres 'psycopg[binary,pool]' openai mem0ai"
PYTHON_VARIABLE = "BENCH_PEERS_PYTHON"
PYTHON_VARIABLES = {"hindsight": "BENCH_HINDSIGHT_PYTHON"}
"""Variables that name another Python, for modules whose packages exclude others."""

DIMENSIONS = 384
EMBEDDINGS = ("-m", "tests.providers.fake_openai", "--dimensions", str(DIMENSIONS))
SUMMARY = """\
The user runs a warehouse. Pallets for Lyon moved to the morning shift, since a truck came late and nobody had told
Marta; the ramp's scanner was broken. Invoices with a wrong date are still to be found, totals to be compared with last
week's, and a customer waits to hear whether batteries may travel by air."""
"""The chat model's answer to every request for a summary."""
SNAPSHOT_TURNS = 50
"""The turns, of two updates each, after which a delta channel stores everything. A summary takes half as many."""
JOBS_TURNS = 15
"""The number of turns whose jobs the worker finds at a time."""
OWNER = "peers-memories"
FOUND_MAX = 10
MEMORY_WORDS, QUERY_WORDS, RARE_WORDS = 30, 6, 3_000
MEMORIES_EACH = 1_000
"""The messages of each of Quire's conversations."""

Json = dict[str, Any]


@dataclass(frozen=True)
class Plan:
    rounds: int
    conversations: Mapping[int, int]
    """The number of conversations by length of history, and of each operation's requests in a round."""
    memories: int
    searches: int
    """The number of searches in a round."""


FULL = Plan(10, {10: 15, 100: 15, 1_000: 10, 5_000: 5}, 10_000, 10)
QUICK = Plan(2, {10: 5, 100: 5, 1_000: 3}, 2_000, 5)


@dataclass
class Measured:
    """The measurements of an operation of a side at a size."""

    latencies: list[float] = field(default_factory=list)
    cpu: Cpu = field(default_factory=lambda: Cpu(0, 0))
    wal: int = 0
    """Bytes of WAL."""
    count: int = 0
    """The number of messages or memories in the last answer."""

    @property
    def requests(self) -> int:
        return len(self.latencies)


Found = dict[tuple[str, int, str], Measured]
"""The measurements by operation, size and side."""


class Side(Protocol):
    def build(self, target: str, messages: list[Json], turns: int) -> None: ...

    def do(self, operation: str, targets: Sequence[str], bodies: Sequence[Any]) -> list[float]:
        """Send requests one after the other, and return their latencies in seconds."""

    def count(self) -> int:
        """Return the number of messages or memories in the last answer."""

    def cpu(self) -> Cpu: ...


def run(harness: Harness, *, quick: bool) -> list[Table]:
    plan = QUICK if quick else FULL
    with ExitStack() as stack:
        database = stack.enter_context(database_of(harness))
        played = (*EMBEDDINGS, "--reply", "bench.peers.peers:summary")
        models = stack.enter_context(serving(played, {}, harness.folder, harness.quire.postmaster))
        url = f"http://127.0.0.1:{models.port}/v1"
        ours = stack.enter_context(_ours(harness, url))
        sides: dict[str, Side] = {OURS: ours}
        missing: dict[str, str] = {}
        versions: dict[str, str] = {}
        for name, (module, variant) in PEERS.items():
            peer = stack.enter_context(peer_of(harness, module, variant, url))
            if peer.missing:
                missing[name] = peer.missing
            else:
                sides[name] = peer
                versions |= peer.versions
        jobs = _jobs(database, plan, ours)
        found = _turns(database, plan, {name: side for name, side in sides.items() if name in (OURS, *TURNS)})
        searched = _searches(database, plan, sides, ours)
        return [turns_table(plan, found, jobs, missing, versions), search_table(plan, searched, missing)]


def summary(_: Json) -> str:
    """Reply with a summary of any conversation. Called by the server that plays the models."""
    return SUMMARY


# --- Turns -------------------------------------------------------------------------------------------


def names(size: int, conversations: int, turn: int) -> list[str]:
    """Return the conversations of a turn. Short histories are new in each round, because a turn changes them much."""
    return [f"{size}-{turn if size == 10 else 0}-{number}" for number in range(conversations)]


def _turns(database: "Database", plan: Plan, sides: Mapping[str, Side]) -> Found:
    for size, conversations in plan.conversations.items():
        for target in dict.fromkeys(t for turn in range(plan.rounds) for t in names(size, conversations, turn)):
            _build(sides, target, size, conversations)
    database.analyze()
    found: Found = {}
    for turn in range(plan.rounds):
        for size, conversations in plan.conversations.items():
            targets = names(size, conversations, turn)
            for name in list(sides) if turn % 2 else reversed(list(sides)):
                _round(database, sides[name], name, size, targets, turn, found)
    return found


def _build(sides: Mapping[str, Side], target: str, size: int, conversations: int) -> None:
    """Build a conversation and request its context once, so that nothing measured happens for the first time."""
    number = int(target.rpartition("-")[2])
    turns = min(number * SNAPSHOT_TURNS // conversations, size // 2 - 1)
    for name, side in sides.items():
        if name not in KEEPS_NO_CONVERSATION:
            side.build(target, history(size, seed=number), turns)
            side.do("context", [target], [])
        elif not number:
            side.build(target, history(size, seed=number), turns)


def _round(database: "Database", side: Side, name: str, size: int, targets: list[str], turn: int, found: Found) -> None:
    pairs = _pairs(len(targets), turn)
    operations: Sequence[str] = ("append", "context")
    if name in KEEPS_NO_CONVERSATION:
        operations, targets = ("append",), targets[:1]
    for operation in operations:
        measured = found.setdefault((operation, size, name), Measured())
        wal, cpu = database.wal(), side.cpu()
        measured.latencies += side.do(operation, targets, pairs if operation == "append" else [])
        measured.cpu += side.cpu() - cpu
        measured.wal += database.wal() - wal
        measured.count = side.count()


def _pairs(count: int, turn: int) -> list[list[Json]]:
    messages = history(2 * count, seed=1_000 + turn)
    return [messages[at : at + 2] for at in range(0, len(messages), 2)]


def _jobs(database: "Database", plan: Plan, ours: "Ours") -> Measured:
    """Measure the jobs of turns, in conversations of a hundred messages."""
    targets = [f"jobs-{number}" for number in range(JOBS_TURNS)]
    for number, target in enumerate(targets):
        ours.build(target, history(100, seed=number), 0)
    database.analyze()
    measured = Measured()
    with ours.working() as worker:
        ours.until_idle()
        for turn in range(plan.rounds):
            worker.process.suspend()
            try:
                ours.do("append", targets, _pairs(JOBS_TURNS, turn))
                wal, cpu, begun = database.wal(), worker.cpu(), time.perf_counter()
            finally:
                worker.process.resume()  # a halted process cannot end
            ours.until_idle()
            measured.cpu += worker.cpu() - cpu
            measured.wal += database.wal() - wal
            measured.latencies += [(time.perf_counter() - begun) / JOBS_TURNS] * JOBS_TURNS
    return measured


# --- Search ------------------------------------------------------------------------------------------


def memory_texts(count: int) -> list[str]:
    """Return texts of memories in which few words are frequent and most are rare."""
    rng = Random(count)
    vocabulary = [*WORDS, *(f"word{i}" for i in range(RARE_WORDS))]
    last = len(vocabulary) - 1
    return [
        " ".join(vocabulary[min(last, int(rng.paretovariate(0.7)))] for _ in range(MEMORY_WORDS)) for _ in range(count)
    ]


def _searches(database: "Database", plan: Plan, sides: Mapping[str, Side], ours: "Ours") -> Found:
    texts = memory_texts(plan.memories)
    rng = Random(7)
    ours.tell([message for text in texts for message in _episode(text)])
    database.analyze()
    with ours.working():
        ours.until_embedded()
    searching = {name: sides[name] for name in (OURS, *SEARCHES) if name in sides}
    for name, side in searching.items():
        if name != OURS:
            side.do("keep", [OWNER], [[{"role": "user", "content": text} for text in texts]])
    database.analyze()
    found: Found = {}
    for turn in range(-1, plan.rounds):  # the first warms up
        queries = [" ".join(rng.sample(rng.choice(texts).split(), QUERY_WORDS)) for _ in range(plan.searches)]
        for name, side in searching.items():
            measured = found.setdefault(("search", plan.memories, name), Measured()) if turn >= 0 else Measured()
            cpu = side.cpu()
            measured.latencies += side.do("search", [OWNER], queries)
            measured.cpu += side.cpu() - cpu
            measured.count = side.count()
    return found


def _episode(text: str) -> list[Json]:
    words = text.split()
    halves = (("user", words[: MEMORY_WORDS // 2]), ("assistant", words[MEMORY_WORDS // 2 :]))
    return [{"role": role, "content": " ".join(half)} for role, half in halves]


# --- Quire -------------------------------------------------------------------------------------------


class Ours:
    """Quire's API, with a worker only if `working`."""

    def __init__(self, harness: Harness, environment: Mapping[str, str], server: Server, api: Api) -> None:
        self._house, self._environment, self._server, self._api = harness, environment, server, api
        self._last = ("", "")
        """A path, and the member of its answer whose items count."""

    def build(self, target: str, messages: list[Json], turns: int) -> None:  # noqa: ARG002 - of the peers
        self._api.create(target, BUDGET)
        self._api.append(target, messages)

    def tell(self, messages: list[Json]) -> None:
        """Append messages. Each pair becomes an episode."""
        for at in range(0, len(messages), MEMORIES_EACH):
            body = {"messages": messages[at : at + MEMORIES_EACH], "user_id": OWNER}
            self._api.call("POST", f"/conversations/memories-{at}/messages", body)

    def do(self, operation: str, targets: Sequence[str], bodies: Sequence[Any]) -> list[float]:
        port = self._server.port
        if operation == "append":
            paths = [f"/conversations/{target}/messages" for target in targets]
            job = Job(port, "POST", paths, [json.dumps({"messages": body}) for body in bodies], requests=len(paths))
        else:
            query = f"user_id={OWNER}&limit={FOUND_MAX}&query="
            paths = [f"/conversations/{target}/context" for target in targets if operation == "context"]
            paths += [f"/memories/search?{query}{quote(body)}" for body in bodies]
            job = Job(port, "GET", paths, requests=len(paths))
            self._last = (paths[-1], "messages" if operation == "context" else "results")
        return self._house.clients.run(job).latencies

    def count(self) -> int:
        """Repeat the last request, because the clients do not read the answers."""
        path, name = self._last
        return len(json.loads(self._api.call("GET", path))[name]) if path else 0

    def cpu(self) -> Cpu:
        return self._server.cpu()

    @contextmanager
    def working(self) -> Iterator[Server]:
        environment = {**self._environment, "QUIRE_WORKER": "true"}
        with serving(QUIRE, environment, self._house.folder, self._house.quire.postmaster) as worker:
            yield worker

    def until_idle(self) -> None:
        until_idle(self._api)

    def until_embedded(self) -> None:
        """Wait until all memories have vectors. Jobs for lines and titles may be left, which no search reads."""
        for _ in range(POLLS_MAX):
            if "embedding" not in json.loads(self._api.call("GET", "/jobs"))["lanes"]:
                return
            time.sleep(POLL_SECONDS)
        raise RuntimeError("the memories have no vectors")


@contextmanager
def _ours(harness: Harness, url: str) -> Iterator[Ours]:
    environment = environment_of(harness.postgres, harness.folder) | {
        "MEMORY_EMBEDDING_MODEL": "played",
        "MEMORY_EMBEDDING_BASE_URL": url,
        "MEMORY_EMBEDDING_API_KEY": "none",
    }
    environment |= {"QUIRE_WORKER": "false"}
    with serving(QUIRE, environment, harness.folder, harness.quire.postmaster) as server:
        api = Api(server.port)
        yield Ours(harness, environment, server, api)
        api.close()


# --- Peers -------------------------------------------------------------------------------------------


class Peer:
    """`bench.peers.peer` in a separate process."""

    def __init__(self, process: subprocess.Popen[str], postmaster: psutil.Process, log: Path) -> None:
        self._process, self._postmaster, self._log = process, postmaster, log
        self._count = 0
        found = self._answer()
        self.said: list[Json] = []
        """The messages that the last operation returned, if it was a window."""
        self.missing = str(found.get("missing", ""))
        self.versions: dict[str, str] = found.get("versions", {})

    def build(self, target: str, messages: list[Json], turns: int) -> None:
        self.do("build", [target], [{"messages": messages, "turns": turns}])

    def do(self, operation: str, targets: Sequence[str], bodies: Sequence[Any]) -> list[float]:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"operation": operation, "targets": targets, "bodies": bodies}) + "\n")
        self._process.stdin.flush()
        answer = self._answer()
        self._count, self.said = answer["count"], answer["said"]
        return list(answer["latencies"])

    def _answer(self) -> Json:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._process.wait(STOP_SECONDS)  # when it has ended, the log shows why
        answer: Json = json.loads(line) if line else {"error": "the process ended"}
        if "error" in answer:
            raise RuntimeError(f"{answer['error']}: {self._log.read_text('utf-8')[-2000:]}")
        return answer

    def count(self) -> int:
        return self._count

    def cpu(self) -> Cpu:
        return cpu_of(psutil.Process(self._process.pid), self._postmaster)


@contextmanager
def peer_of(harness: Harness, module: str, variant: str, url: str) -> Iterator[Peer]:
    """Start a peer without tracing and telemetry."""
    environment = {
        "MEM0_TELEMETRY": "False",
        "MEM0_DIR": str(harness.folder),
        "LANGSMITH_TRACING": "false",
        "LANGCHAIN_TRACING_V2": "false",
        "LANGGRAPH_STRICT_MSGPACK": "true",  # as the checkpointer's documentation asks for
    }
    arguments = ["-m", "bench.peers.peer", module, variant, _dsn_of_peers(harness), url]
    python = os.environ.get(PYTHON_VARIABLES.get(module, PYTHON_VARIABLE), sys.executable)
    log = harness.folder / f"stderr-{module}-{variant}"
    with log.open("wb") as file, running(arguments, environment, file, python) as process:
        yield Peer(process, harness.quire.postmaster, log)


def _dsn_of_peers(harness: Harness) -> str:
    return urlsplit(harness.postgres.superuser_dsn)._replace(path="/peers").geturl()


class Database:
    """PostgreSQL as a whole, and the peers' database."""

    def __init__(self, runner: asyncio.Runner, ours: asyncpg.Connection, peers: asyncpg.Connection) -> None:
        self._runner, self._ours, self._peers = runner, ours, peers

    def wal(self) -> int:
        """Return the bytes of WAL written so far."""
        return int(self._runner.run(self._ours.fetchval("SELECT pg_current_wal_insert_lsn() - '0/0'")))

    def analyze(self) -> None:
        """Analyze the databases, as autovacuum does within a minute of a change."""
        for connection in (self._ours, self._peers):
            self._runner.run(connection.execute("VACUUM ANALYZE"))


@contextmanager
def database_of(harness: Harness) -> Iterator[Database]:
    with asyncio.Runner() as runner:
        ours = runner.run(asyncpg.connect(harness.postgres.superuser_dsn))
        runner.run(ours.execute("CREATE DATABASE peers"))
        peers = runner.run(asyncpg.connect(_dsn_of_peers(harness)))
        yield Database(runner, ours, peers)
        for connection in (ours, peers):
            runner.run(connection.close())


# --- Tables ------------------------------------------------------------------------------------------


def turns_table(
    plan: Plan, found: Found, jobs: Measured, missing: Mapping[str, str], versions: Mapping[str, str]
) -> Table:
    rows = []
    for operation in ("append", "context"):
        for size in plan.conversations:
            for name in (OURS, *TURNS):
                if operation == "context" and name in KEEPS_NO_CONVERSATION:
                    continue
                label = (operation, f"{size:,}", name)
                if name in missing:
                    rows.append((*label, "not installed", *["–"] * 6))
                    continue
                measured, first = (found[operation, size, who] for who in (name, OURS))
                later, first_later = (_later(operation, who, jobs) for who in (name, OURS))
                wal = _wal(measured, later) if operation == "append" else "–"
                rows.append((*label, *_cells(measured, later, first, first_later), wal))
    return Table(
        "Turns, beside what a user would pick instead",
        ("operation", "history", "with", "median ms", "CPU ms: process", "PostgreSQL", "in jobs", *RATIOS, "WAL kB"),
        rows,
        _turns_notes(plan, found, missing, versions),
    )


RATIOS = ("ms, of Quire's", "CPU, of Quire's")
NOTHING = Measured([0.0])


def _later(operation: str, name: str, jobs: Measured) -> Measured:
    """Return the cost of a turn's jobs."""
    return jobs if operation == "append" and name == OURS else NOTHING


def _each(measured: Measured) -> Cpu:
    return Cpu(measured.cpu.server / measured.requests, measured.cpu.postgres / measured.requests)


def _cells(measured: Measured, later: Measured, first: Measured, first_later: Measured) -> Sequence[str]:
    cpu, jobs = _each(measured), _each(later)
    whole = _each(first).total + _each(first_later).total
    return (
        milliseconds(median(measured.latencies)),
        milliseconds(cpu.server),
        milliseconds(cpu.postgres),
        milliseconds(jobs.total) if jobs.total else "–",
        f"{median(measured.latencies) / median(first.latencies):.1f}",
        f"{(cpu.total + jobs.total) / whole:.1f}" if whole else "–",  # a tick of the clock is ten milliseconds
    )


def _wal(measured: Measured, later: Measured) -> str:
    return f"{(measured.wal / measured.requests + later.wal / later.requests) / 1000:,.1f}"


def _turns_notes(plan: Plan, found: Found, missing: Mapping[str, str], versions: Mapping[str, str]) -> Sequence[str]:
    largest = max(plan.conversations)
    held = ", ".join(
        f"{name} {found['context', largest, name].count}"
        for name in (OURS, *TURNS)
        if ("context", largest, name) in found
    )
    return (
        (
            f"Messages of about 60 tokens, two a turn, budget {BUDGET:,}, one request after the other; "
            f"{', '.join(f'{plan.rounds * many} at {size:,}' for size, many in plan.conversations.items())}. "
            "Process: the peer's own process, or Quire's API with HTTP and JSON but without the caller's HTTP client. "
            "In jobs: what Quire's worker and PostgreSQL do later because of a turn (line, title, topics, vectors; no LLM), "
            f"measured separately, {JOBS_TURNS} turns at a time; included in the last ratio and the WAL. WAL includes page "
            "images after a checkpoint, so small figures vary."
        ),
        (
            "LangGraph: a turn is one call of a graph with one node, which loads the state; the context row is loading and "
            "trimming alone. It stores the state after each step, from which a run can resume; with durability exit, once at "
            "the end. `trim_messages` counts approximately, and the model never sees again what it cuts. Messages in the "
            f"context at {largest:,}: {held}. Histories were filled in with one call (except up to fifty turns with a delta "
            "channel or summaries), so tables are smaller than in production. Summaries: a turn that exceeds the budget, one "
            "in twenty-seven, sends the oldest half of the budget to a chat API, faked on loopback with instant answers; a "
            "real one adds seconds and tokens to that turn. Medians do not show that turn; CPU and WAL do. What is "
            "summarised leaves the state for good."
        ),
        (
            "mem0 without inference stores both messages as memories, each with a call of a fake embedding API on loopback "
            "(Quire batches its calls in jobs). It keeps no order of messages and builds no context. Its SQLite history is "
            "in its time, not in the WAL."
        ),
        installed(missing, versions),
    )


def installed(missing: Mapping[str, str], versions: Mapping[str, str]) -> str:
    there = ", ".join(f"{name} {number}" for name, number in sorted(versions.items())) or "nothing"
    gone = f" Not there: {', '.join(sorted(set(missing.values())))}." if missing else ""
    return (
        f"Peers: {there}.{gone} Install them in an environment of their own, `{INSTALL}`, and set "
        f"`{PYTHON_VARIABLE}` to the path of its Python."
    )


def search_table(plan: Plan, found: Found, missing: Mapping[str, str]) -> Table:
    rows: list[Sequence[str]] = []
    first = found["search", plan.memories, OURS]
    for name in (OURS, *SEARCHES):
        if name in missing:
            rows.append((name, "not installed", *["–"] * 5))
            continue
        measured = found["search", plan.memories, name]
        median_ms, process, postgres, _, *ratios = _cells(measured, NOTHING, first, NOTHING)
        rows.append((name, median_ms, process, postgres, *ratios, str(measured.count)))
    return Table(
        f"Search of {plan.memories:,} memories, beside what a user would pick instead",
        ("with", "median ms", "CPU ms: process", "PostgreSQL", *RATIOS, "found"),
        rows,
        (
            (
                f"One user's memories of {MEMORY_WORDS} words, {DIMENSIONS} dimensions; queries of {QUERY_WORDS} words of "
                f"one of them, each run once, best {FOUND_MAX}; {plan.rounds * plan.searches} searches. All embed the query "
                "through the same fake embedding API on loopback, whose CPU is not counted. Quire was told each as a question "
                "and its answer, so it has twice as many, half as long. Quire and mem0 search by keyword and meaning, "
                "LangGraph's store by meaning alone. Quire scans all of the user's memories, over HTTP; the "
                "others' indexes are approximate and shared by all users (here there is one)."
            ),
        ),
    )
