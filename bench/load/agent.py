"""What a turn costs as an agent makes it: a user message, its window, a call with its result, and the window after it.

`python -m bench agent` measures it beside the least that keeps the promises (``bench.load.least``), by how much the
conversation holds; `python -m bench.load.agent TREE` beside a checkout of another commit too, whatever its migrations.
Each side has PostgreSQL of its own. Recall is on, as by default. Blocks take turns, so that their ratio holds on a busy
machine; tests/guards/test_turn.py holds the statements and commits, which do not depend on it.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import click
from rich.console import Console

from bench import tables
from bench.harness import QUIRE, Api, Cpu, Harness, Server, environment_of, postmaster_of, serving
from bench.harness import opened as opened_harness
from bench.load import least
from bench.load.paired import settled
from bench.tables import Table, milliseconds
from bench.words import history

BUDGET = 8_000
SIZES, SIZES_QUICK = (10, 1_000, 10_000), (10, 1_000)
ROUNDS, ROUNDS_QUICK, TURNS = 6, 2, 8
RESULT_LINES = 60
LEAST, HERE = "the least", "Quire"
WIDTH = 140


@dataclass(frozen=True)
class Side:
    """A service that turns are made with."""

    name: str
    server: Server
    api: Api


@dataclass
class Spent:
    """CPU seconds of blocks of turns."""

    blocks: list[Cpu] = field(default_factory=list)

    @property
    def total(self) -> float:
        return median(one.total for one in self.blocks)


def messages_of_turn(number: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return a user message that asks for work, and a call with its result; no two alike."""
    rng = Random(number)
    (question, answer), name = history(2, number), f"call-{number}"
    file = "\n".join(
        f"def step_{rng.randint(0, 9999)}(order): return order.{rng.choice('abc')}" for _ in range(RESULT_LINES)
    )
    function = {"name": "read_file", "arguments": json.dumps({"path": f"src/step_{number}.py"})}
    call = {**answer, "tool_calls": [{"id": name, "type": "function", "function": function}]}
    return [question], [call, {"role": "tool", "tool_call_id": name, "content": file}]


def make_turns(api: Api, conversation: str, numbers: range, pace_seconds: float = 0.0) -> None:
    for number in numbers:
        for messages in messages_of_turn(number):
            api.append(conversation, messages)
            api.window(conversation, BUDGET)
            time.sleep(pace_seconds)


@dataclass(frozen=True)
class Plan:
    """The way of the turns."""

    trees: Mapping[str, Path] = field(default_factory=dict)
    """Other checkouts, by name."""
    pace_seconds: float = 0.0
    """Between requests."""
    model: str = "none"
    """The embedding model."""


def run(harness: Harness, *, quick: bool, plan: Plan = Plan()) -> list[Table]:
    sizes, rounds = (SIZES_QUICK, ROUNDS_QUICK) if quick else (SIZES, ROUNDS)
    with ExitStack() as stack:
        sides = [stack.enter_context(_least(harness))]
        sides += [stack.enter_context(_quire(harness, name, tree, plan.model)) for name, tree in plan.trees.items()]
        sides.append(stack.enter_context(_quire(harness, HERE, Path.cwd(), plan.model)))
        rows = [row for size in sizes for row in _rows(sides, size, rounds, plan.pace_seconds)]
    note = (
        f"CPU of a turn of four requests at a budget of {BUDGET:,}, of the service and its PostgreSQL: medians of {rounds}"
        f" blocks of {TURNS} turns, which the sides take in turns. Embeddings: {plan.model}."
    )
    columns = ("messages before", "side", "ms CPU a turn: server", "PostgreSQL", "together", "ratio to the least")
    return [Table("A turn as an agent makes it", columns, rows, [note])]


def _rows(sides: Sequence[Side], size: int, rounds: int, pace: float) -> Iterator[list[str]]:
    spent = {side.name: Spent() for side in sides}
    for side in sides:
        side.api.append(f"agent-{size}", history(size, size))
        make_turns(side.api, f"agent-{size}", range(-TURNS, 0))
    for round_ in range(rounds):
        for side in sides[:: 1 if round_ % 2 else -1]:
            settled(side.server)
            begun = side.server.cpu()
            make_turns(side.api, f"agent-{size}", range(round_ * TURNS, (round_ + 1) * TURNS), pace)
            settled(side.server)
            spent[side.name].blocks.append(side.server.cpu() - begun)
    for side in sides:
        blocks = spent[side.name].blocks
        each = [median(one) / TURNS for one in ([b.server for b in blocks], [b.postgres for b in blocks])]
        ratio = spent[side.name].total / spent[LEAST].total
        yield [
            f"{size:,}",
            side.name,
            *map(milliseconds, each),
            milliseconds(spent[side.name].total / TURNS),
            f"{ratio:.2f}",
        ]


@contextmanager
def _least(harness: Harness) -> Iterator[Side]:
    asyncio.run(least.create_tables(harness.postgres.superuser_dsn))
    arguments = ("-m", "bench.load.least", harness.postgres.app_dsn, str(harness.folder / "vocabularies"))
    with serving(arguments, {}, harness.folder, harness.quire.postmaster) as server, closing(Api(server.port)) as api:
        yield Side(LEAST, server, api)


@contextmanager
def _quire(harness: Harness, name: str, tree: Path, model: str) -> Iterator[Side]:
    """Serve a tree with a database of its own, which it migrates itself."""
    folder = harness.folder / name.replace("/", "-")
    folder.mkdir(mode=0o711)
    environment = {
        **environment_of(harness.postgres, folder),
        "QUIRE_WORKER": "false",
        "PYTHONPATH": f"{tree}:{tree / 'clients/python'}",
    }
    environment |= {"DATABASE_URL": "", "MEMORY_EMBEDDING_MODEL": model}
    with serving(("-P", *QUIRE), environment, folder, harness.quire.postmaster) as started:
        postmaster = postmaster_of(folder)
        server = Server(started.port, started.process, postmaster)
        with closing(Api(server.port)) as api:
            yield Side(name, server, api)


@click.command()
@click.argument("trees", nargs=-1, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--quick", is_flag=True, help="Fewer rounds, and no large conversation.")
@click.option("--pace", default=0.0, show_default=True, help="Seconds between requests.")
@click.option("--model", type=click.Choice(["none", "local"]), default="none", show_default=True)
def main(trees: tuple[Path, ...], quick: bool, pace: float, model: str) -> None:
    """Measure this tree beside TREES, checkouts of other commits."""
    plan = Plan({tree.resolve().name: tree.resolve() for tree in trees}, pace, model)
    with opened_harness({"QUIRE_WORKER": "false"}) as harness:
        for table in run(harness, quick=quick, plan=plan):
            tables.show(Console(width=WIDTH), table)


if __name__ == "__main__":
    main()
