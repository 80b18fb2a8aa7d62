"""Search indexes of owners with very many memories: see ``app.jobs.search_index``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from app.postgres.statements import SqlFile
from app.postgres.transactions import ReadTx, Tx

WAITING_MAX = 2_000
"""The most memories without vectors that are read besides the index. With more, the index is not used."""

FEW = 10_000
"""A conversation or a time with at most this many memories is read completely; beyond, an index finds the best ones."""

_SQL = SqlFile(__file__)
READY = _SQL.statement("ready")
IS_DUE = _SQL.statement("is_due")
FIND = _SQL.statement("find")
FIRST_CENTROIDS = _SQL.statement("first_centroids")
CENTROIDS = _SQL.statement("centroids")
BEGIN = _SQL.statement("begin")
HOLD = _SQL.statement("hold")
POST = _SQL.statement("post")
LIST_VECTORS = _SQL.statement("list_vectors")


async def ready(
    tx: ReadTx, owners: Sequence[UUID], model: UUID | None, since: UUID, until: UUID, few: int
) -> list[UUID]:
    """Return the owners that can be searched by their index and have more than ``few`` memories between two ids."""
    args = {"model": model, "waiting_max": WAITING_MAX, "since": since, "until": until, "few": few}
    return [row["owner"] for row in await tx.fetch(READY, owners=owners, **args)]


async def is_due(tx: ReadTx, owner: UUID, model: UUID, large: int) -> bool:
    return bool(await tx.fetchval(IS_DUE, owner=owner, model=model, large=large))


@dataclass(frozen=True, slots=True)
class SearchIndex:
    """An owner's index, if it has one."""

    model: UUID | None
    through: UUID | None
    """The last memory that is indexed so far; None if the index is complete, or there is none."""
    count: int
    """The number of vectors that a new index of the requested model would list; 0 if the index is of this model."""


async def find(tx: ReadTx, owner: UUID, model: UUID) -> SearchIndex:
    row = await tx.fetchrow(FIND, owner=owner, model=model)
    assert row is not None
    return SearchIndex(row["model"], row["through"], row["count"])


Centroids = Sequence[str]
"""Vectors in pgvector's text form."""


async def first_centroids(tx: ReadTx, owner: UUID, model: UUID, share: int, lists: int) -> Centroids:
    """Return up to ``lists`` vectors of a sample of ``share`` in 256."""
    return await tx.fetchval(FIRST_CENTROIDS, owner=owner, model=model, share=share, lists=lists) or ()


async def centroids(tx: ReadTx, owner: UUID, model: UUID, share: int, before: Centroids, *, members: int) -> Centroids:
    """Return better centroids of the sample, without those that have fewer than ``members`` vectors."""
    args = {"owner": owner, "model": model, "share": share, "centroids": before, "members": members}
    return await tx.fetchval(CENTROIDS, **args) or ()


async def begin(tx: Tx, owner: UUID, model: UUID, found: Centroids) -> None:
    """Begin an owner's index. The owner must be locked, so that later writers see the index and add to it."""
    await tx.execute(BEGIN, owner=owner, model=model, centroids=found)


NEXT = "SELECT id FROM memories WHERE tenant_id = $1 AND owner = $2 AND id > $3 ORDER BY owner, id LIMIT $4"
EXISTS = "SELECT EXISTS (SELECT FROM search_indexes WHERE tenant_id = $1 AND owner = $2)"
CONTINUE = "UPDATE search_indexes SET through = $3 WHERE tenant_id = $1 AND owner = $2"
FORGET = "DELETE FROM search_indexes WHERE tenant_id = $1 AND owner = $2"
FORGET_ALL = "DELETE FROM search_indexes WHERE tenant_id = $1"


async def index_next(tx: Tx, owner: UUID, through: UUID, limit: int) -> bool:
    """Index an owner's next memories, and return whether these were the last."""
    ids = [row["id"] for row in await tx.fetch(NEXT, owner, through, limit)]
    await index(tx, owner, ids)
    is_last = len(ids) < limit
    await tx.execute(CONTINUE, owner, None if is_last else ids[-1])
    return is_last


async def index_if_large(tx: Tx, owner: UUID, ids: Sequence[UUID]) -> None:
    """Index memories of an owner that has an index. The transaction shares the owner's lock."""
    if await tx.fetchval(EXISTS, owner):
        await index(tx, owner, ids)


async def index(tx: Tx, owner: UUID, ids: Sequence[UUID]) -> None:
    held = [row["id"] for row in await tx.fetch(HOLD, ids=ids)]
    await tx.execute(POST, ids=held)
    await tx.execute(LIST_VECTORS, owner=owner, ids=held)


async def forget(tx: Tx, owner: UUID) -> None:
    await tx.execute(FORGET, owner)


async def forget_all(tx: Tx) -> None:
    """Delete all of the tenant's indexes."""
    await tx.execute(FORGET_ALL)
