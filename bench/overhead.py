"""What Quire adds: its requests against a bare handler that reads and writes the same rows.

A window is asked for again and again as it is, and in a turn after each append. (The bare handler's turns go on reading
the window that they began with.) A search is by keywords, in the memories of one user; a load takes a range of a large
archive.

Quire and the yardstick take turns, with the same clients, PostgreSQL and bytes (`bench.bare` says what it leaves out).
"""

from __future__ import annotations

import asyncio
import json
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, dataclass, field, replace
from statistics import median

import asyncpg

from app.tenancy import DEFAULT_TENANT
from bench import filling
from bench.bare import Known
from bench.cost import BUDGET, bodies, build
from bench.filling import Copies
from bench.house import Api, Cpu, House, Server, serving
from bench.load import Job, Outcome
from bench.plots import Bars, Lines
from bench.sizes import long_text
from bench.tables import Table, milliseconds
from bench.words import QUERIES, searches

CLIENTS = (1, 8, 32)
OPERATIONS = ("window", "append", "turn", "search", "load")
MESSAGES = 400
CONVERSATIONS = max(CLIENTS)
LOOPS = ("uvloop", "asyncio")
"""Event loops that uvicorn can run on; Quire runs on the first."""
LOOP_CLIENTS = 8
MEMORIES = 10_000
ARCHIVE, RANGE, RANGES = 1_000_000, 4_000, 16
GOAL = 0.5
ZONES = """
SELECT e.condensed_from, e.verbatim_from FROM conversations c
  JOIN epochs e ON e.tenant_id = c.tenant_id AND e.conversation_id = c.id AND e.number = c.epoch
 WHERE c.tenant_id = $1 AND c.id = $2
"""
TEXTS = "SELECT {} FROM messages WHERE tenant_id = $1 AND conversation_id = $2 AND seq = $3"


@dataclass(frozen=True)
class Plan:
    rounds: int
    seconds: float


FULL, QUICK = Plan(5, 1.8), Plan(2, 0.8)


@dataclass(frozen=True)
class Cell:
    """What is asked, by how many clients, of whom."""

    what: str
    clients: int
    is_bare: bool


@dataclass
class Side:
    """Quire or the yardstick, doing one thing."""

    outcomes: list[Outcome] = field(default_factory=list)
    cpu: Cpu = field(default_factory=lambda: Cpu(0, 0))

    @property
    def rate(self) -> float:
        return median(outcome.rate for outcome in self.outcomes)

    @property
    def cpu_each(self) -> Cpu:
        count = sum(len(outcome.latencies) for outcome in self.outcomes)
        return Cpu(self.cpu.server / count, self.cpu.postgres / count)


def run(house: House, *, quick: bool) -> list[Table]:
    plan = QUICK if quick else FULL
    names, user, uuid = _conversations(house), _memories(house), _archive(house)
    house.analyze()
    known = asyncio.run(_known(house, names, user, uuid))
    with _serving_bare(house, known) as bare:
        _require_same(house.api, bare, known)
        found = _measure(house, bare, known, plan)
    return [_table(found, len(house.api.window(names[0])), plan)]


def run_loops(house: House, *, quick: bool) -> list[Table]:
    """The event loops that uvicorn can run on, under the yardstick's windows."""
    names = [f"loops-{number}" for number in range(LOOP_CLIENTS)]
    for name in names:
        build(house.api, name, MESSAGES)
    house.analyze()
    known = Known(asyncio.run(_windows(house, names)), {}, "", [])
    return [_loops_table(_measured_loops(house, known, QUICK if quick else FULL))]


# --- What is asked -----------------------------------------------------------------------------------


def _conversations(house: House) -> list[str]:
    """Those whose windows are read; Quire and the yardstick have others to append to."""
    template = filling.templates(house, "overhead", 1, MESSAGES)
    read, *written = (Copies(what, template, CONVERSATIONS) for what in ("window", "append", "turn"))
    filling.fill(house, read, *written)
    names = [read.conversation(number) for number in range(CONVERSATIONS)]
    for name in names:
        house.api.create(f"{name}-bare", BUDGET)
    return names


def _memories(house: House) -> str:
    """A user with so many of them."""
    copies = filling.memories(house, "searched", MEMORIES)
    filling.fill(house, copies)
    return copies.user(0)


def _archive(house: House) -> str:
    body = {"user_id": "overhead", "tool_name": "dump", "result": long_text(ARCHIVE)}
    return str(json.loads(house.api.call("POST", "/archive", body))["uuid"])


def _searches(known: Known) -> list[str]:
    return searches([known.user] * len(known.queries))


def _loads(uuid: str) -> list[str]:
    return [f"/archive/{uuid}?offset={ARCHIVE // RANGES * n}&length={RANGE}" for n in range(RANGES)]


def _job(port: int, cell: Cell, known: Known, seconds: float) -> Job:
    targets = _targets(cell, known)
    sent = bodies(0) if cell.what in ("append", "turn") else []
    return Job(port, "POST" if sent else "GET", targets, sent, clients=cell.clients, seconds=seconds)


def _targets(cell: Cell, known: Known) -> list[str]:
    match cell.what:
        case "window":
            return [f"/conversations/{name}/context" for name in known.windows]
        case "search":
            return _searches(known)
        case "load":
            return _loads(*known.archives)
        case what:
            names = [f"{name}-bare" if cell.is_bare else f"{what}-{n}" for n, name in enumerate(known.windows)]
            query = "?include=context" if what == "turn" else ""
            return [f"/conversations/{name}/messages{query}" for name in names]


# --- The yardstick -----------------------------------------------------------------------------------


async def _known(house: House, names: list[str], user: str, uuid: str) -> Known:
    windows = await _windows(house, names)
    answer = house.api.call("GET", _loads(uuid)[0])
    mark = '"content":'
    return Known(windows, {uuid: answer[: answer.index(mark) + len(mark)]}, user, list(QUERIES))


async def _windows(house: House, names: list[str]) -> dict[str, tuple[str, str, int, int]]:
    connection = await asyncpg.connect(house.postgres.superuser_dsn)
    try:
        return {name: await _around(connection, house.api, name) for name in names}
    finally:
        await connection.close()


async def _around(connection: asyncpg.Connection, api: Api, name: str) -> tuple[str, str, int, int]:
    """Quire's answer before and after the body's texts, and where its zones begin."""
    zones = await connection.fetchrow(ZONES, DEFAULT_TENANT, name)
    assert zones is not None
    condensed, verbatim = zones
    form = "coalesce(short, view, body)" if condensed < verbatim else "coalesce(view, body)"
    first = await connection.fetchval(TEXTS.format(form), DEFAULT_TENANT, name, condensed)
    last = await connection.fetchval(TEXTS.format("coalesce(view, body)"), DEFAULT_TENANT, name, MESSAGES)
    answer = api.window(name)
    return answer[: answer.index(first)], answer[answer.rindex(last) + len(last) :], condensed, verbatim


def _serving_bare(house: House, known: Known, loop: str = LOOPS[0]) -> AbstractContextManager[Server]:
    file = house.folder / "known.json"
    file.write_text(json.dumps(asdict(known)), "utf-8")
    arguments = ["-m", "bench.bare", house.postgres.superuser_dsn, str(file), loop]
    return serving(arguments, {}, house.folder, house.quire.postmaster)


def _require_same(api: Api, bare: Server, known: Known) -> None:
    """The same bytes of windows and archives, and the same memories found."""
    yardstick = Api(bare.port)
    for target in (target for what in ("window", "load") for target in _targets(Cell(what, 1, is_bare=True), known)):
        if yardstick.call("GET", target) != api.call("GET", target):
            raise RuntimeError(f"the yardstick answers other bytes than Quire to {target}")
    for target in _searches(known):
        rows, answer = json.loads(yardstick.call("GET", target)), json.loads(api.call("GET", target))
        if not rows or [row["id"] for row in rows] != [result["memory_key"] for result in answer["results"]]:
            raise RuntimeError(f"the yardstick finds other memories than Quire for {target}")
    yardstick.close()


# --- Measuring ---------------------------------------------------------------------------------------


def _measure(house: House, bare: Server, known: Known, plan: Plan) -> dict[Cell, Side]:
    """By turns, after one request to each conversation that is not counted."""
    found = {
        Cell(what, clients, is_bare=is_bare): Side()
        for what in OPERATIONS
        for clients in CLIENTS
        for is_bare in (True, False)
    }
    for cell in found:
        if cell.clients == CONVERSATIONS:
            house.clients.run(replace(_job(_server(house, bare, cell).port, cell, known, plan.seconds), requests=1))
    for turn in range(plan.rounds):
        for cell in list(found) if turn % 2 else reversed(list(found)):
            server = _server(house, bare, cell)
            before = server.cpu()
            found[cell].outcomes.append(house.clients.run(_job(server.port, cell, known, plan.seconds)))
            found[cell].cpu += server.cpu() - before
    return found


def _server(house: House, bare: Server, cell: Cell) -> Server:
    return bare if cell.is_bare else house.quire


def _table(found: dict[Cell, Side], size: int, plan: Plan) -> Table:
    rows = []
    by_cpu: dict[int, list[float | None]] = {clients: [] for clients in CLIENTS}
    rates: dict[str, list[tuple[float, float]]] = {what: [] for what in OPERATIONS}
    for what in OPERATIONS:
        for clients in CLIENTS:
            bare, quire = (found[Cell(what, clients, is_bare=is_bare)] for is_bare in (True, False))
            share = bare.cpu_each.total / quire.cpu_each.total
            cells = (*_side(bare), *_side(quire), f"{quire.rate / bare.rate:.2f}", f"{share:.2f}")
            rows.append((what, str(clients), *cells))
            by_cpu[clients].append(share)
            rates[what].append((clients, quire.rate))
    return Table(
        "Overhead",
        (
            "request", "clients", "bare: requests/s", "CPU ms: server", "PostgreSQL",
            "Quire: requests/s", "CPU ms: server", "PostgreSQL", "of bare", "of bare by CPU",
        ),
        rows,
        (
            (
                f"{CONVERSATIONS} conversations of {MESSAGES} messages and more, a window of {size:,} bytes, a pair of "
                f"messages in an append; two words searched for in {MEMORIES:,} memories of one user, each in about half "
                f"of them; {RANGE:,} characters of an archive of {ARCHIVE:,}. {plan.rounds} rounds of {plan.seconds:g} s "
                "each, medians."
            ),
            (
                f"Goal: at least {GOAL} of the bare handler's requests/s; a search, which the bare handler leaves without "
                "its texts, within twice the CPU of its statement alone, which is the same."
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


def _measured_loops(house: House, known: Known, plan: Plan) -> dict[str, Side]:
    """The yardstick's windows, on one loop and the other by turns."""
    cell = Cell("window", LOOP_CLIENTS, is_bare=True)
    found = {loop: Side() for loop in LOOPS}
    with ExitStack() as stack:
        servers = {loop: stack.enter_context(_serving_bare(house, known, loop)) for loop in LOOPS}
        for server in servers.values():
            house.clients.run(replace(_job(server.port, cell, known, plan.seconds), requests=10))
        for turn in range(plan.rounds):
            for loop in LOOPS if turn % 2 else reversed(LOOPS):
                server = servers[loop]
                before = server.cpu()
                found[loop].outcomes.append(house.clients.run(_job(server.port, cell, known, plan.seconds)))
                found[loop].cpu += server.cpu() - before
    return found


def _loops_table(found: dict[str, Side]) -> Table:
    first = found[LOOPS[0]]
    rows = [
        (loop, *_side(side), f"{side.rate / first.rate:.2f}", f"{first.cpu_each.total / side.cpu_each.total:.2f}")
        for loop, side in found.items()
    ]
    return Table(
        "Event loop",
        ("loop", "requests/s", "CPU ms: server", "PostgreSQL", f"of {LOOPS[0]}", "by CPU"),
        rows,
        (f"Windows of the bare handler under uvicorn with httptools, {LOOP_CLIENTS} clients.",),
    )


def _side(side: Side) -> tuple[str, str, str]:
    return f"{side.rate:,.0f}", milliseconds(side.cpu_each.server), milliseconds(side.cpu_each.postgres)


def _clients(count: int) -> str:
    return "1 client" if count == 1 else f"{count} clients"
