"""Walk through the whole store, tenant by tenant, in statements that read a bounded number of rows each.

Each statement returns rows in the order of their key, with the names of their faults. Messages need the one before
them, so each batch but the first begins with the last row of the batch before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from asyncpg import Record

from app.doctor.damage import Fault
from app.doctor.probes import TABLES
from app.errors import StorageDamaged
from app.postgres import damage
from app.postgres.database import Database
from app.postgres.tenants import tenants

BATCH: Final = 1000
BLOCKS_NAMED: Final = 10
NOBODY: Final = UUID(int=0)
MARKS: Final = "erased|pruned|已删除|已被删除|已精简"
"""Words of the marks in place of what was erased or pruned. They can weigh more than that; offsets stay."""

# $2, $3: where to begin; $4: MARKS; $5: rows. ``over``: how much less the offsets are than the sums.
MESSAGES = """
WITH batch AS (
  SELECT conversation_id, seq, kind, full_tokens, short_tokens, full_before, short_before, digest, chain, archive_ids,
         coalesce(view, body) AS shown, row_number() OVER (PARTITION BY conversation_id ORDER BY seq) = 1 AS is_first
    FROM messages WHERE tenant_id = $1 AND (conversation_id, seq) >= ($2, $3)
   ORDER BY conversation_id, seq LIMIT $5
), placed AS ( -- p: the message that a branch's first one follows
  SELECT b.*, coalesce(lag(b.seq) OVER w, p.seq, 0) AS prev_seq,
         coalesce(lag(b.chain) OVER w, p.chain, '') AS prev_chain,
         b.seq > 1 AND coalesce(lag(b.chain) OVER w, p.chain) IS NULL AS is_chain_unknown,
         coalesce(lag(b.shown) OVER w, p.shown, '') AS prev_shown,
         coalesce(lag(b.full_before + b.full_tokens) OVER w, p.full_after, 0) - b.full_before AS full_over,
         coalesce(lag(b.short_before + b.short_tokens) OVER w, p.short_after, 0) - b.short_before AS short_over
    FROM batch b
    LEFT JOIN LATERAL (
      SELECT m.seq, m.chain, coalesce(m.view, m.body) AS shown, m.full_before + m.full_tokens AS full_after,
             m.short_before + m.short_tokens AS short_after
        FROM conversations c
        JOIN messages m ON m.tenant_id = $1 AND m.conversation_id = c.parent_id AND m.seq = b.seq - 1
       WHERE c.tenant_id = $1 AND c.id = b.conversation_id AND b.is_first) p ON true
  WINDOW w AS (PARTITION BY b.conversation_id ORDER BY b.seq)
)
SELECT conversation_id, seq, array_remove(ARRAY[
         CASE WHEN seq <> prev_seq + 1 THEN 'gap' END,
         CASE WHEN seq = prev_seq + 1 AND (least(full_over, short_over) < 0
                                           OR greatest(full_over, short_over) > 0 AND prev_shown !~ $4)
              THEN 'sums' END,
         CASE WHEN seq = prev_seq + 1 AND NOT is_chain_unknown AND chain <>
                   CASE WHEN kind = 'prompt' OR digest = '' THEN prev_chain ELSE sha256(prev_chain || digest) END
              THEN 'chain' END,
         CASE WHEN EXISTS (SELECT FROM unnest(archive_ids) AS r (id)
                            WHERE NOT EXISTS (SELECT FROM archives a WHERE a.tenant_id = $1 AND a.id = r.id))
              THEN 'placeholder' END], NULL) AS faults
  FROM placed ORDER BY conversation_id, seq
"""
CONVERSATIONS = """
SELECT c.id, array_remove(ARRAY[
         CASE WHEN c.last_seq <> coalesce(m.seq, 0) OR c.chain <> coalesce(m.chain, c.chain)
                   OR least(m.full_over, m.short_over) < 0
                   OR greatest(m.full_over, m.short_over) > 0 AND m.shown !~ $3
              THEN 'totals' END], NULL) AS faults
  FROM (SELECT id, parent_id, last_seq, full_total, short_total, chain FROM conversations
         WHERE tenant_id = $1 AND id > $2 ORDER BY id LIMIT $4) c
  LEFT JOIN LATERAL (
    SELECT m.seq, m.chain, coalesce(m.view, m.body) AS shown, m.full_before + m.full_tokens - c.full_total AS full_over,
           m.short_before + m.short_tokens - c.short_total AS short_over
      FROM ((SELECT * FROM messages WHERE tenant_id = $1 AND conversation_id = c.id ORDER BY seq DESC LIMIT 1)
            UNION ALL -- of a branch without messages of its own
            (SELECT * FROM messages WHERE tenant_id = $1 AND conversation_id = c.parent_id AND seq = c.last_seq)) m
     ORDER BY m.conversation_id = c.id DESC LIMIT 1) m ON true
 ORDER BY c.id
"""
ARCHIVES = """
SELECT a.id, array_remove(ARRAY[CASE WHEN t.digest IS NULL THEN 'content' END], NULL) AS faults
  FROM (SELECT id, scope, digest FROM archives WHERE tenant_id = $1 AND id > $2 ORDER BY id LIMIT $3) a
  LEFT JOIN archive_contents t ON t.tenant_id = $1 AND t.scope = a.scope AND t.digest = a.digest
 ORDER BY a.id
"""
MEMORIES = """
SELECT s.id, array_remove(ARRAY[
         CASE WHEN s.archive_id IS NOT NULL
                   AND NOT EXISTS (SELECT FROM archives a WHERE a.tenant_id = $1 AND a.id = s.archive_id)
                OR s.seq IS NOT NULL AND s.conversation_id IS NOT NULL
                   AND NOT EXISTS (SELECT FROM messages m WHERE m.tenant_id = $1
                                      AND m.conversation_id = s.conversation_id AND m.seq = s.seq)
              THEN 'source' END], NULL) AS faults
  FROM (SELECT id, archive_id, conversation_id, seq FROM memories
         WHERE tenant_id = $1 AND id > $2 ORDER BY id LIMIT $3) s
 ORDER BY s.id
"""
VECTORS = """
SELECT e.memory_id, array_remove(ARRAY[CASE WHEN s.id IS NULL THEN 'vector' END], NULL) AS faults
  FROM (SELECT memory_id FROM embeddings WHERE tenant_id = $1 AND memory_id > $2 ORDER BY memory_id LIMIT $3) e
  LEFT JOIN memories s ON s.tenant_id = $1 AND s.id = e.memory_id
 ORDER BY e.memory_id
"""
UNEMBEDDED = """
SELECT u.memory_id, array_remove(ARRAY[CASE WHEN s.id IS NULL THEN 'unembedded' END], NULL) AS faults
  FROM (SELECT memory_id FROM unembedded WHERE tenant_id = $1 AND memory_id > $2 ORDER BY memory_id LIMIT $3) u
  LEFT JOIN memories s ON s.tenant_id = $1 AND s.id = u.memory_id
 ORDER BY u.memory_id
"""


@dataclass(frozen=True, slots=True)
class _Walk:
    sql: str
    start: tuple[Any, ...]
    more: tuple[Any, ...] = ()
    """Parameters between the start and the number of rows."""
    overlaps: bool = False
    """Each batch begins with the last row of the one before."""


WALKS: Final = (
    _Walk(MESSAGES, ("", 0), (MARKS,), overlaps=True),
    _Walk(CONVERSATIONS, ("",), (MARKS,)),
    _Walk(ARCHIVES, (NOBODY,)),
    _Walk(MEMORIES, (NOBODY,)),
    _Walk(VECTORS, (NOBODY,)),
    _Walk(UNEMBEDDED, (NOBODY,)),
)


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
    """Add what is damaged, and what of the same table is still readable."""
    table = await damage.table_of(database, words)
    where = f"{words} of tenant {tenant}"
    if table is not None:
        rows, blocks = await damage.readable(database, tenant, table)
        those = ", ".join(map(str, blocks[:BLOCKS_NAMED])) + (" …" if len(blocks) > BLOCKS_NAMED else "")
        where = f"{words}; table {table}, blocks {those or 'of an index'}; {rows} rows of tenant {tenant} are readable"
    before = found.get("damaged")
    found["damaged"] = Fault("damaged", 1 + (before.count if before else 0), before.first if before else where)


async def _through(database: Database, tenant: UUID, one: _Walk, batch: int, found: dict[str, Fault]) -> int:
    """Add the faults of one tenant's rows to those found; return the number of rows."""
    rows, at = 0, one.start
    while True:
        async with database.snapshot(tenant) as tx:
            read: Sequence[Record] = await tx.fetch(one.sql, *at, *one.more, batch)
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
