"""What an API key costs a request: windows and appends with one and without, in turns, at the same server.

The key is put in by hand, without the mark that from the first key on everybody needs one, so that both get in.
"""

import asyncio

import asyncpg

from app.core.edge.credentials import Credentials
from app.ids import uuid7
from app.postgres.tenants import DEFAULT_TENANT
from bench.clients import Job
from bench.harness import Harness
from bench.load.cost import BUDGET, bodies, build
from bench.load.overhead import MESSAGES, Side
from bench.tables import Table, milliseconds

CLIENTS = 8
KEY = Credentials(DEFAULT_TENANT, uuid7(), "5e" * 32)
HEADERS = {"without": "", "with a key": f"Authorization: Bearer {KEY.reveal()}\r\n"}


def run(harness: Harness, *, quick: bool) -> list[Table]:
    rounds, seconds = (3, 1.0) if quick else (8, 3.0)
    asyncio.run(_put_in(harness.postgres.superuser_dsn))
    names = [f"keys-{number}" for number in range(CLIENTS)]
    for name in names:
        build(harness.api, name, MESSAGES)
        for who in ("0", "1"):
            harness.api.create(f"{name}-{who}", BUDGET)
    harness.analyze()
    found = {(what, who): Side() for what in ("window", "append") for who in HEADERS}
    for turn in range(rounds):
        for what, who in sorted(found, reverse=bool(turn % 2)):
            side = found[what, who]
            before = harness.quire.cpu()
            side.outcomes.append(harness.clients.run(_job(harness, what, who, names, seconds)))
            side.cpu += harness.quire.cpu() - before
    return [_table(found, rounds, seconds)]


async def _put_in(dsn: str) -> None:
    connection = await asyncpg.connect(dsn)
    await connection.execute("INSERT INTO tenants (tenant_id, name) VALUES ($1, 'bench')", DEFAULT_TENANT)
    await connection.execute(
        "INSERT INTO keys (tenant_id, id, digest, name, scopes) VALUES ($1, $2, $3, 'bench', '{read,write}')",
        KEY.tenant,
        KEY.id,
        KEY.digest,
    )
    await connection.close()


def _job(harness: Harness, what: str, who: str, names: list[str], seconds: float) -> Job:
    port, headers = harness.quire.port, HEADERS[who]
    if what == "window":
        targets = [f"/conversations/{name}/context" for name in names]
        return Job(port, "GET", targets, clients=CLIENTS, seconds=seconds, headers=headers)
    targets = [f"/conversations/{name}-{int(bool(headers))}/messages" for name in names]
    return Job(port, "POST", targets, bodies(0), clients=CLIENTS, seconds=seconds, headers=headers)


def _table(found: dict[tuple[str, str], Side], rounds: int, seconds: float) -> Table:
    rows = []
    for (what, who), side in found.items():
        cpu, without = side.cpu_each, found[what, "without"].cpu_each
        more = milliseconds(cpu.total - without.total) if who != "without" else ""
        cells = (milliseconds(cpu.server), milliseconds(cpu.postgres), more)
        rows.append((f"{what}, {who}", f"{side.rate:,.0f}", *cells))
    return Table(
        "What a key costs",
        ("request", "requests/s", "CPU ms: server", "PostgreSQL", "more than without"),
        rows,
        (
            f"{CLIENTS} clients, conversations of {MESSAGES} messages; {rounds} rounds of {seconds:.0f} s each, medians.",
        ),
    )
