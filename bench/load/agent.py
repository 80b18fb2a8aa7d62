"""The cost of an agent's turn: a user message, its window, a call with its result, and the window after it.

`python -m bench agent` measures it by how much the conversation and its user have stored, beside the least that keeps
the promises (``bench.load.least``) and, if BENCH_PEERS_PYTHON names a Python that has them (see ``bench.peers.peers``),
LangGraph's PostgreSQL checkpointer with `trim_messages`. `python -m bench.load.agent TREE` measures it beside a checkout
of another commit too, whatever its migrations; options pace the requests and bring the local model with its jobs.

Recall is on, as by default. Blocks of turns alternate between the sides, so that their ratios hold on a busy machine;
tests/guards/test_turn.py holds the statements, commits, calls and WAL, which do not depend on it.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from statistics import median
from typing import Any, Protocol

import click
from rich.console import Console

from bench import plots, tables
from bench.harness import (
    QUIRE,
    Api,
    Cpu,
    Harness,
    Server,
    environment_of,
    postmaster_of,
    serving,
    settled,
    superuser_dsn_of,
    vacuum,
)
from bench.harness import opened as opened_harness
from bench.load import least
from bench.load.sizes import until_idle
from bench.peers.peers import Database, Peer, database_of, peer_of
from bench.plots import Lines
from bench.tables import Table, milliseconds
from bench.words import history

BUDGET = 8_000
SIZES, ROUNDS, TURNS = (10, 100, 1_000, 5_000, 100_000), 6, 8
SIZE_PEERS_MAX = 5_000
"""The largest size for LangGraph, which stores and loads the whole conversation with each step."""
SIZE_LONG = 1_000
"""A block's turns go to one conversation of at least this size. To shorter ones goes one each, lest they grow much."""
WORK = (
    "Add a route for order {} to the parser, and cover it by a test.",
    "Rename the field {} in the form, the table and its index.",
    "The build of branch {} fails since this morning; fix the import that breaks it.",
    "Move the function at line {} into a module of its own.",
    "Write the migration {} so that both releases can serve it.",
    "Run the linter over folder {} and mend what it finds.",
    "Make the list of customers {} load in pages of fifty.",
    "Draw the totals of week {} as a chart in the report.",
)
"""A user's requests to an agent. (A message that asks for something said earlier also costs a search.)"""
RESULT_LINES = 60
HERE, LEAST = "Quire", "the least"
GRAPH, LOOP = "LangGraph", "LangGraph, in one run"
WIDTH = 140

Json = dict[str, Any]


class Side(Protocol):
    """A side, on which turns are made."""

    def build(self, conversation: str, messages: list[Json]) -> None: ...

    def append(self, conversation: str, messages: list[Json]) -> None: ...

    def window(self, conversation: str) -> None: ...

    def rest(self) -> None:
        """Vacuum and analyze the conversations that were built, as autovacuum does within a minute."""

    def cpu(self) -> Cpu: ...


@dataclass(frozen=True)
class Served:
    """A service of Quire. Each user has one conversation."""

    server: Server
    api: Api
    superuser_dsn: str
    has_jobs: bool = False

    def build(self, conversation: str, messages: list[Json]) -> None:
        self.api.append(conversation, messages, conversation)
        if self.has_jobs:
            until_idle(self.api)

    def append(self, conversation: str, messages: list[Json]) -> None:
        self.api.append(conversation, messages, conversation)

    def window(self, conversation: str) -> None:
        self.api.window(conversation, BUDGET)

    def rest(self) -> None:
        vacuum(self.superuser_dsn)

    def cpu(self) -> Cpu:
        return self.server.cpu()


@dataclass(frozen=True)
class Graph:
    """LangGraph in a separate process."""

    peer: Peer
    database: Database

    def build(self, conversation: str, messages: list[Json]) -> None:
        self.peer.build(conversation, messages, 0)

    def append(self, conversation: str, messages: list[Json]) -> None:
        self.peer.do("append", [conversation], [messages])

    def window(self, conversation: str) -> None:
        self.peer.do("context", [conversation], [])

    def rest(self) -> None:
        self.database.analyze()

    def cpu(self) -> Cpu:
        return self.peer.cpu()


@dataclass(frozen=True)
class Loop(Graph):
    """A graph that makes a whole turn in one run, including the trimming."""

    asked: list[Json] = field(default_factory=list)

    def append(self, conversation: str, messages: list[Json]) -> None:
        self.asked.extend(messages)
        if len(messages) > 1:
            self.peer.do("append", [conversation], [self.asked])
            self.asked.clear()

    def window(self, conversation: str) -> None: ...


@dataclass
class Spent:
    """The CPU of blocks of turns on a side."""

    blocks: list[Cpu] = field(default_factory=list)
    """The CPU of each block."""
    new: list[float] = field(default_factory=list)
    """CPU seconds of windows after a user message."""
    unchanged: list[float] = field(default_factory=list)
    """CPU seconds of unchanged windows, requested once more."""

    @property
    def turn(self) -> Cpu:
        """Return the CPU of a turn."""
        return Cpu(*(median(getattr(one, part) for one in self.blocks) / TURNS for part in ("server", "postgres")))

    def of(self, other: Spent) -> float:
        """Return the ratio of its turns' CPU to another side's, with which it alternated."""
        return median(one.total / beside.total for one, beside in zip(self.blocks, other.blocks, strict=True))


@dataclass(frozen=True)
class Plan:
    """The sides, sizes and pace of a run."""

    trees: Mapping[str, Path] = field(default_factory=dict)
    """Other checkouts, by name."""
    pace_seconds: float = 0.0
    """Seconds between requests."""
    model: str = "none"
    """The embedding model. If there is one, the services also run their jobs."""
    sizes: Sequence[int] = SIZES
    rounds: int = ROUNDS


QUICK = Plan(sizes=(10, 1_000), rounds=2)


def run(harness: Harness, *, quick: bool, plan: Plan | None = None) -> list[Table]:
    plan = plan or (QUICK if quick else Plan())
    with ExitStack() as stack:
        sides, versions = _sides(harness, plan, stack)
        spent = {size: _measured(sides, size, plan) for size in plan.sizes}
    return [_table(spent, versions, plan)]


def _sides(harness: Harness, plan: Plan, stack: ExitStack) -> tuple[dict[str, Side], dict[str, str]]:
    """Start all sides; return them by name, and the versions of LangGraph's packages."""
    sides: dict[str, Side] = {HERE: stack.enter_context(_quire(harness, HERE, Path.cwd(), plan.model))}
    for name, tree in plan.trees.items():
        sides[name] = stack.enter_context(_quire(harness, name, tree, plan.model))
    sides[LEAST] = stack.enter_context(_least(harness))
    database = stack.enter_context(database_of(harness))
    graph, loop = (stack.enter_context(peer_of(harness, "langgraph", way, "")) for way in ("async", "loop"))
    return sides | (
        {} if graph.missing else {GRAPH: Graph(graph, database), LOOP: Loop(loop, database)}
    ), graph.versions


def _measured(sides: Mapping[str, Side], size: int, plan: Plan) -> dict[str, Spent]:
    taking = {name: side for name, side in sides.items() if size <= SIZE_PEERS_MAX or not isinstance(side, Graph)}
    numbers = range(-TURNS, plan.rounds * TURNS)
    for side in taking.values():
        for seed, conversation in enumerate(dict.fromkeys(_conversation(size, number) for number in numbers)):
            side.build(conversation, history(size, size + seed))
            side.window(conversation)
        side.rest()
        _make_turns(side, size, numbers[:TURNS], 0.0)
    spent = {name: Spent() for name in taking}
    for round_ in range(plan.rounds):
        block = range(round_ * TURNS, (round_ + 1) * TURNS)
        for name, side in list(taking.items())[:: 1 if round_ % 2 else -1]:
            begun = settled(side)
            spent[name].new += _make_turns(side, size, block, plan.pace_seconds)
            spent[name].blocks.append(settled(side) - begun)
            spent[name].unchanged += [_window(side, _conversation(size, block[-1])) for _ in block]
    return spent


def _conversation(size: int, number: int) -> str:
    """Return the name of the conversation of a turn."""
    return f"agent-{size}" if size >= SIZE_LONG else f"agent-{size}-{number}"


def _make_turns(side: Side, size: int, numbers: range, pace_seconds: float) -> list[float]:
    """Return the CPU seconds of each window after a user message."""
    seconds = []
    for number in numbers:
        conversation, (asked, done) = _conversation(size, number), messages_of_turn(number)
        for messages in (asked, done):
            side.append(conversation, messages)
            time.sleep(pace_seconds)
            seconds.append(_window(side, conversation))
            time.sleep(pace_seconds)
    return seconds[::2]


def _window(side: Side, conversation: str) -> float:
    """Read a window, and return its CPU seconds."""
    begun = side.cpu().total
    side.window(conversation)
    return side.cpu().total - begun


def messages_of_turn(number: int) -> tuple[list[Json], list[Json]]:
    """Return a user message that asks for work, not for something said, and a call with its result; all different."""
    rng = Random(number)
    (_, answer), name = history(2, number), f"call-{number}"
    question = {"role": "user", "content": " ".join(one.format(rng.randint(100, 9999)) for one in rng.sample(WORK, 3))}
    file = "\n".join(
        f"def step_{rng.randint(0, 9999)}(order): return order.{rng.choice('abc')}" for _ in range(RESULT_LINES)
    )
    function = {"name": "read_file", "arguments": json.dumps({"path": f"src/step_{number}.py"})}
    call = {**answer, "tool_calls": [{"id": name, "type": "function", "function": function}]}
    return [question], [call, {"role": "tool", "tool_call_id": name, "content": file}]


def _table(spent: Mapping[int, Mapping[str, Spent]], versions: Mapping[str, str], plan: Plan) -> Table:
    rows, lines = [], dict[str, list[tuple[float, float]]]()
    for size, sides in spent.items():
        for name, side in sides.items():
            turn = side.turn
            lines.setdefault(name, []).append((size, 1000 * turn.total))
            costs = map(milliseconds, (turn.server, turn.postgres, turn.total))
            new, unchanged = median(side.new), median(side.unchanged)
            windows = (
                ("–", "–", "–")
                if name == LOOP
                else (milliseconds(new), milliseconds(unchanged), f"{new / unchanged:.1f}")
            )
            rows.append((f"{size:,}", name, *costs, f"{side.of(sides[HERE]):.2f}", *windows))
    columns = (
        "messages before", "with", "CPU ms: process", "PostgreSQL", "a turn", "of Quire's", "new window", "unchanged", "ratio"
    )  # fmt: skip
    kinds = ", ".join(f"{name} {number}" for name, number in versions.items()) or "not installed"
    notes = [
        (
            f"A turn: a user message, its window, a call with a result of {RESULT_LINES} lines of code, the window after it; budget"
            f" {BUDGET:,}. The conversation's user has no other, so as many messages and memories. The user's messages ask for work, none for"
            f" what was said before, which would bring a search. Medians of {plan.rounds} blocks"
            f" of {TURNS} turns; of Quire's: the median of the ratios of blocks. Embeddings: {plan.model}. Between requests:"
            f" {plan.pace_seconds:g} s. New window: the one after a user message, its CPU ms; unchanged: the same once more. Goal of their ratio: at most 2.5."
        ),
        (
            "The least: one statement a request with the same promises, without archives, pages, records, keys or a framework"
            " (`bench/load/least.py`). Goal: of Quire's at least .45."
        ),
        (
            "LangGraph: each of the four requests is a call of a graph that loads and stores the state, or loads and trims it."
            " Goal at 10 / 100 / 1,000 / 5,000: of Quire's at least 1 / 2.5 / 18 / 70. In one run: the graph loads the state once,"
            f" trims in its node and stores after each step; nothing else can come between. {kinds}."
        ),
    ]
    plot = Lines("agent", "CPU of a turn by the length of its conversation", "messages", "ms CPU", lines, log_y=True)
    return Table("A turn as an agent makes it", columns, rows, notes, [plot])


@contextmanager
def _least(harness: Harness) -> Iterator[Side]:
    asyncio.run(least.create_tables(harness.postgres.superuser_dsn))
    arguments = ("-m", "bench.load.least", harness.postgres.app_dsn, str(harness.folder / "vocabularies"))
    with serving(arguments, {}, harness.folder, harness.quire.postmaster) as server, closing(Api(server.port)) as api:
        yield Served(server, api, harness.postgres.superuser_dsn)


@contextmanager
def _quire(harness: Harness, name: str, tree: Path, model: str) -> Iterator[Side]:
    """Serve a tree with a database of its own, which it migrates itself."""
    folder, has_jobs = harness.folder / name.replace("/", "-"), model != "none"
    folder.mkdir(mode=0o711)
    environment = environment_of(harness.postgres, folder) | {
        "PYTHONPATH": f"{tree}:{tree / 'clients/python'}",
        "DATABASE_URL": "",
        "MEMORY_EMBEDDING_MODEL": model,
        "QUIRE_WORKER": str(has_jobs),
    }
    with serving(("-P", *QUIRE), environment, folder, harness.quire.postmaster) as started:
        server = Server(started.port, started.process, postmaster_of(folder))
        with closing(Api(server.port)) as api:
            yield Served(server, api, superuser_dsn_of(folder), has_jobs)


@click.command()
@click.argument("trees", nargs=-1, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--sizes", multiple=True, type=int, default=SIZES, show_default=True, help="Messages before.")
@click.option("--rounds", default=ROUNDS, show_default=True)
@click.option("--pace", default=0.0, show_default=True, help="Seconds between requests.")
@click.option("--write", is_flag=True, help="Write the table and its plot into bench/results/.")
@click.option("--model", type=click.Choice(["none", "local"]), default="none", show_default=True)
def main(trees: tuple[Path, ...], sizes: tuple[int, ...], rounds: int, pace: float, model: str, *, write: bool) -> None:
    """Measure this tree beside TREES, checkouts of other commits."""
    plan = Plan({tree.resolve().name: tree.resolve() for tree in trees}, pace, model, sizes, rounds)
    with opened_harness({"QUIRE_WORKER": "false"}) as harness:
        [table] = run(harness, quick=False, plan=plan)
    tables.show(Console(width=WIDTH), table)
    if write:
        drawn = plots.draw(table.plots, tables.DOCUMENT.parent)
        tables.write("agent", [table], sys.argv[1:], drawn=drawn, program="bench.load.agent")


if __name__ == "__main__":
    main()
