"""Quire's overhead: its requests against a bare handler that reads and writes the same rows.

A window is asked for again and again as it is, and in a turn after each append. (The bare handler's turns go on reading
the window that they began with.) A load takes a range of a large archive. A search is in the memories of one user: by
keywords, or hybrid, by words and meaning, and then each query is a new one, so that Quire has it embedded while the
client waits. Once by an API, played on loopback, whose CPU is not counted: that is Quire's own part, its call of the
API within. And once by the local model, as Quire does without settings. The bare handler has each vector beforehand.

Quire and the yardstick take turns, with the same clients, PostgreSQL and bytes (`bench.load.bare` says what it leaves out).
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from importlib.util import find_spec
from statistics import median
from time import process_time
from typing import Any, NamedTuple

import asyncpg

from app.core.scope import Scope
from app.core.search.relevance import spread
from app.postgres.tenants import DEFAULT_TENANT
from app.providers import Embedder, local_embeddings
from app.providers.model_api import ModelApi
from app.providers.openai_embeddings import OpenAIEmbedder
from app.store.memory.embeddings import literal, model_id
from bench.clients import Job, Outcome
from bench.harness import QUIRE, Api, Cpu, Harness, Server, environment_of, serving
from bench.load import filling
from bench.load.bare import Known
from bench.load.blocks import BUDGET, bodies, build
from bench.load.filling import Copies
from bench.load.sizes import long_text
from bench.peers.peers import DIMENSIONS, EMBEDDINGS
from bench.plots import Bars, Lines
from bench.tables import Table, milliseconds
from bench.words import QUERIES, new_queries, search, searches

CLIENTS = (1, 8, 32)
HYBRID, LOCAL = "hybrid", "hybrid, local"
"""Searches by words and meaning, with an API's vectors and with the local model's."""
OPERATIONS = ("window", "append", "turn", "search", HYBRID, LOCAL, "load")
NEW = dict(zip((HYBRID, LOCAL), new_queries(), strict=True))
MODEL = local_embeddings.MODEL
"""The name of the API's model too, so that both can use the same vectors of memories."""
MESSAGES = 400
CONVERSATIONS = max(CLIENTS)
IN_TURN, AT_ONCE, RECONNECTING = "in turn", "8 at once", "on new connections"
SENDING: Mapping[str, dict[str, Any]] = {IN_TURN: {}, AT_ONCE: {"pipelined": 8}, RECONNECTING: {"reconnects": True}}
"""The ways of sending, with the members of a job for each."""


class Way(NamedTuple):
    """Whose windows are read, under which server, on which loop, and how clients send."""

    app: str
    server: str
    loop: str
    sending: str = IN_TURN


WAYS = (
    Way("bare", "uvicorn", "uvloop"),
    Way("bare", "uvicorn", "asyncio"),
    Way("bare", "Granian", "uvloop"),
    *(Way("Quire", server, "uvloop", sending) for server in ("uvicorn", "Granian") for sending in SENDING),
)
"""For each of the bare handler and Quire, the first way is how Quire is served by default."""
LOOP_CLIENTS = 8
MEMORIES = 10_000
ARCHIVE, RANGE, RANGES = 1_000_000, 4_000, 16
GOAL = 0.5
ZONES = """
SELECT e.condensed_from, e.verbatim_from, c.last_seq FROM conversations c
  JOIN cuts e ON e.tenant_id = c.tenant_id AND e.conversation_id = c.id AND e.number = c.epoch
 WHERE c.tenant_id = $1 AND c.id = $2
"""
TEXTS = "SELECT {} FROM messages WHERE tenant_id = $1 AND conversation_id = $2 AND seq = $3"


@dataclass(frozen=True)
class Plan:
    rounds: int
    seconds: float
    messages: int = MESSAGES
    memories: int = MEMORIES


FULL, QUICK = Plan(5, 1.8), Plan(2, 0.8)


@dataclass(frozen=True)
class Cell:
    """An operation, with its size and its number of clients."""

    what: str
    clients: int
    is_bare: bool


@dataclass
class Side:
    """Quire or the yardstick in one operation."""

    outcomes: list[Outcome] = field(default_factory=list)
    cpu: Cpu = field(default_factory=lambda: Cpu(0, 0))

    @property
    def rate(self) -> float:
        return median(outcome.rate for outcome in self.outcomes)

    @property
    def cpu_each(self) -> Cpu:
        count = sum(len(outcome.latencies) for outcome in self.outcomes)
        return Cpu(self.cpu.server / count, self.cpu.postgres / count)


def run(harness: Harness, *, quick: bool) -> list[Table]:
    return [compared(harness, QUICK if quick else FULL)]


def compared(harness: Harness, plan: Plan) -> Table:
    """Compare both. Raises RuntimeError unless the bare handler answers as Quire does."""
    names, user, uuid = _conversations(harness, plan.messages), _memories(harness, plan.memories), _archive(harness)
    harness.analyze()
    with serving(EMBEDDINGS, {}, harness.folder, harness.quire.postmaster) as embeddings:
        url = f"http://127.0.0.1:{embeddings.port}/v1"
        vectors = asyncio.run(_all_vectors(url))
        known = asyncio.run(_known(harness, names, user, uuid, vectors))
        with _serving_quire(harness, url) as quires, _serving_bare(harness, known) as bare:
            _require_same(harness.api, quires, bare, known)
            found = _measure(harness, quires, bare, known, plan)
    local = vectors.get(LOCAL)
    return table(found, len(harness.api.window(names[0])), plan, local.cpu_each if local else None)


def run_loops(harness: Harness, *, quick: bool) -> list[Table]:
    """Compare event loops and servers by windows. Granian is measured if it is installed."""
    names = [f"loops-{number}" for number in range(LOOP_CLIENTS)]
    for name in names:
        build(harness.api, name, MESSAGES)
    harness.analyze()
    known = Known(asyncio.run(_windows(harness, names)), {}, "", [], {})
    return [loops_table(_measured_loops(harness, known, QUICK if quick else FULL))]


Found = dict[Cell, Side]


# --- The requests ------------------------------------------------------------------------------------


def _conversations(harness: Harness, messages: int) -> list[str]:
    """Make the conversations whose windows are read. Quire and the yardstick append to others."""
    template = filling.templates(harness, "overhead", 1, messages)
    read, *written = (Copies(what, template, CONVERSATIONS) for what in ("window", "append", "turn"))
    filling.fill(harness, read, *written)
    names = [read.conversation(number) for number in range(CONVERSATIONS)]
    for name in names:
        harness.api.create(f"{name}-bare", BUDGET)
    return names


def _memories(harness: Harness, count: int) -> str:
    """Make a user with ``count`` memories with vectors."""
    copies = filling.memories(harness, "searched", count)
    filling.fill(harness, copies)
    user = copies.user(0)
    filling.embed(harness, Scope("user", user).owner, model_id(MODEL, DIMENSIONS), DIMENSIONS)
    return user


def _archive(harness: Harness) -> str:
    body = {"user_id": "overhead", "tool_name": "dump", "result": long_text(ARCHIVE)}
    return str(json.loads(harness.api.call("POST", "/archive", body))["uuid"])


def _searches(known: Known) -> list[str]:
    return searches([known.user] * len(known.queries))


def _loads(uuid: str) -> list[str]:
    return [f"/archive/{uuid}?offset={ARCHIVE // RANGES * n}&length={RANGE}" for n in range(RANGES)]


def job(port: int, cell: Cell, known: Known, seconds: float, asked: int = 0) -> Job:
    """What goes on where so many requests of the kind ended; a few are sent twice, for clients are not equally fast."""
    targets = _targets(cell, known)
    begin = asked % len(targets)
    targets = [*targets[begin:], *targets[:begin]]
    sent = bodies(0) if cell.what in ("append", "turn") else []
    return Job(port, "POST" if sent else "GET", targets, sent, clients=cell.clients, seconds=seconds)


def _targets(cell: Cell, known: Known) -> list[str]:
    match cell.what:
        case "window":
            return [f"/conversations/{name}/context" for name in known.windows]
        case "search":
            return _searches(known)
        case what if what in NEW:
            return [search(known.user, query, "hybrid") for query in NEW[what]]
        case "load":
            return _loads(*known.archives)
        case what:
            names = [f"{name}-bare" if cell.is_bare else f"{what}-{n}" for n, name in enumerate(known.windows)]
            query = "?include=context" if what == "turn" else ""
            return [f"/conversations/{name}/messages{query}" for name in names]


# --- The yardstick -----------------------------------------------------------------------------------


async def _known(harness: Harness, names: list[str], user: str, uuid: str, vectors: Mapping[str, Vectors]) -> Known:
    windows = await _windows(harness, names)
    answer = harness.api.call("GET", _loads(uuid)[0])
    mark = '"content":'
    archives = {uuid: answer[: answer.index(mark) + len(mark)]}
    by_query = {query: vector for one in vectors.values() for query, vector in one.by_query.items()}
    return Known(windows, archives, user, [*QUERIES], by_query, (str(model_id(MODEL, DIMENSIONS)), *spread(MODEL)))


@dataclass(frozen=True)
class Vectors:
    """Vectors of queries, as Quire passes them to PostgreSQL."""

    by_query: dict[str, str]
    cpu_each: float
    """CPU seconds of this process for each."""


async def _all_vectors(url: str) -> dict[str, Vectors]:
    """Return the vectors by operation, without the local model's if that is not installed."""
    api = OpenAIEmbedder(model=MODEL, api=ModelApi(url, "none"))
    embedders: dict[str, Embedder | None] = {HYBRID: api, LOCAL: local_embeddings.load()}
    return {what: await _vectors(NEW[what], embedder) for what, embedder in embedders.items() if embedder}


async def _vectors(queries: Sequence[str], embedder: Embedder) -> Vectors:
    begun = process_time()
    found = {query: literal(await embedder.embed_query(query)) for query in queries}
    await embedder.close()
    return Vectors(found, (process_time() - begun) / len(queries))


async def _windows(harness: Harness, names: list[str]) -> dict[str, tuple[str, str, int, int]]:
    connection = await asyncpg.connect(harness.postgres.superuser_dsn)
    try:
        return {name: await _around(connection, harness.api, name) for name in names}
    finally:
        await connection.close()


async def _around(connection: asyncpg.Connection, api: Api, name: str) -> tuple[str, str, int, int]:
    """Return Quire's answer before and after the body's texts, and where its zones begin."""
    answer = api.window(name)  # makes the cut
    zones = await connection.fetchrow(ZONES, DEFAULT_TENANT, name)
    assert zones is not None
    condensed, verbatim, newest = zones
    form = "coalesce(short, view, body)" if condensed < verbatim else "coalesce(view, body)"
    first = await connection.fetchval(TEXTS.format(form), DEFAULT_TENANT, name, condensed)
    last = await connection.fetchval(TEXTS.format("coalesce(view, body)"), DEFAULT_TENANT, name, newest)
    return answer[: answer.index(first)], answer[answer.rindex(last) + len(last) :], condensed, verbatim


@contextmanager
def _serving_quire(harness: Harness, url: str) -> Iterator[dict[str, Server]]:
    """Yield the services to query: the harness's own, and others that embed; without the local model if it is missing."""
    api = {"MEMORY_EMBEDDING_MODEL": MODEL, "MEMORY_EMBEDDING_BASE_URL": url, "MEMORY_EMBEDDING_API_KEY": "none"}
    embedding = {HYBRID: api, LOCAL: {"MEMORY_EMBEDDING_MODEL": ""}}
    if local_embeddings.why_not() is not None:
        del embedding[LOCAL]
    found = {what: harness.quire for what in OPERATIONS if what not in NEW}
    with ExitStack() as stack:
        for what, settings in embedding.items():
            environment = environment_of(harness.postgres, harness.folder) | settings | {"QUIRE_WORKER": "false"}
            found[what] = stack.enter_context(serving(QUIRE, environment, harness.folder, harness.quire.postmaster))
        yield found


def _serving_bare(harness: Harness, known: Known, loop: str = "uvloop") -> AbstractContextManager[Server]:
    arguments = ["-m", "bench.load.bare", harness.postgres.superuser_dsn, _written(harness, known), loop]
    return serving(arguments, {}, harness.folder, harness.quire.postmaster)


def _written(harness: Harness, known: Known) -> str:
    file = harness.folder / "known.json"
    file.write_text(json.dumps(asdict(known)), "utf-8")
    return str(file)


SAME_LEAST = 0.5
"""Part of what the statement finds that Quire answers: it puts people's words before an assistant's replies, by texts
that the yardstick does not read."""


def _require_same(api: Api, quires: Mapping[str, Server], bare: Server, known: Known) -> None:
    """Require the same bytes of windows and archives, and mostly the same memories."""
    for what in ("window", "load"):
        _require_same_bytes(api, bare, _targets(Cell(what, 1, is_bare=True), known))
    yardstick = Api(bare.port)
    for what in ("search", *(what for what in NEW if what in quires)):
        quire = Api(quires[what].port)
        for target in _targets(Cell(what, 1, is_bare=True), known)[: len(QUERIES)]:
            rows, answer = json.loads(yardstick.call("GET", target)), json.loads(quire.call("GET", target))
            both = {row["id"] for row in rows} & {result["memory_key"] for result in answer["results"]}
            if len(both) < SAME_LEAST * max(1, len(rows)):
                raise RuntimeError(f"the yardstick finds other memories than Quire for {target}")
        quire.close()
    yardstick.close()


def _require_same_bytes(api: Api, server: Server, targets: Sequence[str]) -> None:
    other = Api(server.port)
    for target in targets:
        if other.call("GET", target) != api.call("GET", target):
            raise RuntimeError(f"not the same bytes as Quire's were answered to {target}")
    other.close()


# --- Measuring ---------------------------------------------------------------------------------------


def _measure(harness: Harness, quires: Mapping[str, Server], bare: Server, known: Known, plan: Plan) -> Found:
    """Measure in turns, after one unmeasured request to each conversation."""
    found = {
        Cell(what, clients, is_bare=is_bare): Side()
        for what in quires
        for clients in CLIENTS
        for is_bare in (True, False)
    }
    asked: Counter[tuple[str, bool]] = Counter()
    for cell in found:
        if cell.clients == CONVERSATIONS:
            server = bare if cell.is_bare else quires[cell.what]
            harness.clients.run(replace(job(server.port, cell, known, plan.seconds), requests=1))
            asked[cell.what, cell.is_bare] = cell.clients
    for turn in range(plan.rounds):
        for cell in list(found) if turn % 2 else reversed(list(found)):
            server = bare if cell.is_bare else quires[cell.what]
            before = server.cpu()
            begin = asked[cell.what, cell.is_bare]
            outcome = harness.clients.run(job(server.port, cell, known, plan.seconds, begin))
            found[cell].cpu += server.cpu() - before
            found[cell].outcomes.append(outcome)
            asked[cell.what, cell.is_bare] += len(outcome.latencies)
    return found


def table(found: Found, size: int, plan: Plan, local_seconds: float | None) -> Table:
    """``local_seconds``: CPU for the vector of a query by the local model; None where that is not installed."""
    rows: list[Sequence[str]] = []
    by_cpu: dict[int, list[float | None]] = {clients: [] for clients in CLIENTS}
    rates: dict[str, list[tuple[float, float]]] = {cell.what: [] for cell in found}
    for what in OPERATIONS:
        for clients in CLIENTS:
            if Cell(what, clients, is_bare=True) not in found:
                rows.append((what, str(clients), "not installed", *["–"] * 7))
                by_cpu[clients].append(None)
                continue
            bare, quire = (found[Cell(what, clients, is_bare=is_bare)] for is_bare in (True, False))
            share = bare.cpu_each.total / quire.cpu_each.total
            cells = (*_side(bare), *_side(quire), f"{quire.rate / bare.rate:.2f}", f"{share:.2f}")
            rows.append((what, str(clients), *cells))
            by_cpu[clients].append(share)
            rates[what].append((clients, quire.rate))
    took = "" if local_seconds is None else f", which by itself takes {milliseconds(local_seconds)} ms CPU for a query"
    return Table(
        "Overhead",
        (
            "request", "clients", "bare: requests/s", "CPU ms: server", "PostgreSQL",
            "Quire: requests/s", "CPU ms: server", "PostgreSQL", "of bare", "of bare by CPU",
        ),
        rows,
        (
            (
                f"{CONVERSATIONS} conversations of at least {plan.messages} messages; a window has {size:,} bytes; an append has "
                f"two messages. Searches have two words, each in about half of one user's {plan.memories:,} memories. Loads read "
                f"{RANGE:,} characters of an archive of {ARCHIVE:,}. Medians of {plan.rounds} rounds of {plan.seconds:g} s."
            ),
            (
                f"Search: keyword. Hybrid: keyword and semantic, {DIMENSIONS} dimensions, every query new; the bare handler "
                "has the vector in advance, Quire gets it from a fake API on loopback whose CPU is not counted. Hybrid, local: "
                f"vectors from Quire's local model{took}. Quire caches the vectors of repeated queries."
            ),
            (
                f"Goals: at least {GOAL} of the bare handler's requests/s; a search within twice the CPU of its bare "
                "statement. (The bare handler returns no texts with a search.)"
            ),
        ),
        (
            Bars(
                "overhead", "What a bare handler takes of Quire's CPU", "of bare, by CPU", OPERATIONS,
                {_clients(clients): shares for clients, shares in by_cpu.items()}, goal=GOAL,
            ),
            Lines("clients", "Requests a second by the number of clients", "clients", "requests/s", rates, log_y=True),
        ),
    )  # fmt: skip


# --- The event loop ----------------------------------------------------------------------------------


def _measured_loops(harness: Harness, known: Known, plan: Plan) -> dict[Way, Side]:
    """Measure windows in all ways, in turns."""
    cell = Cell("window", LOOP_CLIENTS, is_bare=True)
    with ExitStack() as stack:
        each = dict.fromkeys(way[:3] for way in _there())
        started = {one: stack.enter_context(_served(harness, known, *one)) for one in each}
        servers = {way: started[way[:3]] for way in _there()}
        found = {way: Side() for way in servers}
        for server in servers.values():
            _require_same_bytes(harness.api, server, _targets(cell, known))
            harness.clients.run(replace(job(server.port, cell, known, plan.seconds), requests=10))
        for turn in range(plan.rounds):
            for way in list(servers) if turn % 2 else reversed(list(servers)):
                server = servers[way]
                before = server.cpu()
                asked = replace(job(server.port, cell, known, plan.seconds), **SENDING[way.sending])
                found[way].outcomes.append(harness.clients.run(asked))
                found[way].cpu += server.cpu() - before
    return found


def _there() -> list[Way]:
    return [way for way in WAYS if way.server != "Granian" or find_spec("granian")]


def _served(harness: Harness, known: Known, app: str, server: str, loop: str) -> AbstractContextManager[Server]:
    if (app, server) == ("bare", "uvicorn"):
        return _serving_bare(harness, known, loop)
    of_bare = (harness.postgres.superuser_dsn, _written(harness, known)) if app == "bare" else ()
    arguments = QUIRE if server == "uvicorn" else ("-m", "bench.load.under_granian", *of_bare)
    environment = environment_of(harness.postgres, harness.folder) | {"QUIRE_WORKER": "false"}
    return serving(arguments, environment, harness.folder, harness.quire.postmaster)


def loops_table(found: Mapping[Way, Side]) -> Table:
    rows: list[Sequence[str]] = []
    for way in WAYS:
        if way not in found:
            rows.append((*way, "not installed", *["–"] * 4))
            continue
        side, first = found[way], found[next(one for one in WAYS if one.app == way.app)]
        shares = f"{side.rate / first.rate:.2f}", f"{first.cpu_each.total / side.cpu_each.total:.2f}"
        rows.append((*way, *_side(side), *shares))
    granian = (
        f"Granian {version('granian')}" if find_spec("granian") else "Granian, where `pip install granian` was run"
    )
    return Table(
        "Event loop and server",
        (
            "windows of",
            "server",
            "loop",
            "sent",
            "requests/s",
            "CPU ms: server",
            "PostgreSQL",
            "of the first",
            "by CPU",
        ),
        rows,
        (
            (
                f"{LOOP_CLIENTS} clients. Of the first: relative to uvicorn on uvloop, which serves Quire. Uvicorn parses "
                f"with httptools. 8 at once: before a client reads their answers (pipelining). {granian}: one worker, HTTP/1.1; its CPU includes all processes and threads. Under "
                "Granian, Quire lacks the deadlines for clients that send or read too slowly."
            ),
        ),
    )


def _side(side: Side) -> tuple[str, str, str]:
    return f"{side.rate:,.0f}", milliseconds(side.cpu_each.server), milliseconds(side.cpu_each.postgres)


def _clients(count: int) -> str:
    return "1 client" if count == 1 else f"{count} clients"
