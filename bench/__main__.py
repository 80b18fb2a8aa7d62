"""`python -m bench [NAMES] [--quick] [--write]`: starts everything itself, and stops it."""

import sys
import time
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path

import click
from rich.console import Console

from bench import harness, plots, tables
from bench.load import agent, branches, crowd, dialects, large, options, overhead, profile, sizes
from bench.peers import peers
from bench.people import table as people
from bench.search import embeddings, recall, retrieval, search_sizes
from bench.tables import Table
from bench.tokens import windows as model_tokens
from bench.window import archive, cost_of_memory, literals, replay, served

BENCHMARKS: dict[str, Callable[..., list[Table]]] = {
    "agent": agent.run,
    "overhead": overhead.run,
    "dialects": dialects.run,
    "options": options.run,
    "branches": branches.run,
    "loops": overhead.run_loops,
    "profile": profile.run,
    "peers": peers.run,
    "crowd": crowd.run,
    "replay": replay.run,
    "cost-of-memory": cost_of_memory.run,
    "archive": archive.run,
    "literals": literals.run,
    "sizes": sizes.run,
    "served": served.run,
    "embeddings": embeddings.run,
    "retrieval": retrieval.run,
    "recall": recall.run,
    "search-sizes": search_sizes.run,
    "large": large.run,
    "people": people.run,
    "tokens": model_tokens.run,
}

API_ALONE = frozenset({"agent", "overhead", "dialects", "options", "loops", "profile", "peers", "crowd", "people"})
"""Benchmarks of requests. Nobody runs the jobs that they enqueue, as if workers were on another machine."""

PLAIN_WIDTH = 140


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(list(BENCHMARKS)))
@click.option("--quick", is_flag=True, help="Fewer rounds and shorter histories; not to be published.")
@click.option("--write", is_flag=True, help="Write the tables and their plots into bench/results/.")
@click.option("--messages", type=int, default=large.MESSAGES, show_default=True, help="Messages that `large` fills in.")
def main(names: tuple[str, ...], quick: bool, write: bool, messages: int) -> None:
    """Measure Quire. NAMES: the benchmarks to run; all by default."""
    console = Console() if sys.stdout.isatty() else Console(width=PLAIN_WIDTH)
    for alone, some in groupby(names or BENCHMARKS, key=API_ALONE.__contains__):
        with harness.opened({"QUIRE_WORKER": "false"} if alone else None) as opened:
            for name in some:
                begun = time.monotonic()
                more = {"messages": messages} if name == "large" else {}
                found = BENCHMARKS[name](opened, quick=quick, **more)
                for table in found:
                    tables.show(console, table)
                console.print(f"{name} took {time.monotonic() - begun:.0f} s\n")
                if write:
                    keep(console, name, found)


def keep(console: Console, name: str, found: Sequence[Table], document: Path = tables.DOCUMENT) -> None:
    """Write tables into a document, and their plots next to it."""
    wanted = [plot for table in found for plot in table.plots]
    drawn = plots.draw(wanted, document.parent)
    tables.write(name, found, sys.argv[1:], document, drawn)
    if left_out := [plot.name for plot in wanted if plot.name not in drawn]:
        console.print(f"no plots ({', '.join(left_out)}): matplotlib is not installed; install the extra `bench`")


if __name__ == "__main__":
    main()
