"""What a change does to the proxy's CPU: this tree and another one, in turns, on the same database and played API.

`python -m bench.paired TREE` prints for each dialect and way the CPU of both, and the median ratio with its quartiles.
Both are API processes alone: `quire worker` is not started, so no job is in the figures.
"""

import sys
import time
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from statistics import quantiles

import click
from rich.console import Console

from bench import harness, tables
from bench.dialects import PATHS, TURNS, Side, converse, played_api, settings
from bench.harness import QUIRE, Harness, Server, serving
from bench.tables import Table

WAYS = ("pass-through", "window")
WIDTH = 140
SETTLING_SECONDS = 0.05
SETTLING_LOOKS = 20


@click.command()
@click.argument("tree", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--pairs", default=20, show_default=True, help="Conversations held by each tree.")
@click.option("--recall", type=click.Choice(["auto", "off"]), default="off", show_default=True)
@click.option("--dialect", "dialects", multiple=True, type=click.Choice(list(PATHS)), default=list(PATHS))
def main(tree: Path, pairs: int, recall: str, dialects: tuple[str, ...]) -> None:
    """Compare this tree with TREE, a checkout of another commit with the same migrations."""
    with harness.opened({"QUIRE_WORKER": "false"}) as opened:
        tables.show(Console(width=WIDTH), _compared(opened, tree.resolve(), pairs, recall, dialects))


def _compared(harness_: Harness, tree: Path, pairs: int, recall: str, dialects: tuple[str, ...]) -> Table:
    rows = []
    with ExitStack() as stack:
        api = stack.enter_context(played_api(harness_))
        for dialect in dialects:
            environment = settings(harness_, api, dialect) | {"QUIRE_PROXY_RECALL": recall}
            here, there = (
                stack.enter_context(_served(harness_, environment | {"PYTHONPATH": str(path)}))
                for path in (Path.cwd(), tree)
            )
            rows += [[dialect, way, *_pair(here, there, dialect, way, pairs)] for way in WAYS]
    columns = ["dialect", "way", "before ms", "after ms", "ratio", "quartiles"]
    notes = [f"CPU a request, of Quire and PostgreSQL; {pairs} pairs of {TURNS + 1} requests, recall {recall}."]
    return Table("The proxy's CPU, before and after", columns, rows, notes)


def _served(harness_: Harness, environment: dict[str, str]) -> AbstractContextManager[Server]:
    return serving(("-P", *QUIRE), environment, harness_.folder, harness_.quire.postmaster)


def _pair(here: Server, there: Server, dialect: str, way: str, pairs: int) -> list[str]:
    """Hold the same conversation with both, turn about in who is first."""
    before, after, ratios = [], [], []
    for number in range(-1, pairs):  # the first warms both up
        cpu = {}
        for name, server in (("new", here), ("old", there))[:: 1 if number % 2 else -1]:
            begun = server.cpu()
            converse(server, dialect, way, f"{dialect}-{way}-{name}-{number}", Side())
            cpu[name] = (_settled(server) - begun.total) / (TURNS + 1) * 1000
        if number >= 0:
            before.append(cpu["old"])
            after.append(cpu["new"])
            ratios.append(cpu["new"] / cpu["old"])
    low, middle, high = quantiles(ratios, n=4)
    means = (sum(values) / pairs for values in (before, after))
    return [*(f"{mean:.2f}" for mean in means), f"{middle:.2f}", f"{low:.2f}–{high:.2f}"]


def _settled(server: Server) -> float:
    """Return the CPU used once what goes on beside the answers is stored: when it has not grown for a moment."""
    used = server.cpu().total
    for _ in range(SETTLING_LOOKS):
        time.sleep(SETTLING_SECONDS)
        before, used = used, server.cpu().total
        if used == before:
            break
    return used


if __name__ == "__main__":
    sys.exit(main())
