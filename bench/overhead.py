"""What Quire adds: its window, its append and both in one against a bare handler that reads and writes the same rows.

A window is asked for again and again as it is, and in a turn after each append. (The bare handler's turns go on reading
the window that they began with.)

Quire and the yardstick take turns, with the same clients, PostgreSQL and bytes (`bench.bare` says what it leaves out).
"""

import asyncio
import json
from dataclasses import dataclass, field
from statistics import median

import asyncpg

from app.tenancy import DEFAULT_TENANT
from bench.cost import BUDGET, bodies, build
from bench.house import Api, Cpu, House, Server, serving
from bench.load import Job, Outcome
from bench.tables import Table, milliseconds

OPERATIONS = ("window", "append", "turn")
CLIENTS = 8
MESSAGES = 400
GOAL = 0.5
ZONES = """
SELECT e.condensed_from, e.verbatim_from FROM conversations c
  JOIN epochs e ON e.tenant_id = c.tenant_id AND e.conversation_id = c.id AND e.number = c.epoch
 WHERE c.tenant_id = $1 AND c.id = $2
"""
TEXTS = "SELECT {} FROM messages WHERE tenant_id = $1 AND conversation_id = $2 AND seq = $3"


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
    rounds, seconds = (3, 1.0) if quick else (8, 3.0)
    names = [f"overhead-{number}" for number in range(CLIENTS)]
    for name in names:
        build(house.api, name, MESSAGES)
    for name in names:
        house.api.create(f"{name}-bare", BUDGET)
        for what in ("append", "turn"):
            build(house.api, f"{name}-{what}", MESSAGES)
    house.analyze()
    around = house.folder / "around.json"
    around.write_text(json.dumps(asyncio.run(_around(house, names))), "utf-8")
    arguments = ["-m", "bench.bare", house.postgres.superuser_dsn, str(around)]
    found = {(what, who): Side() for what in OPERATIONS for who in ("bare", "quire")}
    with serving(arguments, {}, house.folder, house.quire.postmaster) as bare:
        _require_same_bytes(house.api, bare, names)
        for turn in range(rounds):
            for what, who in sorted(found, reverse=bool(turn % 2)):
                server = bare if who == "bare" else house.quire
                _round(house, server, _job(server, what, who, names, seconds), found[what, who])
    return [_table(found, len(house.api.window(names[0])), rounds, seconds)]


async def _around(house: House, names: list[str]) -> dict[str, list[str]]:
    """Of each conversation Quire's answer before and after the body's texts, and where its zones begin."""
    connection = await asyncpg.connect(house.postgres.superuser_dsn)
    found = {}
    for name in names:
        zones = await connection.fetchrow(ZONES, DEFAULT_TENANT, name)
        assert zones is not None
        condensed, verbatim = zones
        form = "coalesce(short, view, body)" if condensed < verbatim else "coalesce(view, body)"
        first = await connection.fetchval(TEXTS.format(form), DEFAULT_TENANT, name, condensed)
        last = await connection.fetchval(TEXTS.format("coalesce(view, body)"), DEFAULT_TENANT, name, MESSAGES)
        answer = house.api.window(name)
        until = answer.rindex(last) + len(last)
        found[name] = [answer[: answer.index(first)], answer[until:], str(condensed), str(verbatim)]
    await connection.close()
    return found


def _require_same_bytes(api: Api, bare: Server, names: list[str]) -> None:
    yardstick = Api(bare.port)
    for name in names:
        if yardstick.window(name) != api.window(name):
            raise RuntimeError("the yardstick answers other bytes than Quire")
    yardstick.close()


def _job(server: Server, what: str, who: str, names: list[str], seconds: float) -> Job:
    if what == "window":
        targets = [f"/conversations/{name}/context" for name in names]
        return Job(server.port, "GET", targets, clients=CLIENTS, seconds=seconds)
    ours = "-bare" if who == "bare" else f"-{what}"
    query = "?include=context" if what == "turn" else ""
    targets = [f"/conversations/{name}{ours}/messages{query}" for name in names]
    return Job(server.port, "POST", targets, bodies(0), clients=CLIENTS, seconds=seconds)


def _round(house: House, server: Server, job: Job, side: Side) -> None:
    before = server.cpu()
    side.outcomes.append(house.clients.run(job))
    side.cpu += server.cpu() - before


def _table(found: dict[tuple[str, str], Side], size: int, rounds: int, seconds: float) -> Table:
    rows = []
    for what in OPERATIONS:
        bare = found[what, "bare"]
        for who in ("bare", "quire"):
            side = found[what, who]
            cpu = side.cpu_each
            cells = (milliseconds(cpu.server), milliseconds(cpu.postgres), f"{side.rate / bare.rate:.2f}")
            rows.append((f"{what}, {who}", f"{side.rate:,.0f}", *cells, f"{bare.cpu_each.total / cpu.total:.2f}"))
    return Table(
        "Overhead",
        ("handler", "requests/s", "CPU ms: server", "PostgreSQL", "of bare", "of bare by CPU"),
        rows,
        (
            (
                f"{CLIENTS} clients, conversations of {MESSAGES} messages and more, a window of {size:,} bytes, a pair of "
                f"messages in an append; {rounds} rounds of {seconds:.0f} s each, medians."
            ),
            f"Goal: at least {GOAL} of the bare handler's requests/s.",
        ),
    )
