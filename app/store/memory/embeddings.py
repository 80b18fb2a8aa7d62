"""Vectors of memories, the models that made them, and the memories still without one.

A tenant has one current model. Vectors of another model stay until vectors of the current one replace them. Search uses
only the current model's vectors, and falls back to keywords for memories without one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import NAMESPACE_URL, UUID, uuid5

from app.postgres.statements import SqlFile
from app.postgres.transactions import ReadTx, Tx

Vector = Sequence[float]


def model_id(name: str, dimensions: int) -> UUID:
    """Return a model's id, an index key of fixed size."""
    return uuid5(NAMESPACE_URL, f"quire:embedding:{dimensions}:{name}")


def literal(vector: Vector) -> str:
    return f"[{','.join(f'{value:.6g}' for value in vector)}]"


def vector(written: str) -> Vector:
    """Return the vector of a literal."""
    return [float(value) for value in written[1:-1].split(",")]


# An owner's memories that wait for a vector, newest first, with the places of the texts to embed.
WAITING = """
SELECT m.id, m.type, u.is_said, m.conversation_id, m.seq, m.archive_id, m.start, m.length,
       coalesce(w.id, m.id) AS whole,
       substr(CASE WHEN w.id IS NULL THEN m.content ELSE w.content END, m.start + 1, m.length) AS content,
       cardinality(CASE WHEN w.id IS NULL THEN m.nul_offsets ELSE w.nul_offsets END) > 0 AS has_nul
  FROM (SELECT memory_id, is_said FROM unembedded WHERE tenant_id = $1 AND owner = $2
         ORDER BY memory_id DESC LIMIT $3) u
  JOIN memories m ON m.tenant_id = $1 AND m.id = u.memory_id
  LEFT JOIN memories w ON w.tenant_id = $1 AND w.id = m.part_of
 ORDER BY m.id DESC
"""


@dataclass(frozen=True, slots=True)
class WaitingMemory:
    """A memory, or a passage of one, that waits for a vector."""

    id: UUID
    type: str
    is_said: bool
    conversation_id: str | None
    seq: int | None
    archive_id: UUID | None
    start: int
    length: int
    whole: UUID
    """The id of the whole memory, to which a passage belongs."""
    content: str | None
    has_nul: bool

    @property
    def place(self) -> tuple[str, int]:
        """Return the place of the message to which it belongs."""
        assert self.conversation_id is not None
        assert self.seq is not None
        return self.conversation_id, self.seq


async def waiting(tx: ReadTx, owner: UUID, limit: int) -> list[WaitingMemory]:
    return [WaitingMemory(*row) for row in await tx.fetch(WAITING, owner, limit)]


WAITING_MAX = 1_000
COUNT_MISSING = f"""
SELECT (SELECT count(*) FROM (SELECT FROM unembedded
                               WHERE tenant_id = $1 AND owner = ANY ($2::uuid[])
                               LIMIT {WAITING_MAX}) u) AS waiting,
       (SELECT count(*) FROM (SELECT FROM memories WHERE tenant_id = $1 AND owner = ANY ($2::uuid[]) AND refused
                               LIMIT {WAITING_MAX}) m) AS refused
"""


async def count_missing(tx: ReadTx, owners: Sequence[UUID]) -> tuple[int, int]:
    """Return how many memories of owners wait for a vector, and how many never get one, because the provider refused
    them. Each number is at most WAITING_MAX.
    """
    row = await tx.fetchrow(COUNT_MISSING, owners)
    assert row is not None
    return row["waiting"], row["refused"]


# The offsets of removed NULs in some memories.
NUL_OFFSETS = "SELECT id, nul_offsets FROM memories WHERE tenant_id = $1 AND id = ANY ($2::uuid[])"


async def nul_offsets(tx: ReadTx, ids: Sequence[UUID]) -> dict[UUID, Sequence[int]]:
    if not ids:
        return {}
    return {row["id"]: row["nul_offsets"] for row in await tx.fetch(NUL_OFFSETS, ids)}


# Inserts or replaces vectors, except those of memories that were erased meanwhile.
WRITE = """
WITH alive AS (
  SELECT m.id, v.embedding FROM unnest($4::uuid[], $5::text[]) AS v (id, embedding)
    JOIN memories m ON m.tenant_id = $1 AND m.id = v.id FOR KEY SHARE OF m
)
INSERT INTO embeddings (tenant_id, memory_id, owner, model, embedding)
SELECT $1, id, $2, $3, embedding::halfvec FROM alive
ON CONFLICT (tenant_id, memory_id) DO UPDATE SET model = excluded.model, embedding = excluded.embedding
"""
SETTLE = """
DELETE FROM unembedded WHERE tenant_id = $1 AND owner = $2 AND memory_id = ANY ($3::uuid[])
"""
# Records which of the settled memories the provider refused.
REFUSED = """
UPDATE memories SET refused = NOT refused
 WHERE tenant_id = $1 AND id = ANY ($2::uuid[]) AND refused <> (id = ANY ($3::uuid[]))
"""


async def write(
    tx: Tx,
    owner: UUID,
    model: UUID,
    vectors: Sequence[tuple[UUID, Vector]],
    settled: Sequence[UUID],
    refused: Sequence[UUID] = (),
) -> None:
    """Store vectors. ``settled`` memories wait no more: those with vectors, without text, or ``refused``."""
    if vectors:
        ids, values = [v[0] for v in vectors], [literal(v[1]) for v in vectors]
        await tx.execute(WRITE, owner, model, ids, values)
    await tx.execute(REFUSED, settled, refused)
    await tx.execute(SETTLE, owner, settled)


@dataclass(frozen=True, slots=True)
class Wanting:
    """Owners whose memories need vectors, and how far the tenant's memories were checked."""

    owners: Sequence[UUID]
    through: UUID | None
    """The last checked id; None if all were checked."""


# Makes a model the tenant's only current one.
ADOPT = """
INSERT INTO embedding_models (tenant_id, id, name, dimensions, is_current) VALUES ($1, $2, $3, $4, true)
ON CONFLICT (tenant_id, id) DO UPDATE SET is_current = true
"""
RETIRE = "UPDATE embedding_models SET is_current = false WHERE tenant_id = $1 AND id <> $2 AND is_current"
# Marks stored memories, by owner and id.
WANT = """
INSERT INTO unembedded (tenant_id, owner, memory_id)
SELECT $1, u.owner, u.id FROM unnest($2::uuid[], $3::uuid[]) AS u (owner, id) ON CONFLICT DO NOTHING
"""


async def want(tx: Tx, memories: Sequence[Iterable[UUID]]) -> None:
    """Mark memories, given as (owner, id) and just stored or locked, as waiting for a vector."""
    if memories:
        await tx.execute(WANT, *map(list, zip(*memories, strict=True)))


_SQL = SqlFile(__file__)
LOOK = _SQL.statement("look")
HOLD_LACKING = _SQL.statement("hold_lacking")
MARK = _SQL.statement("mark")


async def adopt(tx: Tx, name: str, dimensions: int) -> UUID:
    """Make a model the tenant's current one, and return its id."""
    model = model_id(name, dimensions)
    await tx.execute(RETIRE, model)
    await tx.execute(ADOPT, model, name, dimensions)
    return model


CURRENT = "SELECT id FROM embedding_models WHERE tenant_id = $1 AND is_current"


async def current(tx: ReadTx) -> UUID | None:
    model: UUID | None = await tx.fetchval(CURRENT)
    return model


# The current model's name and dimensions.
CURRENT_NAME = "SELECT name, dimensions FROM embedding_models WHERE tenant_id = $1 AND is_current"


async def current_name(tx: ReadTx) -> tuple[str, int] | None:
    row = await tx.fetchrow(CURRENT_NAME)
    return (row["name"], row["dimensions"]) if row else None


async def mark(tx: Tx, model: UUID, after: UUID, limit: int) -> Wanting:
    """Mark the memories among the next ``limit`` that have no vector of the model as waiting for one."""
    if tx.is_sharded:
        looked = await tx.fetch(LOOK, after=after, limit=limit)
        lacking = await tx.fetch(HOLD_LACKING, ids=[row["id"] for row in looked], model=model)
        await want(tx, lacking)
        return Wanting(sorted({row["owner"] for row in lacking}), looked[-1]["id"] if len(looked) == limit else None)
    row = await tx.fetchrow(MARK, model=model, after=after, limit=limit)
    assert row is not None
    return Wanting(row["owners"] or (), row["through"] if row["looked_at"] == limit else None)
