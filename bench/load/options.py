"""What an operator's options cost: an append or a window with each of them beside the same without, in turns, and an
idle service with one tenant and with a thousand.

The service with a worker numbers and posts its events to a receiver here; the others are the API alone. An idle service
does its housekeeping once a minute, so it is looked at for a minute.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from statistics import mean, quantiles
from threading import Thread

import asyncpg

from app.postgres.tenants import DEFAULT_TENANT
from bench.clients import Job
from bench.harness import QUIRE, Api, Cpu, Harness, Server, environment_of, serving
from bench.load.cost import bodies, build
from bench.load.paired import CLIENTS, MESSAGES, REQUESTS, settled
from bench.load.sizes import until_idle
from bench.tables import Table, milliseconds

TENANTS = 1_000
IDLE_SECONDS = 60
KNOWN_SECONDS = 1.1
"""After which a service knows whether events are on."""
NEW_TENANTS = """
INSERT INTO tenants (tenant_id, name, events)
SELECT gen_random_uuid(), 'idle-' || n, $2 FROM generate_series(2, $1::int) AS n
"""
NO_TENANTS = "DELETE FROM tenants WHERE name LIKE 'idle-%'"
EVENTS = "UPDATE tenants SET events = $2 WHERE tenant_id = $1"


@dataclass(frozen=True)
class Option:
    name: str
    kind: str
    """What is requested: `append` or `window`."""
    plain: Server
    having: Server
    """The one that has the option: the same where ``switch`` turns it on and off."""
    switch: Callable[[bool], None] = lambda _: None
    has_worker: bool = False


def run(harness: Harness, *, quick: bool) -> list[Table]:
    pairs = 4 if quick else 20
    names = [f"options-{number}" for number in range(CLIENTS)]
    for seed, name in enumerate(names):
        build(harness.api, name, MESSAGES, seed)
    harness.analyze()
    with ExitStack() as stack:
        rows = [_row(option, _ratios(harness, option, names, pairs)) for option in _options(harness, stack)]
    notes = [
        (
            f"{CLIENTS} clients, full windows, two messages in an append; {pairs} pairs of turns of {CLIENTS * REQUESTS}"
            " requests. CPU of Quire and PostgreSQL; with a worker, its jobs included: events are numbered and posted."
        ),
        "Goals: masks at most 1.05 of an append, events and log 1.03.",
    ]
    columns = ("request, with", "without ms", "with ms", "ratio", "quartiles")
    return [Table("What an operator's options cost", columns, rows, notes), _idle(harness, 1 if quick else 3)]


def _options(harness: Harness, stack: ExitStack) -> Iterator[Option]:
    """Yield the options, the one with a worker last: it does the jobs that the others leave."""
    served, switch = partial(_served, harness, stack), partial(_switch, harness)
    plain, audit = served(), served(QUIRE_AUDIT="true")
    yield Option("append, QUIRE_MASKS=all", "append", plain, served(QUIRE_MASKS="all"))
    yield Option("append, QUIRE_AUDIT=true", "append", plain, audit)
    yield Option("window, QUIRE_AUDIT=true", "window", plain, audit)
    yield Option("append, events", "append", plain, plain, switch)
    worker = served(QUIRE_WORKER="true", QUIRE_WEBHOOK_PRIVATE_ADDRESSES="true")
    receiver = stack.enter_context(_receiver())
    with closing(Api(worker.port)) as api:
        api.call("POST", "/webhooks", {"url": f"http://127.0.0.1:{receiver.server_address[1]}/", "types": []})
    yield Option("append, a webhook", "append", worker, worker, switch, has_worker=True)


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


def _switch(harness: Harness, is_on: bool) -> None:
    asyncio.run(_execute(harness, EVENTS, DEFAULT_TENANT, is_on))
    time.sleep(KNOWN_SECONDS)


async def _execute(harness: Harness, statement: str, *values: object) -> None:
    connection = await asyncpg.connect(harness.postgres.superuser_dsn)
    await connection.execute(statement, *values)
    await connection.close()


def _ratios(harness: Harness, option: Option, names: list[str], pairs: int) -> list[tuple[float, float]]:
    """Return the CPU seconds of a request without the option and with it, by turn; the first warms both up."""
    found = []
    for turn in range(-1, pairs):
        cpu = {}
        for is_on in (False, True) if turn % 2 else (True, False):
            option.switch(is_on)
            server = option.having if is_on else option.plain
            harness.clients.run(_job(server, option.kind, names, turn, requests=1))
            if option.has_worker:
                until_idle(harness.api)
            begun = settled(server)
            sent = harness.clients.run(_job(server, option.kind, names, turn, requests=REQUESTS)).latencies
            if option.has_worker:
                time.sleep(KNOWN_SECONDS)  # until what was told is numbered
                until_idle(harness.api)
            cpu[is_on] = (settled(server) - begun) / len(sent)
        found.append((cpu[False], cpu[True]))
    option.switch(False)
    return found[1:]


def _job(server: Server, kind: str, names: list[str], turn: int, requests: int) -> Job:
    if kind == "window":
        targets = [f"/conversations/{name}/context" for name in names]
        return Job(server.port, "GET", targets, clients=CLIENTS, requests=requests * 4)
    targets = [f"/conversations/{name}/messages" for name in names]
    return Job(server.port, "POST", targets, bodies(turn), clients=CLIENTS, requests=requests)


def _row(option: Option, found: list[tuple[float, float]]) -> list[str]:
    low, middle, high = quantiles([having / plain for plain, having in found], n=4)
    without, having = (milliseconds(mean(side)) for side in zip(*found, strict=True))
    return [option.name, without, having, f"{middle:.3f}", f"{low:.3f}–{high:.3f}"]


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
