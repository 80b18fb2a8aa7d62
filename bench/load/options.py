"""The cost of an operator's options: an append or a window with each of them and without, and an idle service
with one tenant and with a thousand.

All sides take turns at short blocks of requests, each with conversations of its own. The servers are started anew
several times, since two of a kind differ by as much as an option costs. One side is a server of the same kind: how far
its ratio is from one tells what the others are worth.

The service with a worker numbers and posts its events to a receiver here; the others are the API alone. An idle service
does its housekeeping once a minute, so it is looked at for a minute.
"""

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from math import sqrt
from statistics import median
from threading import Thread

import asyncpg

from app.core.edge.credentials import Credentials
from app.ids import uuid7
from app.postgres.tenants import DEFAULT_TENANT
from bench.clients import Job
from bench.harness import QUIRE, Api, Cpu, Harness, Server, environment_of, serving, settled
from bench.load.blocks import bodies, build
from bench.load.paired import CLIENTS, MESSAGES
from bench.load.sizes import until_idle
from bench.tables import Table, milliseconds

REQUESTS = 14
"""The number of a client's appends in a block: as many as fit between two cuts."""
WINDOWS = 56
TENANTS = 1_000
IDLE_SECONDS = 60
KNOWN_SECONDS = 1.1
"""The seconds after which a service knows whether events are on."""
NEW_TENANT = "INSERT INTO tenants (tenant_id, name) VALUES ($1, 'bench') ON CONFLICT DO NOTHING"
NEW_TENANTS = """
INSERT INTO tenants (tenant_id, name, events)
SELECT gen_random_uuid(), 'idle-' || n, $2 FROM generate_series(2, $1::int) AS n
"""
NO_TENANTS = "DELETE FROM tenants WHERE name LIKE 'idle-%'"
EVENTS = "UPDATE tenants SET events = $2 WHERE tenant_id = $1"


@dataclass(frozen=True, eq=False)
class Side:
    """Requests with an option, or without one."""

    name: str
    settings: dict[str, str] = field(default_factory=dict)
    headers: str = ""
    has_events: bool = False
    kinds: tuple[str, ...] = ("append",)


@dataclass(frozen=True)
class Serving:
    side: Side
    server: Server
    names: Sequence[str]
    """The side's conversations."""


PLAIN, SAME = "none", "none, again"
KEY = Credentials(DEFAULT_TENANT, uuid7(), "5e" * 32)
NEW_KEY = "INSERT INTO keys (tenant_id, id, digest, name, scopes) VALUES ($1, $2, $3, 'bench', '{read,write}')"
"""Inserts a key without the mark by which everybody needs one after the first."""
BOTH = ("append", "window")
ALONE = (
    Side(PLAIN, kinds=BOTH),
    Side(SAME, kinds=BOTH),
    Side("QUIRE_MASKS=all", {"QUIRE_MASKS": "all"}),
    Side("QUIRE_AUDIT=true", {"QUIRE_AUDIT": "true"}, kinds=BOTH),
    Side("an API key", headers=f"Authorization: Bearer {KEY.reveal()}\r\n", kinds=BOTH),
    Side("events", has_events=True),
)
WITH_WORKER = tuple(
    Side(name, has_events=on, kinds=("append, with a worker",))
    for name, on in ((PLAIN, False), (SAME, False), ("a webhook", True))
)
Costs = dict[tuple[str, str], list[float]]
"""CPU seconds of a request in each turn, by kind of request and name of the side."""


def run(harness: Harness, *, quick: bool) -> list[Table]:
    rounds, turns, turns_with_worker = (1, 4, 2) if quick else (4, 24, 6)
    names = {side: _built(harness, f"options-{number}") for number, side in enumerate((*ALONE, *WITH_WORKER))}
    asyncio.run(_execute(harness, NEW_TENANT, DEFAULT_TENANT))
    asyncio.run(_execute(harness, NEW_KEY, KEY.tenant, KEY.id, KEY.digest))
    harness.analyze()
    found: Costs = {}
    for round_ in range(rounds):
        with ExitStack() as stack:
            each = [Serving(side, _served(harness, stack, **side.settings), names[side]) for side in ALONE]
            _measure(harness, each, found, range(round_ * turns - 1, (round_ + 1) * turns))
    asyncio.run(_execute(harness, "DELETE FROM work"))  # which nobody has done
    with ExitStack() as stack:
        receiver = stack.enter_context(_receiver())
        server = _served(harness, stack, QUIRE_WORKER="true", QUIRE_WEBHOOK_PRIVATE_ADDRESSES="true")
        with closing(Api(server.port)) as api:
            api.call("POST", "/webhooks", {"url": f"http://127.0.0.1:{receiver.server_address[1]}/", "types": []})
        _switch(harness, is_on=False)
        each = [Serving(side, server, names[side]) for side in WITH_WORKER]
        _measure(harness, each, found, range(-1, rounds * turns_with_worker))
    sides = [side for side in (*ALONE, *WITH_WORKER) if side.name != PLAIN]
    rows = [_row(kind, side.name, found) for side in sides for kind in side.kinds]
    notes = [
        (
            f"{CLIENTS} clients, full windows, two messages in an append. CPU of Quire and PostgreSQL, in turns at blocks"
            f" of {CLIENTS * REQUESTS} appends or {CLIENTS * WINDOWS} windows, {rounds} times with new servers; with a"
            " worker, its jobs included: events are numbered and posted. Ratio: medians of the differences and of the"
            " cost without. Nothing is different in `none, again`."
        ),
        "Goals: masks at most 1.05 of an append, events and log 1.03.",
    ]
    columns = ("request", "with", "turns", "without ms", "more ms", "ratio", "95 %")
    return [Table("What an operator's options cost", columns, rows, notes), _idle(harness, 1 if quick else 3)]


def _built(harness: Harness, name: str) -> list[str]:
    names = [f"{name}-{number}" for number in range(CLIENTS)]
    for seed, one in enumerate(names):
        build(harness.api, one, MESSAGES, seed)
    return names


def _served(harness: Harness, stack: ExitStack, **settings: str) -> Server:
    environment = environment_of(harness.postgres, harness.folder) | {"QUIRE_WORKER": "false"} | settings
    return stack.enter_context(serving(QUIRE, environment, harness.folder, harness.quire.postmaster))


class _Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the library's
        pass


@contextmanager
def _receiver() -> Iterator[ThreadingHTTPServer]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Receiver) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def _switch(harness: Harness, *, is_on: bool) -> None:
    asyncio.run(_execute(harness, EVENTS, DEFAULT_TENANT, is_on))
    time.sleep(KNOWN_SECONDS)


async def _execute(harness: Harness, statement: str, *values: object) -> None:
    connection = await asyncpg.connect(harness.postgres.superuser_dsn)
    await connection.execute(statement, *values)
    await connection.close()


def _measure(harness: Harness, each: Sequence[Serving], found: Costs, turns: range) -> None:
    """Let the sides alternate, in reversed order each time. The first turn warms them up."""
    for turn in turns:
        for one in each[:: 1 if turn % 2 else -1]:
            if one.side.has_events:
                _switch(harness, is_on=True)
            for kind in one.side.kinds:
                cost = _cost(harness, one, kind, turn)
                if turn > turns.start:
                    found.setdefault((kind, one.side.name), []).append(cost)
            if one.side.has_events:
                _switch(harness, is_on=False)


def _cost(harness: Harness, one: Serving, kind: str, turn: int) -> float:
    has_worker = "worker" in kind
    begun = settled(one.server).total
    sent = harness.clients.run(_job(one, kind, turn)).latencies
    if has_worker:
        time.sleep(KNOWN_SECONDS)  # until what was told is numbered
        until_idle(harness.api)
    return (settled(one.server).total - begun) / len(sent)


def _job(one: Serving, kind: str, turn: int) -> Job:
    port, headers = one.server.port, one.side.headers
    if kind == "window":
        targets = [f"/conversations/{name}/context" for name in one.names]
        return Job(port, "GET", targets, clients=CLIENTS, requests=WINDOWS, headers=headers)
    targets = [f"/conversations/{name}/messages" for name in one.names]
    return Job(port, "POST", targets, bodies(turn), clients=CLIENTS, requests=REQUESTS, headers=headers)


def _row(kind: str, name: str, found: Costs) -> list[str]:
    """Return the median of the differences, with its 95 % interval."""
    without = found[kind, PLAIN]
    more = sorted(having - plain for having, plain in zip(found[kind, name], without, strict=True))
    half = 0.98 * sqrt(len(more))
    ends = more[max(0, round(len(more) / 2 - half))], more[min(len(more) - 1, round(len(more) / 2 + half))]
    middle = median(without)
    low, ratio, high = (f"{1 + one / middle:.3f}" for one in (ends[0], median(more), ends[1]))
    return [kind, name, str(len(more)), milliseconds(middle), milliseconds(median(more)), ratio, f"{low}–{high}"]


def _idle(harness: Harness, rounds: int) -> Table:
    sides = {"1": None, f"{TENANTS:,}": False, f"{TENANTS:,} with events on": True}
    found: dict[str, list[Cpu]] = {name: [] for name in sides}
    for turn in range(rounds):
        for name, events in sorted(sides.items(), reverse=bool(turn % 2)):
            asyncio.run(_execute(harness, NO_TENANTS))
            if events is not None:
                asyncio.run(_execute(harness, NEW_TENANTS, TENANTS, events))
            harness.analyze()
            with ExitStack() as stack:
                server = _served(harness, stack, QUIRE_WORKER="true")
                time.sleep(IDLE_SECONDS / 6)  # until what a start does is done
                begun = server.cpu()
                time.sleep(IDLE_SECONDS)
                found[name].append(server.cpu() - begun)
    rows = [_idle_row(name, cpus, found["1"]) for name, cpus in found.items()]
    columns = ("tenants", "ms CPU a second: server", "PostgreSQL", "more than with one")
    note = f"Medians of {rounds} turns of {IDLE_SECONDS} s. Goal: at most 10 ms a second more."
    return Table("An idle service", columns, rows, [note])


def _idle_row(name: str, cpus: list[Cpu], least: list[Cpu]) -> list[str]:
    server, postgres = (
        sorted(side)[len(side) // 2] for side in zip(*((c.server, c.postgres) for c in cpus), strict=True)
    )
    more = sorted(one.total - other.total for one, other in zip(cpus, least, strict=True))[len(cpus) // 2]
    each = [f"{1000 * seconds / IDLE_SECONDS:.1f}" for seconds in (server, postgres, more)]
    return [name, *each[:2], each[2] if cpus is not least else ""]
