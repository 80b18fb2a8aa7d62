"""The cost of large archives: memory for one of ten million characters, and a window beside ten thousand of them."""

import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from urllib.parse import urlencode

from bench import harness
from bench.clients import Job
from bench.harness import QUIRE, Api, Harness, serving
from bench.load.blocks import Series, block
from bench.tables import Table, milliseconds
from bench.words import history

CHARACTERS = 10_000_000
LINE = "第{i}行:仓库清点了{n}箱货物,row {i} counted {n} boxes of item {m}.\n"
ARCHIVES = 10_000
BLOCK = 25
ROUNDS = 8
POLL_SECONDS, POLLS_MAX = 0.1, 6_000
_PEAK = re.compile(r"VmHWM:\s+(\d+) kB")


def run(opened: Harness, *, quick: bool) -> list[Table]:
    return [
        memory(opened, CHARACTERS // 10 if quick else CHARACTERS),
        many(opened, ARCHIVES // 10 if quick else ARCHIVES),
    ]


def long_text(characters: int) -> str:
    lines, size, number = [], 0, 0
    while size < characters:
        lines.append(LINE.format(i=number, n=number * 7 % 1009, m=number % 97))
        size += len(lines[-1])
        number += 1
    return "".join(lines)[:characters]


# --- Memory ------------------------------------------------------------------------------------------


def memory(opened: Harness, characters: int) -> Table:
    text = long_text(characters)
    size = len(text.encode())
    body = {"user_id": "large", "tool_name": "dump", "result": text}
    rows: list[tuple[str, ...]] = []
    uuid = ""
    with _fresh(opened) as (api, pid):
        before, other = _peak(pid), _peak(opened.quire.process.pid)
        uuid = json.loads(api.call("POST", "/archive", body))["uuid"]
        rows.append(_row("archive it", before, _peak(pid), size))
        until_idle(api)
        more = max(_peak(pid) - before, _peak(opened.quire.process.pid) - other)  # either's worker may have done it
        rows.append(_row("and index it to its end", before, before + more, size))
    part = {"offset": characters - 2_000, "length": 1_000}
    for name, query in (("load 1,000 characters", part), ("load all of it", {})):
        with _fresh(opened) as (api, pid):
            before = _peak(pid)
            api.call("GET", f"/archive/{uuid}?{urlencode(query)}")
            rows.append(_row(name, before, _peak(pid), size))
    return Table(
        "Memory of a very large result",
        ("what a fresh service does", "peak before", "peak after", "more", "copies of the text"),
        rows,
        (
            (
                f"A result of {characters:,} characters, Chinese and English, {size / 1e6:.1f} MB as UTF-8. Resident "
                "memory of the service at its highest (API and worker in one process; PostgreSQL apart), in MB."
            ),
        ),
    )


@contextmanager
def _fresh(opened: Harness) -> Iterator[tuple[Api, int]]:
    """Start a separate service on the same database, and warm it up."""
    environment = harness.environment_of(opened.postgres, opened.folder)
    with serving(QUIRE, environment, opened.folder, opened.quire.postmaster) as server:
        api = Api(server.port)
        api.append(f"warm-{server.process.pid}", history(40, seed=1))
        api.window(f"warm-{server.process.pid}")
        yield api, server.process.pid
        api.close()


def until_idle(api: Api) -> None:
    """Wait until the jobs are done."""
    for _ in range(POLLS_MAX):
        status = json.loads(api.call("GET", "/jobs"))
        if not status["pending"] and not status["running"]:
            return
        time.sleep(POLL_SECONDS)
    raise RuntimeError("the jobs are not done")


def _peak(pid: int) -> int:
    """Return the peak memory of a process in bytes. Linux only."""
    found = _PEAK.search(Path(f"/proc/{pid}/status").read_text())
    assert found, os.name
    return int(found[1]) * 1024


def _row(name: str, before: int, after: int, size: int) -> tuple[str, ...]:
    more = after - before
    return (name, f"{before / 1e6:.0f}", f"{after / 1e6:.0f}", f"{more / 1e6:.0f}", f"{more / size:.1f}")


# --- Many --------------------------------------------------------------------------------------------


def many(opened: Harness, archives: int) -> Table:
    """Compare two conversations that differ only in the length of their tool results."""
    names = {"none": 200, f"{archives:,}": 700}
    for name, length in names.items():
        conversation = f"many-{length}"
        settings = {"archive_threshold": 500}
        opened.api.call(
            "POST", "/conversations", {"id": conversation, "user_id": name, "budget": 8_000, "settings": settings}
        )
        turns = [message for turn in range(archives) for message in _turn(turn, length)]
        for at in range(0, len(turns), 999):
            opened.api.call("POST", f"/conversations/{conversation}/messages", {"messages": turns[at : at + 999]})
    until_idle(opened.api)
    opened.analyze()
    series = {name: Series() for name in names}
    for turn in range(ROUNDS):
        for name in list(names) if turn % 2 else reversed(list(names)):
            target = f"/conversations/many-{names[name]}/context"
            block(opened, Job(opened.quire.port, "GET", [target], requests=BLOCK), series[name])
    first = series["none"].cpu_each.total
    return Table(
        "A window of a conversation with many archives",
        ("archives", "median ms", "CPU ms: server", "PostgreSQL", "ratio of CPU"),
        [
            (
                name,
                milliseconds(median(found.latencies)),
                milliseconds(found.cpu_each.server),
                milliseconds(found.cpu_each.postgres),
                f"{found.cpu_each.total / first:.2f}",
            )
            for name, found in series.items()
        ],
        (
            (
                f"{archives:,} turns of three messages each; the tool's results are archived in the second conversation only."
            ),
        ),
    )


def _turn(turn: int, length: int) -> list[dict[str, object]]:
    call = {"id": f"c{turn}", "type": "function", "function": {"name": "look", "arguments": f'{{"n":{turn}}}'}}
    text = (f"Result {turn}: " + "some words of a result. " * (length // 20))[:length]
    return [
        {"role": "user", "content": f"Question {turn}, please look it up."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{turn}", "content": text},
    ]
