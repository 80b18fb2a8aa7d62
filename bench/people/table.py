"""`python -m bench people`: the memories about forty people, without a model and with models of three moods."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

import click

from bench import harness
from bench.harness import Harness
from bench.people import carrying, costs, moods, values
from bench.people.calls import Row
from bench.tables import Table


def run(opened: Harness, *, quick: bool) -> list[Table]:
    some = 10 if quick else 1
    begun, rows = time.monotonic(), list[Row]()
    for row in _measured(opened, some):
        rows.append(row)
        click.echo(f"{time.monotonic() - begun:5.0f} s  {' | '.join(row.cells)}", err=True)
    notes = (
        f"Made from seeds in {time.monotonic() - begun:.0f} s: 40 people with six conversations of "
        f"{300 // some} turns of shipped text each, wishes of `bench/people/{{en,zh}}.txt` among them. At first sight, "
        "before rules were mended, precision was 1.000 in English and .948 in Chinese on the first lines by somebody who "
        "had not seen them; on two later sets, mostly pastes and plays meant to fool them, .778 and .780, .69 and .65; on "
        "the last, of ordinary talk, .987 (74 of 75) and .963 (77 of 80), with .58 and .64 of the wishes found, and .78 "
        "and .83 of a quarter that was still unseen after that. No rule was mended on the look-alikes of half `b`."
    )
    return [Table("Memory of people", ("promise", "measured", "goal", "met"), [row.cells for row in rows], (notes,))]


def _measured(opened: Harness, some: int) -> Iterator[Row]:
    port = opened.quire.port
    # Those with a worker come first, because it would also index the histories of the others.
    yield from moods.of_model(opened, "obeying", partial(moods.obeyed, pages=1_000 // some))
    for mood in ("honest", "silent"):
        yield from moods.of_model(opened, mood, partial(moods.told, count=200 // some, mood=mood))
    yield from carrying.in_first_windows(port, count=40, turns=300 // some)
    yield from carrying.precision(port, "b", 400)
    yield from carrying.precision(port, "a", 400)
    yield from carrying.injected(port, 1_000)
    yield from moods.by_tool(port, 1_000)
    yield from values.updated(port, 1_000)
    yield from values.retired(port, 200)
    environment = harness.environment_of(opened.postgres, opened.folder) | {"QUIRE_WORKER": "false"}
    with harness.serving(harness.QUIRE, environment, opened.folder, opened.quire.postmaster) as second:
        yield from values.withdrawn(port, second.port, 400)
    yield from costs.prefixes(port, 300)
    yield from costs.block(opened, 1_000)
    yield from costs.searches(opened, 10_000, 40)
    yield from costs.unpinned(port, 400)
