"""Build the search index of an owner with very many memories.

The index says which memories have a term (``postings``), and which vectors are near each other (``listed``, by the
centroids of ``search_indexes``). A search looks up candidates there, then reads and scores the memories themselves.
Foreign keys delete index rows with their memories.

The job makes centroids by k-means of a sample, then goes through the owner's memories, a batch in each transaction. The
owner is searched exactly until that is done. Whatever gets its vector after the index began is indexed by the embedding
job, in the transaction that writes the vector; until then a search reads it beside the index, as one of ``unembedded``.
So each memory is in one or the other, at any moment.
"""

from __future__ import annotations

from uuid import UUID

from app.core.search.large import LARGE, MEMBERS_MIN, ROUNDS, lists, share
from app.postgres.database import Database
from app.queue.table import Claimed, finish, requeue
from app.runtime import Runtime
from app.store import locks
from app.store.memory import embeddings, search_index
from app.store.memory.search_index import Centroids

BATCH = 250
"""Memories in a transaction: it takes a quarter of a second, and keeps the owner's from being erased as long."""


async def index_search(runtime: Runtime, claimed: Claimed, large: int = LARGE, batch: int = BATCH) -> None:
    """Do a step, and requeue the job behind the waiting ones. ``large``: the number of memories that needs an index."""
    tenant, owner = claimed.tenant, UUID(claimed.subject)
    async with runtime.database.snapshot(tenant) as tx:
        model = await embeddings.current(tx)
        found = await search_index.find(tx, owner, model) if model and runtime.embedder else None
    centroids: Centroids = ()
    if model and found and found.model != model and found.count >= large:
        centroids = await centroids_of(runtime.database, tenant, owner, model, found.count)
    async with runtime.database.begin(tenant) as tx:
        is_done = True
        await locks.lock_owner(tx, owner)  # no vector is written meanwhile
        if model and centroids:
            await search_index.begin(tx, owner, model, centroids)
            is_done = False
        elif found and found.through is not None:
            is_done = await search_index.index_next(tx, owner, found.through, batch)
        await (finish if is_done else requeue)(tx, claimed)


async def centroids_of(database: Database, tenant: UUID, owner: UUID, model: UUID, count: int) -> Centroids:
    """Return the centroids of an owner's vectors. Each round is a transaction, and takes about a second."""
    part = share(count)
    async with database.snapshot(tenant) as tx:
        centroids = await search_index.first_centroids(tx, owner, model, part, lists(count))
    for _ in range(ROUNDS):
        async with database.snapshot(tenant) as tx:
            centroids = await search_index.centroids(tx, owner, model, part, centroids, members=MEMBERS_MIN)
    return centroids
