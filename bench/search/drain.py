"""How long the local model takes to embed stored messages: `python -m bench.search.drain --messages 10000`.

Messages of made-up English come in as fast as the API takes them, and the jobs of the same process give them vectors.
Measured until nothing waits any more, from outside. The rate hardly depends on the number, so 100,000 take ten times as
long as 10,000; it depends on the length of the texts.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence

import click
from rich.console import Console

from bench import harness, tables
from bench.harness import Cpu, Harness
from bench.tables import Table
from bench.words import history

AT_ONCE, USERS = 200, 20
LOOK_SECONDS = 0.5
WIDTH = 140
"""The width of the terminal."""


@click.command()
@click.option("--messages", default=10_000, show_default=True)
def main(messages: int) -> None:
    """Store MESSAGES and wait until each has a vector."""
    with harness.opened({"MEMORY_EMBEDDING_MODEL": ""}) as opened:
        tables.show(Console(width=WIDTH), run(opened, messages))


def run(opened: Harness, messages: int) -> Table:
    said = history(messages, seed=1)
    begun, cpu = time.monotonic(), opened.quire.cpu()
    for number, some in enumerate(_parts(said)):
        body = {"messages": some, "user_id": f"user-{number % USERS}"}
        opened.api.call("POST", f"/conversations/drain-{number}/messages", body)
    stored = time.monotonic() - begun
    while json.loads(opened.api.call("GET", "/jobs"))["unindexed"]:
        time.sleep(LOOK_SECONDS)
    return _table(messages, stored, time.monotonic() - begun, opened.quire.cpu() - cpu)


def _table(messages: int, stored: float, seconds: float, cpu: Cpu) -> Table:
    rows = [
        ("seconds until stored", f"{stored:.1f}"),
        ("seconds until every message has a vector", f"{seconds:.1f}"),
        ("messages a second", f"{messages / seconds:.0f}"),
        ("ms CPU a message, of Quire", f"{1000 * cpu.server / messages:.1f}"),
        ("ms CPU a message, of PostgreSQL", f"{1000 * cpu.postgres / messages:.1f}"),
    ]
    return Table("Vectors for what is stored, by the local model", (f"{messages:,} messages", ""), rows)


def _parts(messages: Sequence[dict[str, object]]) -> list[Sequence[dict[str, object]]]:
    return [messages[at : at + AT_ONCE] for at in range(0, len(messages), AT_ONCE)]


if __name__ == "__main__":
    sys.exit(main())
