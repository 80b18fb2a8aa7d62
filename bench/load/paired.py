"""The effect of a change on the CPU of a request: this tree and another one, in turns, on the same database.

`python -m bench.load.paired TREE` prints the CPU of both, and the median ratio with its quartiles. Both are API processes
alone: `quire worker` is not started, so no job is in the figures. With ``--set QUIRE_MASKS=all`` this tree has a
setting that TREE, which can be this one too, has not: what a feature costs. ``--of`` says which requests:

    proxy    streamed answers of a played API, in each dialect, in pass-through and for a window
    cold     windows of so many conversations in turn that the process keeps none of them
    searches by keyword, of users with 50 memories
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, quantiles

import click
from rich.console import Console

from bench import harness, tables
from bench.clients import Job
from bench.harness import QUIRE, Harness, Server, environment_of, serving, settled
from bench.load import filling
from bench.load.dialects import PATHS, TURNS, Side, converse, played_api, settings
from bench.load.filling import Copies
from bench.tables import Table
from bench.words import searches

Ask = Callable[[Server, str, int], int]
"""Send the requests of a turn to a tree's server, given the tree's name and the turn; return how many they were."""
Trees = tuple[Server, Server]
"""The servers of this tree and of the other one."""
KINDS = ("proxy", "cold", "searches")
WAYS = ("pass-through", "window")
NEW, OLD = "new", "old"
WIDTH = 140
CLIENTS, REQUESTS = 8, 28
MESSAGES = 400
COLD = 4_000
"""The number of conversations, twice as many as the windows that a process caches."""
COLD_MESSAGES, TEMPLATES = 20, 50
MEMORIES = 50
"""The number of memories of each searching user."""


@dataclass(frozen=True)
class Difference:
    """The checkout of one side, and settings of the other."""

    tree: Path
    settings: dict[str, str]


@click.command()
@click.argument("tree", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--of", "kinds", multiple=True, type=click.Choice(KINDS), default=["proxy"], show_default=True)
@click.option("--pairs", default=20, show_default=True, help="Turns of each tree.")
@click.option("--recall", type=click.Choice(["auto", "off"]), default="off", show_default=True)
@click.option("--set", "settings_", multiple=True, help="NAME=VALUE, for this tree's side.")
@click.option("--dialect", "dialects", multiple=True, type=click.Choice(list(PATHS)), default=list(PATHS))
def main(
    tree: Path, kinds: tuple[str, ...], pairs: int, recall: str, settings_: tuple[str, ...], dialects: tuple[str, ...]
) -> None:
    """Compare this tree with TREE, a checkout of another commit with the same migrations."""
    rows = []
    difference = Difference(tree.resolve(), dict(one.split("=", 1) for one in settings_))
    with harness.opened({"QUIRE_WORKER": "false"}) as opened:
        for kind in kinds:
            for name, trees, ask in _asked(opened, difference, kind, recall, dialects):
                rows.append([name, *_pair(trees, ask, pairs)])
    columns = ["request", "before ms", "after ms", "ratio", "quartiles"]
    notes = [f"CPU a request, of Quire and PostgreSQL; {pairs} pairs of turns."]
    tables.show(Console(width=WIDTH), Table("CPU before and after", columns, rows, notes))


def _asked(
    harness_: Harness, difference: Difference, kind: str, recall: str, dialects: tuple[str, ...]
) -> Iterator[tuple[str, Trees, Ask]]:
    """Yield the measurements by name, while their servers are up."""
    if kind == "proxy":
        yield from _proxied(harness_, difference, recall, dialects)
        return
    ask = ASKING[kind](harness_)
    environment = environment_of(harness_.postgres, harness_.folder) | {"QUIRE_WORKER": "false"}
    with ExitStack() as stack:
        yield kind, _both(harness_, difference, environment, stack), ask


def _both(harness_: Harness, difference: Difference, environment: dict[str, str], stack: ExitStack) -> Trees:
    def served(path: Path, more: dict[str, str]) -> AbstractContextManager[Server]:
        own = environment | {"PYTHONPATH": str(path)} | more
        return serving(("-P", *QUIRE), own, harness_.folder, harness_.quire.postmaster)

    new = stack.enter_context(served(Path.cwd(), difference.settings))
    return new, stack.enter_context(served(difference.tree, {}))


def _pair(trees: Trees, ask: Ask, pairs: int) -> list[str]:
    """Send the same requests to both, which alternate in going first."""
    before, after, ratios = [], [], []
    for turn in range(-1, pairs):  # the first warms both up
        cpu = {}
        for name, server in ((NEW, trees[0]), (OLD, trees[1]))[:: 1 if turn % 2 else -1]:
            begun = server.cpu().total
            count = ask(server, name, turn)
            cpu[name] = (settled(server).total - begun) / count * 1000
        if turn >= 0:
            before.append(cpu[OLD])
            after.append(cpu[NEW])
            ratios.append(cpu[NEW] / cpu[OLD])
    low, middle, high = quantiles(ratios, n=4)
    return [f"{mean(before):.2f}", f"{mean(after):.2f}", f"{middle:.2f}", f"{low:.2f}–{high:.2f}"]


# --- The requests ------------------------------------------------------------------------------------


def _proxied(
    harness_: Harness, difference: Difference, recall: str, dialects: tuple[str, ...]
) -> Iterator[tuple[str, Trees, Ask]]:
    with ExitStack() as stack:
        api = stack.enter_context(played_api(harness_))
        for dialect in dialects:
            trees = _both(harness_, difference, settings(harness_, api, dialect) | {"MEMORY_RECALL": recall}, stack)
            for way in WAYS:
                yield f"{dialect}, {way}, recall {recall}", trees, _conversing(dialect, way)


def _conversing(dialect: str, way: str) -> Ask:
    def ask(server: Server, name: str, turn: int) -> int:
        converse(server, dialect, way, f"{dialect}-{way}-{name}-{turn}", Side())
        return TURNS + 1

    return ask


def _reading_cold(harness_: Harness) -> Ask:
    """Read the next conversations' windows in each turn, so that none of them is cached from the last time."""
    crowd = Copies("cold", filling.templates(harness_, "cold", TEMPLATES, COLD_MESSAGES), COLD)
    filling.settle(harness_)
    filling.fill(harness_, crowd)
    each = CLIENTS * REQUESTS

    def ask(server: Server, _name: str, turn: int) -> int:
        numbers = (number % COLD for number in range((turn + 1) * each, (turn + 2) * each))
        targets = [f"/conversations/{crowd.conversation(number)}/context" for number in numbers]
        return len(harness_.clients.run(Job(server.port, "GET", targets, clients=CLIENTS, requests=REQUESTS)).latencies)

    return ask


def _searching(harness_: Harness) -> Ask:
    small = Copies("small", filling.templates(harness_, "small", CLIENTS, MEMORIES), CLIENTS)
    filling.settle(harness_)
    filling.fill(harness_, small)
    targets = searches([small.user(number) for number in range(CLIENTS)])

    def ask(server: Server, _name: str, _turn: int) -> int:
        job = Job(server.port, "GET", targets, clients=CLIENTS, requests=REQUESTS)
        return len(harness_.clients.run(job).latencies)

    return ask


ASKING: Mapping[str, Callable[[Harness], Ask]] = {
    "cold": _reading_cold,
    "searches": _searching,
}


if __name__ == "__main__":
    sys.exit(main())
