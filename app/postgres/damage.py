"""Find the table of a damaged database file, and the rows that can still be read."""

from __future__ import annotations

import re
from uuid import UUID

from app.errors import StorageDamaged
from app.postgres.database import Database

_FILE = re.compile(r"base/\d+/(\d+)")
_NAMED = re.compile(r'(?:for toast value \d+ in|table|(index)) "?(\w+)"?')
BLOCK_BYTES = 8192

# The table that a file is of (of its rows, of an index's or of long values), and the index.
OWNER = """
WITH file AS (SELECT coalesce(pg_filenode_relation(0, $1::oid)::oid, to_regclass($2)::oid) AS oid),
     own AS (SELECT coalesce((SELECT indrelid FROM pg_index WHERE indexrelid = file.oid), file.oid) AS oid FROM file)
SELECT coalesce((SELECT c.oid::regclass::text FROM pg_class c WHERE c.reltoastrelid = own.oid),
                own.oid::regclass::text) AS name,
       (SELECT indexrelid::regclass::text FROM pg_index, file WHERE indexrelid = file.oid) AS index
  FROM own
"""
SIZE = "SELECT pg_relation_size($1::regclass) AS bytes"


async def place_of(database: Database, words: str) -> tuple[str | None, str | None]:
    """Return the table and the index that the server's message about a damage means. Raises StorageUnavailable."""
    file, named = _FILE.search(words), _NAMED.search(words)
    name = "" if named is None else named[2] if named[1] else f"pg_toast.{named[2]}"
    row = await database.fetch_row(OWNER, int(file[1]) if file else 0, name)
    return (row["name"], row["index"]) if row else (None, None)


async def described(database: Database, words: str) -> str:
    """Return the server's message about a damage, with the place."""
    table, index = await place_of(database, words)
    return f"{words}, of the table {table}" + (f", index {index}" if index else "") if table else words


async def readable(database: Database, tenant: UUID, table: str) -> tuple[int, list[int]]:
    """Return the number of a tenant's readable rows in a table, and the unreadable blocks."""
    row = await database.fetch_row(SIZE, table)
    rows, damaged = 0, list[int]()
    ranges = [(0, -(-row["bytes"] // BLOCK_BYTES) if row else 0)]
    while ranges:
        first, end = ranges.pop()
        try:
            rows += await _rows(database, tenant, table, first, end)
        except StorageDamaged:
            middle = (first + end) // 2
            if end - first == 1:
                damaged.append(first)
            else:
                ranges += [(first, middle), (middle, end)]
    return rows, sorted(damaged)


async def _rows(database: Database, tenant: UUID, table: str, first: int, end: int) -> int:
    """Count rows in a range of blocks by reading them whole, long values included. Raises StorageDamaged."""
    sql = f"SELECT count(length(t::text)) FROM {table} t WHERE ctid >= $1::tid AND ctid < $2::tid"  # noqa: S608 # nosec
    async with database.snapshot(tenant) as tx:
        return int(await tx.connection.fetchval(sql, (first, 0), (end, 0)))
