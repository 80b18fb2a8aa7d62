"""The cost of a request with many conversations, and with users who have many memories. `python -m bench crowd`.

Requests of all kinds are spread over some of very many conversations, from one at a time to all of them. What a
process keeps of a conversation serves the few; where each request goes to another of a hundred thousand it has nothing
of any. In a harness of its own, filled by copying (see bench/filling.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from statistics import median
from time import perf_counter

from bench import harness
from bench.clients import Job
from bench.harness import Harness
from bench.load import filling
from bench.load.blocks import BUDGET, Series, bodies
from bench.load.filling import Copies
from bench.plots import Lines, Point
from bench.tables import Table, milliseconds
from bench.words import searches

OPERATIONS = ("window", "append", "turn", "search")
CLIENTS = 8
BLOCK = 6 * CLIENTS
"""The pairs of a block. They are few enough that a conversation to which all are appended needs no cut."""
MESSAGES, TEMPLATES = 20, 50


@dataclass(frozen=True)
class Plan:
    spreads: tuple[int, ...]
    """The numbers of conversations over which requests are spread. Those of the last get no requests before."""
    rounds: int
    memories: tuple[int, ...]
    """The numbers of a user's memories."""
    searches: int
    """The number of rounds of searches."""


FULL = Plan((1, 100, 10_000, 100_000), 12, (10, 1_000, 10_000, 200_000), 4)
QUICK = Plan((1, 100, 1_000), 4, (10, 1_000), 2)


def run(_: Harness, *, quick: bool) -> list[Table]:
    plan = QUICK if quick else FULL
    with harness.opened({"QUIRE_WORKER": "false"}) as opened:
        crowd, users, seconds = _fill(opened, plan)
        return [_spread(opened, plan, crowd, seconds), _searched(opened, plan, users)]


def _fill(opened: Harness, plan: Plan) -> tuple[Copies, dict[int, str], float]:
    """Return the crowd, users with many memories by their number, and the seconds it took to fill them in."""
    count = sum(len(numbers) for numbers in _numbers(plan).values())
    crowd = Copies("crowd", filling.templates(opened, "crowd", TEMPLATES, MESSAGES), count)
    users = {memories: filling.memories(opened, f"of-{memories}", memories) for memories in plan.memories}
    filling.settle(opened)
    begun = perf_counter()
    filling.fill(opened, crowd, *users.values())
    return crowd, {memories: copies.user(0) for memories, copies in users.items()}, perf_counter() - begun


# --- Conversations -----------------------------------------------------------------------------------


def _spread(opened: Harness, plan: Plan, crowd: Copies, seconds: float) -> Table:
    _ask_once(opened, plan, crowd)
    found = {(what, some): Series() for what in OPERATIONS for some in plan.spreads}
    blocks = {(what, some): _blocks(plan, what, some) for what, some in found}
    for turn in range(plan.rounds):
        for what, some in list(found) if turn % 2 else reversed(list(found)):
            numbers = next(blocks[what, some])
            _block(opened, _targets(crowd, what, numbers), bodies(turn), found[what, some])
    return _spread_table(plan, crowd, found, seconds)


def _numbers(plan: Plan) -> dict[int, range]:
    """Return the conversations of each spread. For a single one, each block has another, so that none grows long."""
    found: dict[int, range] = {}
    at = 0
    for some in plan.spreads:
        count = some if some > 1 else plan.rounds * len(OPERATIONS)
        found[some] = range(at, at + count)
        at += count
    return found


def _ask_once(opened: Harness, plan: Plan, crowd: Copies) -> None:
    """Request the windows of all spreads except the last, so that the process caches as many as it has room for."""
    last = _numbers(plan)[plan.spreads[-1]]
    targets = _targets(crowd, "window", range(last.start))
    opened.clients.run(Job(opened.quire.port, "GET", targets, clients=CLIENTS, requests=-(-len(targets) // CLIENTS)))


def _blocks(plan: Plan, what: str, some: int) -> Iterator[list[int]]:
    """Yield the conversations of an operation, block by block. No two operations share a conversation."""
    own = cycle(_numbers(plan)[some][OPERATIONS.index(what) :: len(OPERATIONS)])
    while True:
        yield list(islice(own, min(some, BLOCK)))


def _targets(crowd: Copies, what: str, numbers: Sequence[int]) -> list[str]:
    if what == "search":
        return searches([crowd.user(number) for number in numbers])
    end = {"window": "context", "append": "messages", "turn": "messages?include=context"}[what]
    return [f"/conversations/{crowd.conversation(number)}/{end}" for number in numbers]


def _block(opened: Harness, targets: list[str], sent: list[str], series: Series) -> None:
    is_sent = "/messages" in targets[0]
    job = Job(
        opened.quire.port, "POST" if is_sent else "GET", targets, sent if is_sent else [],
        clients=CLIENTS, requests=BLOCK // CLIENTS,
    )  # fmt: skip
    before = opened.quire.cpu()
    series.latencies += opened.clients.run(job).latencies
    series.cpu += opened.quire.cpu() - before


def _spread_table(plan: Plan, crowd: Copies, found: dict[tuple[str, int], Series], seconds: float) -> Table:
    rows, lines = [], dict[str, list[Point]]()
    for what in OPERATIONS:
        first = found[what, plan.spreads[0]]
        for some in plan.spreads:
            rows.append((what, f"{some:,}", *_cells(found[what, some], first)))
        lines[what] = [(some, 1000 * found[what, some].cpu_each.total) for some in plan.spreads]
    return Table(
        "Requests spread over many conversations",
        ("request", "conversations", "median ms", "CPU ms: server", "PostgreSQL", "ratio of CPU"),
        rows,
        (
            (
                f"{CLIENTS} clients, {plan.rounds * BLOCK} requests a row, spread over that many conversations of "
                f"{MESSAGES} messages of about 60 tokens, each with its own user; budget {BUDGET:,}; two messages an append. "
                f"The database holds {crowd.count:,} conversations and the users of the next table; copying their rows took "
                f"{seconds:.0f} s."
            ),
            (
                "In the first row of appends and turns eight clients wait for each other. Windows are cached for a minute "
                f"while there is room; in the row of {plan.spreads[-1]:,} every request goes to a conversation that is not "
                "cached."
            ),
        ),
        [Lines("crowd", "CPU of a request by the number of conversations", "conversations", "ms CPU", lines)],
    )


# --- Memories ----------------------------------------------------------------------------------------


def _searched(opened: Harness, plan: Plan, users: dict[int, str]) -> Table:
    found = {memories: Series() for memories in users}
    for turn in range(plan.searches):
        for memories in list(found) if turn % 2 else reversed(list(found)):
            _block(opened, searches([users[memories]] * BLOCK), [], found[memories])
    first = found[plan.memories[0]]
    points = [(memories, 1000 * series.cpu_each.total) for memories, series in found.items()]
    return Table(
        "Search over HTTP by the number of memories",
        ("memories of the user", "median ms", "CPU ms: server", "PostgreSQL", "ratio of CPU"),
        [(f"{memories:,}", *_cells(series, first)) for memories, series in found.items()],
        (
            (
                f"{CLIENTS} clients, {plan.searches * BLOCK} searches by keyword in each row, two words each, which are in "
                "about half of all messages: most memories match. With more than 10,000 memories texts repeat, and a search "
                "that finds repetitions reads on past them: a second statement."
            ),
        ),
        [
            Lines(
                "crowd-search", "CPU of a search over HTTP, by keyword", "memories of the user", "ms CPU",
                {"search": points}, log_y=True,
            )
        ],
    )  # fmt: skip


def _cells(series: Series, first: Series) -> tuple[str, str, str, str]:
    cpu = series.cpu_each
    return (
        milliseconds(median(series.latencies)),
        milliseconds(cpu.server),
        milliseconds(cpu.postgres),
        f"{cpu.total / first.cpu_each.total:.2f}",
    )
