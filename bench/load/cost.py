"""Cost against history: an append and a window must cost the same at 10 and at 100,000 messages.

Sizes take turns in blocks of requests; what is compared are the medians, and the CPU of server and PostgreSQL.
An append at a history of 10 goes to a new conversation each time, lest it be longer the next.
"""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median, quantiles

from bench.clients import Job
from bench.harness import Api, Cpu, Harness
from bench.plots import Lines, Plot
from bench.tables import Table, milliseconds
from bench.words import history

BUDGET = 8_000
OTHER_BUDGET = 4_000
GOAL = 1.3
BLOCK = 25


@dataclass
class Series:
    """One operation at one size."""

    latencies: list[float] = field(default_factory=list)
    cpu: Cpu = field(default_factory=lambda: Cpu(0, 0))

    @property
    def cpu_each(self) -> Cpu:
        return Cpu(self.cpu.server / len(self.latencies), self.cpu.postgres / len(self.latencies))


@dataclass(frozen=True)
class Plan:
    sizes: tuple[int, ...]
    rounds: int


FULL = Plan((10, 1_000, 100_000), 16)
QUICK = Plan((10, 1_000, 20_000), 5)


def run(harness: Harness, *, quick: bool) -> list[Table]:
    plan = QUICK if quick else FULL
    begun = time.perf_counter()
    for size in plan.sizes:
        build(harness.api, f"cost-{size}", size)
    seconds = time.perf_counter() - begun
    for number in range(plan.rounds * 2 * BLOCK):
        build(harness.api, f"small-{number}", plan.sizes[0])
    harness.analyze()
    measured = measure(harness, plan)
    return [table(plan, measured, seconds)]


def build(api: Api, conversation: str, size: int, seed: int | None = None) -> None:
    api.create(conversation, BUDGET)
    api.append(conversation, history(size, seed=size if seed is None else seed))


OPERATIONS = ("append", "append + window", f"window {BUDGET}, own", f"window {OTHER_BUDGET}, beside")


def measure(harness: Harness, plan: Plan) -> dict[tuple[str, int], Series]:
    found = {(name, size): Series() for name in OPERATIONS for size in plan.sizes}
    for turn in range(plan.rounds):
        for name in OPERATIONS:
            for size in plan.sizes if turn % 2 else reversed(plan.sizes):
                block(harness, job(harness, plan, name, size, turn), found[name, size])
    return found


def block(harness: Harness, wanted: Job, series: Series) -> None:
    if wanted.method == "GET":
        harness.clients.run(Job(wanted.port, "GET", wanted.targets, requests=1))  # the cut is made here
    before = harness.quire.cpu()
    series.latencies += harness.clients.run(wanted).latencies
    series.cpu += harness.quire.cpu() - before


def job(harness: Harness, plan: Plan, name: str, size: int, turn: int) -> Job:
    if name.startswith("window"):
        query = f"?budget={OTHER_BUDGET}" if "beside" in name else ""
        return Job(harness.quire.port, "GET", [f"/conversations/cost-{size}/context{query}"], requests=BLOCK)
    query = "?include=context" if "window" in name else ""
    at = (2 * turn + bool(query)) * BLOCK
    small = [f"small-{number}" for number in range(at, at + BLOCK)]
    names = small if size == plan.sizes[0] else [f"cost-{size}"]
    targets = [f"/conversations/{conversation}/messages{query}" for conversation in names]
    return Job(harness.quire.port, "POST", targets, bodies(turn), requests=BLOCK)


def bodies(seed: int) -> list[str]:
    messages = history(2 * BLOCK, seed)
    return [json.dumps({"messages": messages[at : at + 2]}) for at in range(0, len(messages), 2)]


def table(plan: Plan, found: dict[tuple[str, int], Series], seconds: float) -> Table:
    rows = []
    for name in OPERATIONS:
        first = found[name, plan.sizes[0]]
        for size in plan.sizes:
            rows.append(row(name, size, found[name, size], first))
    small, middle, large = plan.sizes
    worst = max(ratio(found[name, large], found[name, small]) for name in OPERATIONS)
    full = max(ratio(found[name, large], found[name, middle]) for name in OPERATIONS)
    return Table(
        "Cost against history",
        ("operation", "history", "median ms", "p95 ms", "ratio", "CPU ms: server", "PostgreSQL", "ratio"),
        rows,
        (
            (
                f"Messages of about 60 tokens, a pair in each append, {plan.rounds * BLOCK} requests in each row. "
                f"Building the histories through the API, {sum(plan.sizes):,} messages, took {seconds:.0f} s."
            ),
            (
                f"Goal: the median at {large:,} within {GOAL} of that at {small}; the worst is {worst:.2f}. At {small} a "
                f"window holds all {small} messages, at {middle:,} and at {large:,} it is full: against {middle:,} the "
                f"worst is {full:.2f}. One window in about fourteen makes a cut once it is full, never at {small}."
            ),
        ),
        [drawn(plan, found)],
    )


def drawn(plan: Plan, found: dict[tuple[str, int], Series]) -> Plot:
    lines = {name: [(size, 1000 * found[name, size].cpu_each.total) for size in plan.sizes] for name in OPERATIONS}
    return Lines("cost", "CPU of a request by the length of its conversation", "messages", "ms CPU", lines)


def ratio(series: Series, first: Series) -> float:
    return median(series.latencies) / median(first.latencies)


def row(name: str, size: int, series: Series, first: Series) -> Sequence[str]:
    cpu = series.cpu_each
    return (
        name,
        f"{size:,}",
        milliseconds(median(series.latencies)),
        milliseconds(quantiles(series.latencies, n=20)[-1]),
        f"{ratio(series, first):.2f}",
        milliseconds(cpu.server),
        milliseconds(cpu.postgres),
        f"{cpu.total / first.cpu_each.total:.2f}",
    )
