"""The size of the record of served windows: bytes of its tables beside all other stored data.

Each conversation is appended message by message, with a window before each answer of the assistant, as an agent does.
Tables are rewritten before they are measured, so that what updates left behind does not count. What the record costs
in CPU is measured by `bench.load.paired` against a tree whose `serving.note` returns at once.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

import asyncpg

from bench.harness import Harness
from bench.load.sizes import until_idle
from bench.tables import Table
from bench.window.replay import DATA
from quire_command.demo.command import CONVERSATION
from quire_command.demo.transcript import Transcript, load

BUDGET = 8_000
USERS = 6
"""The number of users with the shipped conversation; the sets have many conversations."""
SETS = ("taubench", "sweagent", "memorybank", "deerflow")
TABLES = ("served_windows", "served_texts", "own_texts")
SIZES = """
SELECT relname, pg_total_relation_size(c.oid) AS bytes FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = 'public' AND relkind = 'r'
"""


def run(opened: Harness, *, quick: bool) -> list[Table]:
    found = {"shipped": _of_users(load(CONVERSATION))}
    for name in () if quick else SETS:
        if (file := DATA / name / "conversations.jsonl").exists():
            found[name] = load(file)
    rows: list[tuple[str, ...]] = []
    before = _sizes(opened)
    for name, transcripts in found.items():
        windows = _played(opened, transcripts)
        after = _sizes(opened)
        rows.append(_row(name, windows, before, after))
        before = after
    note = f"Bytes of the tables {', '.join(TABLES)}, indexes included, against all others; budget {BUDGET:,}."
    more = "Without embeddings, which would make the share smaller; each set in the database after those above it."
    return [
        Table("What was served", ("set", "windows", "bytes a window", "others' bytes", "share"), rows, (note, more))
    ]


def _of_users(transcripts: Sequence[Transcript]) -> list[Transcript]:
    """Return a single conversation for several users, because with one the first pages of tables count too much."""
    return [replace(one, id=f"{one.id}-{user}") for one in transcripts for user in range(USERS)]


def _row(name: str, windows: int, before: Mapping[str, int], after: Mapping[str, int]) -> tuple[str, ...]:
    grown = {table: after[table] - before[table] for table in after}
    own = sum(grown[table] for table in TABLES)
    others = sum(grown.values()) - own
    return name, f"{windows:,}", f"{own / max(1, windows):,.0f}", f"{others:,}", f"{own / max(1, others):.1%}"


def _played(opened: Harness, transcripts: Sequence[Transcript]) -> int:
    windows = 0
    for transcript in transcripts:
        path = f"/conversations/served-{transcript.id}"
        for at, message in enumerate(transcript.messages):
            if at and message["role"] == "assistant":
                opened.api.call("GET", f"{path}/context?budget={BUDGET}")
                windows += 1
            opened.api.call("POST", f"{path}/messages", {"messages": [message], "user_id": transcript.id})
        opened.api.call("GET", f"{path}/windows?limit=1")
    until_idle(opened.api)
    return windows


def _sizes(opened: Harness) -> dict[str, int]:
    return asyncio.run(_measured(opened.postgres.superuser_dsn))


async def _measured(dsn: str) -> dict[str, int]:
    connection = await asyncpg.connect(dsn)
    await connection.execute("VACUUM FULL")
    rows = await connection.fetch(SIZES)
    await connection.close()
    return {row["relname"]: row["bytes"] for row in rows}
