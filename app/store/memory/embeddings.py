"""Vectors of memories, the models that made them, and the memories still without one.

A tenant has one current model. Vectors of another model stay until vectors of the current one replace them; search uses
the current model's only, and falls back to keywords for memories without one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import NAMESPACE_URL, UUID, uuid5

from app.postgres.statements import SqlFile
from app.postgres.transactions import ReadTx, Tx

Vector = Sequence[float]


def model_id(name: str, dimensions: int) -> UUID:
    """Return a model as an index key of fixed size."""
    return uuid5(NAMESPACE_URL, f"quire:embedding:{dimensions}:{name}")


def literal(vector: Vector) -> str:
    return f"[{','.join(f'{value:.6g}' for value in vector)}]"


def vector(written: str) -> Vector:
    """Return the vector that a literal is of."""
    return [float(value) for value in written[1:-1].split(",")]


# Memories of one owner that want a vector, the newest first, with what their texts are made from; and the message
# before an episode's, which it may answer.
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
    """A memory, or a passage of one, that wants a vector."""

    id: UUID
    type: str
    is_said: bool
    conversation_id: str | None
    seq: int | None
    archive_id: UUID | None
    start: int
    length: int
    whole: UUID
    """The memory that it is, or is a passage of."""
    content: str | None
    has_nul: bool

    @property
    def place(self) -> tuple[str, int]:
        """Return the message that it is a passage of."""
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
    """Return how many memories of owners wait for a vector, and how many never get one because the provider refuses
    them; each up to WAITING_MAX.
    """
    row = await tx.fetchrow(COUNT_MISSING, owners)
    assert row is not None
    return row["waiting"], row["refused"]


# Where NUL was in some memories.
NUL_OFFSETS = "SELECT id, nul_offsets FROM memories WHERE tenant_id = $1 AND id = ANY ($2::uuid[])"


async def nul_offsets(tx: ReadTx, ids: Sequence[UUID]) -> dict[UUID, Sequence[int]]:
    if not ids:
        return {}
    return {row["id"]: row["nul_offsets"] for row in await tx.fetch(NUL_OFFSETS, ids)}


# Insert or replace vectors; those of memories that were erased meanwhile are dropped.
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
# Which of the settled memories the provider refused.
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
    """Keep vectors, and want none any more for ``settled``: those, what cannot have one, and ``refused``."""
    if vectors:
        ids, values = [v[0] for v in vectors], [literal(v[1]) for v in vectors]
        await tx.execute(WRITE, owner, model, ids, values)
    await tx.execute(REFUSED, settled, refused)
    await tx.execute(SETTLE, owner, settled)


@dataclass(frozen=True, slots=True)
class Wanting:
    """Owners whose memories want vectors, and how far the tenant's memories were gone through."""

    owners: Sequence[UUID]
    through: UUID | None
    """None: to their end."""


# The model is the tenant's current one, and no other is.
ADOPT = """
INSERT INTO embedding_models (tenant_id, id, name, dimensions, is_current) VALUES ($1, $2, $3, $4, true)
ON CONFLICT (tenant_id, id) DO UPDATE SET is_current = true
"""
RETIRE = "UPDATE embedding_models SET is_current = false WHERE tenant_id = $1 AND id <> $2 AND is_current"
# Of stored memories, by their owners and ids.
WANT = """
INSERT INTO unembedded (tenant_id, owner, memory_id)
SELECT $1, u.owner, u.id FROM unnest($2::uuid[], $3::uuid[]) AS u (owner, id) ON CONFLICT DO NOTHING
"""


async def want(tx: Tx, memories: Sequence[Iterable[UUID]]) -> None:
    """Mark memories, just stored or held, as wanting a vector: the owner and the id of each."""
    if memories:
        await tx.execute(WANT, *map(list, zip(*memories, strict=True)))


_SQL = SqlFile(__file__)
LOOK = _SQL.statement("look")
HOLD_LACKING = _SQL.statement("hold_lacking")
MARK = _SQL.statement("mark")


async def adopt(tx: Tx, name: str, dimensions: int) -> UUID:
    """Make a model the tenant's current one; the id of it."""
    model = model_id(name, dimensions)
    await tx.execute(RETIRE, model)
    await tx.execute(ADOPT, model, name, dimensions)
    return model


CURRENT = "SELECT id FROM embedding_models WHERE tenant_id = $1 AND is_current"


async def current(tx: ReadTx) -> UUID | None:
    model: UUID | None = await tx.fetchval(CURRENT)
    return model


# Its name and width.
CURRENT_NAME = "SELECT name, dimensions FROM embedding_models WHERE tenant_id = $1 AND is_current"


async def current_name(tx: ReadTx) -> tuple[str, int] | None:
    row = await tx.fetchrow(CURRENT_NAME)
    return (row["name"], row["dimensions"]) if row else None


async def mark(tx: Tx, model: UUID, after: UUID, limit: int) -> Wanting:
    """Mark those of some memories that have no vector of the model as wanting one."""
    if tx.is_sharded:
        looked = await tx.fetch(LOOK, after=after, limit=limit)
        lacking = await tx.fetch(HOLD_LACKING, ids=[row["id"] for row in looked], model=model)
        await want(tx, lacking)
        return Wanting(sorted({row["owner"] for row in lacking}), looked[-1]["id"] if len(looked) == limit else None)
    row = await tx.fetchrow(MARK, model=model, after=after, limit=limit)
    assert row is not None
    return Wanting(row["owners"] or (), row["through"] if row["looked_at"] == limit else None)
