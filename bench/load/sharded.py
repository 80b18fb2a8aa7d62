"""The cost of a turn on Citus beside plain PostgreSQL: the CPU and the statements of each server.

`python -m bench.load.sharded URL` prints it; the URL is the coordinator's, of its superuser. All nodes must run on this
machine, and the database must be of tests alone: what it holds stays. The engines take turns.
"""

import asyncio
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import asyncpg
import click
import psutil
from rich.console import Console

from app.postgres import migrate
from bench import harness, tables
from bench.clients import Job
from bench.harness import QUIRE, Api, Harness, cpu_of, environment_of, serving
from bench.load.blocks import bodies, build
from bench.tables import Table

MESSAGES, REQUESTS = 400, 28
"""The messages of a conversation with a full window, and the requests of turns that take two cuts."""
LOG = "ALTER ROLE quire_app {} log_min_duration_statement"
LOGGED = (b" ms  statement: ", b" ms  execute ")
Run = Callable[[int], Counter[str]]
"""Send turns; return the CPU seconds of each process."""


@dataclass(frozen=True)
class Engine:
    name: str
    superuser: str
    app: str
    servers: dict[str, psutil.Process]
    cpu: Counter[str] = field(default_factory=Counter)
    statements: Counter[str] = field(default_factory=Counter)

    def ask(self, sql: str) -> list[asyncpg.Record]:
        async def connect_and_ask() -> list[asyncpg.Record]:
            connection = await asyncpg.connect(self.superuser)
            found = await connection.fetch(sql)
            await connection.close()
            return found

        return asyncio.run(connect_and_ask())

    def logged(self) -> Counter[str]:
        """Count the statements in each server's log."""
        logs = {name: Path(f"/proc/{one.pid}/fd/2").readlink() for name, one in self.servers.items()}
        return Counter({name: sum(map(log.read_bytes().count, LOGGED)) for name, log in logs.items()})


def citus(url: str) -> Engine:
    migrate.upgrade(url.replace("//postgres", "//quire_owner", 1))
    engine = Engine("Citus", url, url.replace("//postgres", "//quire_app", 1), {})
    listening = {
        getattr(one.laddr, "port", 0): one.pid for one in psutil.net_connections("tcp") if one.status == "LISTEN"
    }
    for row in engine.ask("SELECT groupid, nodeport FROM pg_dist_node ORDER BY groupid"):
        name = f"node {row['groupid']}" if row["groupid"] else "coordinator"
        engine.servers[name] = psutil.Process(listening[row["nodeport"]])
    return engine


@contextmanager
def turns(opened: Harness, engine: Engine) -> Iterator[Run]:
    environment = environment_of(opened.postgres, opened.folder) | {"DATABASE_URL": engine.app, "QUIRE_WORKER": "false"}
    with serving(QUIRE, environment, opened.folder, opened.quire.postmaster) as server:
        conversation = f"sharded-{uuid4()}"
        api = Api(server.port)
        build(api, conversation, MESSAGES, 1)
        api.close()
        target = f"/conversations/{conversation}/messages?include=context"

        def used() -> Counter[str]:
            each = {name: cpu_of(server.process, one).postgres for name, one in engine.servers.items()}
            return Counter({"Quire": server.cpu().server, **each})

        def run(seed: int) -> Counter[str]:
            before = used()
            opened.clients.run(Job(server.port, "POST", [target], bodies(seed), requests=REQUESTS))
            return used() - before

        yield run


@click.command()
@click.argument("url")
@click.option("--rounds", default=10, show_default=True)
def main(url: str, rounds: int) -> None:
    """Compare Citus, of which URL names the coordinator, with plain PostgreSQL."""
    with harness.opened({"QUIRE_WORKER": "false"}) as opened, ExitStack() as stack:
        server = opened.postgres
        plain = Engine("plain", server.superuser_dsn, server.app_dsn, {"PostgreSQL": opened.quire.postmaster})
        runs = {engine.name: (engine, stack.enter_context(turns(opened, engine))) for engine in (plain, citus(url))}
        for turn in range(-1, rounds):  # the first warms both up
            for engine, run in list(runs.values())[:: 1 if turn % 2 else -1]:
                used = run(turn + 1)
                if turn >= 0:
                    engine.cpu.update(used)
        for engine, _ in runs.values():
            engine.ask(LOG.format("SET") + " = 0")
            with turns(opened, engine) as run:
                before = engine.logged()
                run(0)
                engine.statements.update(engine.logged() - before)
            engine.ask(LOG.format("RESET"))
        rows = [
            (one.name, name, f"{1000 * one.cpu[name] / rounds / REQUESTS:.2f}", f"{one.statements[name] / REQUESTS:.1f}")
            for one, _ in runs.values() for name in ("Quire", *one.servers)
        ]  # fmt: skip
        tables.show(Console(), Table("A turn", ["engine", "process", "CPU ms a turn", "statements a turn"], rows, []))


if __name__ == "__main__":
    sys.exit(main())
