"""Where the server's CPU time goes: `python -m bench profile`, with py-spy installed beside it.

The server is looked at from outside, 400 times a second, while eight clients keep it busy. Each look counts for the
first part that it fits: for a cut whatever is done for one, else for what the innermost frame of ours or of a
library belongs to. Only a thread that holds the interpreter counts: waiting does not, nor does PostgreSQL.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bench.clients import Job
from bench.harness import Harness
from bench.load.blocks import BUDGET, bodies, build
from bench.tables import Table, milliseconds
from bench.words import searches

LOOKS_A_SECOND = 400
CLIENTS = 8
MESSAGES = 400
FULL_SECONDS, QUICK_SECONDS = 20.0, 4.0
OPERATIONS = ("window", "append", "turn", "search")
CUTS = "making cuts"
REST = "the rest"
PARTS: Sequence[tuple[str, str]] = (
    (r"/app/extractive/|/rjieba", "lines, titles, notes, key terms"),
    (r"/app/text/(bm25|chinese_scripts)\.py", "terms of keyword search"),
    (r"/app/text/tokens\.py|/tiktoken/", "counting tokens"),
    (r"/asyncpg/|/app/postgres/|/app/store/", "statements and their driver"),
    (r"/app/core/|/app/services/|/app/queue/|/app/ids\.py|/app/text/", "decisions, their values and JSON"),
    (
        r"/fastapi/|/starlette/|/pydantic|/app/api/|/app/runtime\.py|/app/telemetry/",
        "FastAPI, middleware, reading the request",
    ),
    (r"/uvicorn/|/httptools/", "HTTP server and socket"),
)
"""Maps the path of a frame's file to a part."""


def run(harness: Harness, *, quick: bool) -> list[Table]:
    spy = shutil.which("py-spy")
    if spy is None:
        notes = ("py-spy is not installed: `pip install py-spy`, and see that it may look at other processes.",)
        return [Table("Profile", ("part of the server's CPU", *OPERATIONS), (), notes)]
    seconds = QUICK_SECONDS if quick else FULL_SECONDS
    names = [f"profile-{number}" for number in range(CLIENTS)]
    for name in names:
        build(harness.api, name, MESSAGES)
    harness.analyze()
    found = {what: _measured(harness, spy, _job(harness, what, names, seconds)) for what in OPERATIONS}
    return [_table(found, seconds)]


def _job(harness: Harness, what: str, names: Sequence[str], seconds: float) -> Job:
    port = harness.quire.port
    if what == "window":
        return Job(port, "GET", [f"/conversations/{n}/context" for n in names], clients=CLIENTS, seconds=seconds)
    if what == "search":
        return Job(port, "GET", searches(["bench"]), clients=CLIENTS, seconds=seconds)
    query = "?include=context" if what == "turn" else ""
    targets = [f"/conversations/{name}/messages{query}" for name in names]
    return Job(port, "POST", targets, bodies(0), clients=CLIENTS, seconds=seconds)


def _measured(harness: Harness, spy: str, job: Job) -> tuple[Counter[str], float]:
    """Return how often each part was seen, and the server's CPU seconds of a request."""
    harness.clients.run(replace(job, requests=10))  # prepares the statements
    before = harness.quire.cpu()
    plain = harness.clients.run(replace(job, seconds=job.seconds / 4))  # without the cost of sampling
    each = (harness.quire.cpu() - before).server / len(plain.latencies)
    file = harness.folder / "looks"
    arguments = ["record", "--gil", "--format", "raw", "--rate", str(LOOKS_A_SECOND), "--output", str(file)]
    arguments += ["--duration", str(int(job.seconds)), "--pid", str(harness.quire.process.pid)]
    with subprocess.Popen([spy, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):  # noqa: S603 - found above
        harness.clients.run(job)
    return seen(file), each


def seen(file: Path) -> Counter[str]:
    """Return how often each part was seen. Each line is a stack, outermost frame first, and its count."""
    counts: Counter[str] = Counter()
    for line in file.read_text("utf-8").splitlines():
        stack, _, times = line.rpartition(" ")
        frames = stack.split(";")
        counts[part_of(frames)] += int(times)
    return counts


def part_of(frames: Sequence[str]) -> str:
    if any("/conversations/cuts.py" in frame for frame in frames):
        return CUTS
    for frame in reversed(frames):
        for pattern, part in PARTS:
            if re.search(pattern, frame.replace(" (", " (/")):
                return part
    return REST


def _table(found: dict[str, tuple[Counter[str], float]], seconds: float) -> Table:
    parts = [part for _, part in PARTS]
    rows = []
    for part in (CUTS, *parts, REST):
        cells = [f"{counts[part] / counts.total():.0%}" for counts, _ in found.values()]
        rows.append((part, *cells))
    rows.append(("server's CPU ms a request", *(milliseconds(each) for _, each in found.values())))
    return Table(
        "Profile",
        ("part of the server's CPU", *OPERATIONS),
        rows,
        (
            (
                f"{CLIENTS} clients, conversations of {MESSAGES} messages and more, budgets of {BUDGET:,}, {seconds:.0f} s "
                "each; PostgreSQL's CPU is not in it. A part is what the innermost frame belongs to, but what is done for "
                "a cut is a cut's."
            ),
        ),
    )
