"""Show results as tables on the terminal, and store them with plots in bench/results/."""

import os
import platform
import re
import shlex
import subprocess
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import psutil
from rich.console import Console
from rich.table import Table as RichTable

from bench.plots import Plot

DOCUMENT = Path(__file__).parent / "results" / "README.md"
"""The document; plots are stored next to it."""
OPENING = """\
# Benchmarks

`make bench ARGS=--write` writes these tables; each names the machine and the command that made it. Times and rates
depend on the machine. Ratios compare alternating measurements of one run. CPU counts the server's process and all
PostgreSQL processes.
"""


@dataclass(frozen=True)
class Table:
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    """Sentences below the table: the method, and whether the goal is met."""
    plots: Sequence[Plot] = ()
    """The plots of the table."""


def show(console: Console, table: Table) -> None:
    shown = RichTable(title=table.title, title_justify="left")
    for index, column in enumerate(table.columns):
        shown.add_column(column, justify="left" if index == 0 else "right")
    for row in table.rows:
        shown.add_row(*row)
    console.print(shown)
    for note in table.notes:
        console.print(note, soft_wrap=True, markup=False)
    console.print()


def write(
    name: str,
    tables: Sequence[Table],
    arguments: Sequence[str],
    document: Path = DOCUMENT,
    drawn: Collection[str] = (),
    program: str = "bench",
) -> None:
    """Put the section of a benchmark in its place, leaving the others as they are. ``drawn``: the plots that there are
    files of; others are not shown. ``program``: the module that was run.
    """
    text = document.read_text("utf-8") if document.exists() else OPENING
    opening, closing = f"<!-- {name} -->", f"<!-- end of {name} -->"
    command = shlex.join(["python", "-m", program, *arguments])
    parts = [_markdown(table, drawn) for table in tables]
    section = "\n\n".join([opening, *parts, f"_{_machine()}; `{command}`._", closing])
    place = re.compile(f"{opening}.*?{closing}", re.DOTALL)
    text = place.sub(lambda _: section, text) if place.search(text) else f"{text.rstrip()}\n\n{section}\n"
    document.parent.mkdir(exist_ok=True)
    document.write_text(text, "utf-8")


def _markdown(table: Table, drawn: Collection[str]) -> str:
    lines = [f"## {table.title}", ""]
    lines += ["| " + " | ".join(table.columns) + " |", "|" + " --- |" + " ---: |" * (len(table.columns) - 1)]
    lines += ["| " + " | ".join(row) + " |" for row in table.rows]
    lines += ["", *table.notes]
    for plot in table.plots:
        if plot.name in drawn:
            lines += ["", f"![{plot.title}]({plot.name}.svg)"]
    return "\n".join(lines)


def _machine() -> str:
    """Return a description of the machine."""
    memory = psutil.virtual_memory().total / 2**30
    return (
        f"{datetime.now(UTC):%Y-%m-%d}, {platform.system()} {platform.machine()}, {_processor()}, {os.cpu_count()} cores, "
        f"{memory:.0f} GiB, load {os.getloadavg()[0]:.1f}; Python {sys.version.split()[0]}; commit {_commit()}"
    )


def _commit() -> str:
    command = ("git", "rev-parse", "--short", "HEAD")
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own command
    return done.stdout.strip() or "unknown"


def _processor() -> str:
    try:
        found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    except OSError:
        found = None
    return found[1] if found else platform.processor() or "unknown processor"


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.2f}"
