"""What branches cost: a fork at any length, and the same requests on a branch ten forks deep and on a trunk of its length.

Both have the same messages; the branch's last 200 are in ten conversations, 20 in each. Requests go to one and the other
in turn, and the ratio is that of their CPU. A *first window* has a budget that was not served before: its contents page
is made anew.
"""

import json
from collections.abc import Callable
from statistics import mean, median, quantiles

from bench.clients import Job
from bench.harness import USER, Harness, settled
from bench.load.blocks import BUDGET, build
from bench.load.sizes import until_idle
from bench.tables import Table
from bench.words import QUERIES, history, search

SIZES, SIZES_QUICK = (200, 10_000, 100_000), (200, 2_000)
FORKS = 30
DEPTH, EACH = 10, 20
LENGTH, LENGTH_QUICK = 2_000, 600
PAIRS, PAIRS_QUICK = 24, 6
REQUESTS = 60
"""The number of requests to each in a turn."""
GOAL = 1.2

Ask = Callable[[str, int], Job]
"""Returns the requests of a turn to a conversation."""


def run(opened: Harness, *, quick: bool) -> list[Table]:
    return [_forks(opened, SIZES_QUICK if quick else SIZES), _deep(opened, quick=quick)]


def _forks(opened: Harness, sizes: tuple[int, ...]) -> Table:
    rows = []
    for size in sizes:
        name = f"forked-{size}"
        build(opened.api, name, size)
        until_idle(opened.api)
        opened.analyze()
        for way, place in (("at the end", None), ("in the middle", size // 2)):
            body = json.dumps({"at": place})
            job = Job(opened.quire.port, "POST", [f"/conversations/{name}/fork"], [body], clients=1, requests=FORKS)
            begun = opened.quire.cpu().total
            found = opened.clients.run(job).latencies
            cpu = (settled(opened.quire).total - begun) / FORKS
            rows.append((f"{size:,}, {way}", f"{median(found) * 1000:.1f}", f"{cpu * 1000:.1f}"))
    note = f"{FORKS} forks of one conversation, one after the other; CPU of Quire and PostgreSQL."
    return Table("Forks", ("messages", "ms", "CPU ms"), rows, (note,))


def _deep(opened: Harness, *, quick: bool) -> Table:
    trunk, branch = _grown(opened, LENGTH_QUICK if quick else LENGTH)
    rows = []
    for name, ask in ASKED.items():
        asked = ask(opened)
        ratios, before, after = [], [], []
        for turn in range(-1, PAIRS_QUICK if quick else PAIRS):  # the first warms both up
            cpu = {}
            for one in (trunk, branch)[:: 1 if turn % 2 else -1]:
                begun = opened.quire.cpu().total
                opened.clients.run(asked(one, turn + 1))
                cpu[one] = (settled(opened.quire).total - begun) / REQUESTS * 1000
            if turn >= 0:
                before.append(cpu[trunk])
                after.append(cpu[branch])
                ratios.append(cpu[branch] / cpu[trunk])
        low, middle, high = quantiles(ratios, n=4)
        found = (f"{mean(before):.2f}", f"{mean(after):.2f}", f"{middle:.2f}", f"{low:.2f}–{high:.2f}")
        rows.append((name, *found))
    notes = (f"CPU ms a request; {PAIRS} pairs of turns of {REQUESTS} requests. Goal: {GOAL}.",)
    return Table("Ten forks deep", ("request", "trunk", "ten deep", "ratio", "quartiles"), rows, notes)


def _grown(opened: Harness, length: int) -> tuple[str, str]:
    """Return a trunk and a branch ten forks deep with the same messages."""
    messages = history(length, seed=7)
    own = length - DEPTH * EACH
    for name in ("trunk", "deep-0"):
        opened.api.create(name, BUDGET)
    opened.api.append("trunk", messages)
    opened.api.append("deep-0", messages[:own])
    until_idle(opened.api)
    for depth in range(1, DEPTH + 1):
        opened.api.call("POST", f"/conversations/deep-{depth - 1}/fork", {"id": f"deep-{depth}"})
        opened.api.append(f"deep-{depth}", messages[own + (depth - 1) * EACH : own + depth * EACH])
        until_idle(opened.api)
    opened.analyze()
    return "trunk", f"deep-{DEPTH}"


# --- The requests ------------------------------------------------------------------------------------


def _windows(opened: Harness) -> Ask:
    return lambda name, _turn: Job(
        opened.quire.port, "GET", [f"/conversations/{name}/context"], clients=1, requests=REQUESTS
    )


def _first_windows(opened: Harness) -> Ask:
    def ask(name: str, turn: int) -> Job:
        budgets = (5_000 + turn * REQUESTS + number for number in range(REQUESTS))
        targets = [f"/conversations/{name}/context?budget={budget}" for budget in budgets]
        return Job(opened.quire.port, "GET", targets, clients=1, requests=REQUESTS)

    return ask


def _appends(opened: Harness) -> Ask:
    def ask(name: str, turn: int) -> Job:
        said = history(2 * REQUESTS, seed=turn)
        bodies = [json.dumps({"messages": said[at : at + 2]}) for at in range(0, len(said), 2)]
        target = f"/conversations/{name}/messages?include=context"
        return Job(opened.quire.port, "POST", [target], bodies, clients=1, requests=REQUESTS)

    return ask


def _searches(opened: Harness) -> Ask:
    def ask(name: str, _turn: int) -> Job:
        targets = [f"{search(USER, query, 'keyword')}&conversation_id={name}" for query in QUERIES]
        return Job(opened.quire.port, "GET", targets, clients=1, requests=REQUESTS)

    return ask


ASKED: dict[str, Callable[[Harness], Ask]] = {
    "first window": _first_windows,
    "window": _windows,
    "search": _searches,
    "append and window": _appends,
}
