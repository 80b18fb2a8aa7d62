"""Large tables: the cost of a request beside millions of messages, and their size on disk.

`python -m bench large --messages N`. One conversation is copied until there are so many messages (see bench/filling.py).
No statement looks at a text of another user, so it does no harm that they repeat. No vectors are made.
"""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import replace
from statistics import median

import asyncpg

from bench.clients import Job
from bench.harness import Harness
from bench.load import filling
from bench.load.blocks import BLOCK, BUDGET, Series, block, bodies
from bench.load.filling import AT_ONCE, Copies
from bench.load.sizes import until_idle
from bench.tables import Table, milliseconds
from bench.words import history

MESSAGES = 1_000_000
MESSAGES_EACH, CONVERSATIONS_EACH_USER = 200, 5
PROBE_MESSAGES = 1_000
ROUNDS = 8
OPERATIONS = ("append", f"window {BUDGET}", "search, keyword")
PROJECTED = 100_000_000


def run(harness: Harness, *, quick: bool, messages: int = MESSAGES) -> list[Table]:
    wanted = messages // 20 if quick else messages
    series: dict[tuple[str, str], Series] = {}
    _probe(harness, "empty", series)
    template = filling.templates(harness, "large", 1, MESSAGES_EACH)
    until_idle(harness.api)
    begun = time.perf_counter()
    filling.fill(harness, Copies("fill", template, wanted // MESSAGES_EACH, CONVERSATIONS_EACH_USER))
    seconds = time.perf_counter() - begun
    _probe(harness, "large", series)
    sizes = asyncio.run(_sizes(harness.postgres.superuser_dsn, wanted))
    return [_costs(series, wanted, seconds), _space(sizes, wanted)]


# --- What a request costs ----------------------------------------------------------------------------


def _probe(harness: Harness, name: str, series: dict[tuple[str, str], Series]) -> None:
    """Measure all operations in turns, on a new conversation of a new user."""
    conversation = f"probe-{name}"
    harness.api.call("POST", "/conversations", {"id": conversation, "user_id": name, "budget": BUDGET})
    for at in range(0, PROBE_MESSAGES, PROBE_MESSAGES // 2):
        part = history(PROBE_MESSAGES, seed=1)[at : at + PROBE_MESSAGES // 2]
        harness.api.call("POST", f"/conversations/{conversation}/messages", {"messages": part})
    until_idle(harness.api)
    harness.analyze()
    port = harness.quire.port
    targets = {
        OPERATIONS[0]: Job(port, "POST", [f"/conversations/{conversation}/messages"], requests=BLOCK),
        OPERATIONS[1]: Job(port, "GET", [f"/conversations/{conversation}/context"], requests=BLOCK),
        OPERATIONS[2]: Job(
            port, "GET",
            [f"/memories/search?user_id={name}&query={word}%20invoices&search_mode=keyword" for word in ("Lyon", "ramp")],
            requests=BLOCK,
        ),
    }  # fmt: skip
    for turn in range(ROUNDS + 1):
        for operation, job in targets.items():
            wanted = replace(job, bodies=bodies(turn)) if job.method == "POST" else job
            found = series.setdefault((operation, name), Series()) if turn else Series()  # the first warms up
            block(harness, wanted, found)
            until_idle(harness.api)


def _costs(series: dict[tuple[str, str], Series], messages: int, seconds: float) -> Table:
    rows = []
    for operation in OPERATIONS:
        empty = series[operation, "empty"]
        for name, shown in (("empty", "0"), ("large", f"{messages:,}")):
            found = series[operation, name]
            rows.append(
                (
                    operation,
                    shown,
                    milliseconds(median(found.latencies)),
                    milliseconds(found.cpu_each.server),
                    milliseconds(found.cpu_each.postgres),
                    f"{found.cpu_each.total / empty.cpu_each.total:.2f}",
                )
            )
    return Table(
        "Large tables: what a request costs",
        ("operation", "messages of others", "median ms", "CPU ms: server", "PostgreSQL", "ratio of CPU"),
        rows,
        (
            (
                f"A conversation of {PROBE_MESSAGES:,} messages, beside nothing and then, with the same messages, beside "
                f"those of others. {ROUNDS * BLOCK} requests in each row. Putting the rows there took {seconds:.0f} s."
            ),
        ),
    )


# --- Space -------------------------------------------------------------------------------------------

SIZES = """
SELECT c.relname AS name, i.relname AS index, pg_relation_size(coalesce(i.oid, c.oid)) AS bytes
  FROM pg_class c LEFT JOIN LATERAL (
       SELECT NULL::oid AS oid, NULL::name AS relname UNION ALL
       SELECT i.oid, i.relname FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid WHERE x.indrelid = c.oid) i ON true
 WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND pg_total_relation_size(c.oid) > $1
 ORDER BY pg_total_relation_size(c.oid) DESC, i.relname NULLS FIRST
"""


async def _sizes(dsn: str, messages: int) -> list[asyncpg.Record]:
    connection = await asyncpg.connect(dsn)
    try:
        return list(await connection.fetch(SIZES, messages))  # of which each message has more than a byte
    finally:
        await connection.close()


def _space(sizes: list[asyncpg.Record], messages: int) -> Table:
    total = sum(row["bytes"] for row in sizes)
    rows = [
        (row["index"] or f"**{row['name']}**", f"{row['bytes'] / 1e6:,.0f}", f"{row['bytes'] / messages:,.0f}")
        for row in sizes
        if row["bytes"] > messages
    ]
    rows.append(("all", f"{total / 1e6:,.0f}", f"{total / messages:,.0f}"))
    text = len(json.dumps(history(2, seed=7)[0]["content"]))
    return Table(
        "Large tables: space",
        ("**table** or index", "MB", "bytes a message"),
        rows,
        (
            (
                f"{messages:,} messages of {text} characters in conversations of {MESSAGES_EACH}; {AT_ONCE} conversations "
                "go on beside each other. Tables and indexes of less than a byte a message are left out. At the same rate "
                f"{PROJECTED:,} messages take {total / messages * PROJECTED / 1e9:,.0f} GB, without vectors."
            ),
        ),
    )
