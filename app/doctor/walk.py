"""Walk through the whole store, tenant by tenant, in statements that read a bounded number of rows each.

Each statement returns rows in the order of their key, with the names of their faults. Messages need the one before
them, so each batch but the first begins with the last row of the batch before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from asyncpg import Record

from app.doctor.damage import Fault
from app.doctor.probes import TABLES
from app.errors import StorageDamaged
from app.postgres import damage
from app.postgres.database import Database
from app.postgres.statements import SqlFile, Statement
from app.postgres.tenants import tenants

BATCH: Final = 1000
BLOCKS_NAMED: Final = 10
NOBODY: Final = UUID(int=0)
MARKS: Final = "erased|pruned|已删除|已被删除|已精简"
"""Words of the marks in place of what was erased or pruned. They can weigh more than that; offsets stay."""

_SQL = SqlFile(__file__)
MESSAGES = _SQL.statement("messages")
CONVERSATIONS = _SQL.statement("conversations")
ARCHIVES = _SQL.statement("archives")
MEMORIES = _SQL.statement("memories")
VECTORS = _SQL.statement("vectors")
UNEMBEDDED = _SQL.statement("unembedded")
POSTINGS = _SQL.statement("postings")
LISTED = _SQL.statement("listed")


@dataclass(frozen=True, slots=True)
class _Walk:
    sql: Statement
    start: Mapping[str, object]
    """The key to begin after, by its parameters."""
    more: Mapping[str, object] = field(default_factory=dict)
    overlaps: bool = False
    """Each batch begins with the last row of the one before."""


WALKS: Final = (
    _Walk(MESSAGES, {"conversation": "", "seq": 0}, {"marks": MARKS}, overlaps=True),
    _Walk(CONVERSATIONS, {"after": ""}, {"marks": MARKS}), _Walk(ARCHIVES, {"after": NOBODY}),
    _Walk(MEMORIES, {"after": NOBODY}), _Walk(VECTORS, {"after": NOBODY}), _Walk(UNEMBEDDED, {"after": NOBODY}),
    _Walk(POSTINGS, {"owner": NOBODY, "term": 0, "after": NOBODY}), _Walk(LISTED, {"after": NOBODY}),
)  # fmt: skip


async def walk(database: Database, batch: int = BATCH) -> tuple[list[Fault], int, int]:
    """Return the faults, and the numbers of rows and tenants that were read. Raises StorageUnavailable."""
    found: dict[str, Fault] = {}
    rows = 0
    everybody = await tenants(database)
    for tenant in everybody:
        for one in WALKS:
            try:
                rows += await _through(database, tenant, one, batch, found)
            except StorageDamaged as damage:
                await _around(database, tenant, damage.words, found)
    return list(found.values()), rows, len(everybody)


async def _around(database: Database, tenant: UUID, words: str, found: dict[str, Fault]) -> None:
    table, index = await damage.place_of(database, words)
    name, where = "damaged", f"{words} of tenant {tenant}"
    if index is not None:
        name = where = index
    elif table is not None:
        rows, blocks = await damage.readable(database, tenant, table)
        those = ", ".join(map(str, blocks[:BLOCKS_NAMED])) + (" …" if len(blocks) > BLOCKS_NAMED else "")
        where = f"{words}; table {table}, blocks {those}; {rows} rows of tenant {tenant} are readable"
    before = found.get(name) or Fault("damaged" if index is None else "index", 0, where)
    found[name] = Fault(before.name, before.count + 1, before.first)


async def _through(database: Database, tenant: UUID, one: _Walk, batch: int, found: dict[str, Fault]) -> int:
    """Add the faults of one tenant's rows to those found; return the number of rows."""
    rows, at = 0, tuple(one.start.values())
    while True:
        async with database.snapshot(tenant) as tx:
            place = dict(zip(one.start, at, strict=True))
            read: Sequence[Record] = await tx.fetch(one.sql, **place, **one.more, limit=batch)
        keys = [tuple(row)[:-1] for row in read]
        known = int(one.overlaps and bool(keys) and keys[0] == at)
        for key, row in zip(keys[known:], read[known:], strict=True):
            for name in row["faults"]:
                before = found.get(name) or Fault(name, 0, f"{' '.join(map(str, key))} of tenant {tenant}")
                found[name] = Fault(name, before.count + 1, before.first)
        rows += len(read) - known
        if len(read) < batch:
            return rows
        at = keys[-1]


# Whether a table shows any row; to a tenant that has none, it must not.
SHOWS = 'SELECT EXISTS (SELECT FROM "{table}")'
SHARED: Final = "tenants"
"""Its list is shown to everybody."""


async def visible(database: Database) -> tuple[list[str], int]:
    """Return the tables that show rows to a tenant that has none, and the number of tables that were tried."""
    async with database.snapshot(NOBODY) as tx:
        tables = [row["name"] for row in await tx.connection.fetch(TABLES) if row["name"] != SHARED]
        shown = [name for name in tables if await tx.connection.fetchval(SHOWS.format(table=name))]
    return shown, len(tables)


CHECKSUMS = """
SELECT current_setting('data_checksums') = 'on' AS are_on, coalesce(checksum_failures, 0) AS failures
  FROM pg_stat_database WHERE datname = current_database()
"""


async def checksums(database: Database) -> tuple[bool, int]:
    """Return whether the server checks its pages, and how many it has found damaged."""
    async with database.snapshot(NOBODY) as tx:
        row = await tx.connection.fetchrow(CHECKSUMS)
    assert row is not None
    return row["are_on"], row["failures"]
