"""Giving vectors to an owner's new memories.

The append marks what wants a vector in ``unembedded``. Batches are taken from there, embedded while no connection is
held, and written in a transaction that takes the marks away; the last one finishes the work. After some batches the
work is handed back and enqueued again, so that an owner with many memories does not keep others waiting.

A text that the provider will never take costs its memory the vector, not its neighbours theirs: the batch is halved
until it is alone. So is, at the last attempt, a batch of which no answer can be used, for one text may be the cause.
Blank texts are never sent.
"""

from __future__ import annotations

import logging
from bisect import bisect_left
from collections.abc import Sequence
from uuid import UUID

from asyncpg import Record

from app.concurrency import run_in_thread_if_large
from app.core.nul import with_nul
from app.core.vector_text import Utterance, result_text, turn_text
from app.postgres.database import Connection
from app.postgres.tenants import tenants
from app.providers import Embedder, ProviderError, RefusedInput, UnusableReply, Vector
from app.queue import enqueue
from app.queue.table import ATTEMPTS_MAX, Claimed, finish, requeue
from app.runtime import Runtime
from app.services.memory import recalling
from app.store import archives, embeddings, locks, messages

BATCHES_MAX = 20
"""Batches of one job: with a local model, and texts of usual length, some twenty seconds' work."""
MARKED_AT_ONCE = 1_000
FIRST = UUID(int=0)

_logger = logging.getLogger(__name__)


async def embed(runtime: Runtime, claimed: Claimed) -> None:
    """Do one job. Raises a ProviderError other than RefusedInput; what was written before stays."""
    embedder, tenant, owner = runtime.embedder, claimed.tenant, UUID(claimed.subject)
    for _ in range(BATCHES_MAX if embedder else 0):
        assert embedder is not None
        async with runtime.database.snapshot(tenant) as connection:
            rows = await embeddings.waiting(connection, tenant, owner, FIRST, embedder.batch)
            texts = await _texts(connection, tenant, rows)
        if not rows:
            break
        vectors = await _vectors(
            runtime,
            embedder,
            [(row["id"], text) for row, text in zip(rows, texts, strict=True) if text],
            is_last=claimed.counted >= ATTEMPTS_MAX,
        )
        model = embeddings.model_id(embedder.model, embedder.dimensions)
        settled = [row["id"] for row in rows]
        async with runtime.database.begin(tenant) as connection:
            await locks.share_owner(connection, tenant, owner)
            await embeddings.write(connection, tenant, owner, model, vectors, settled)
            if len(rows) < embedder.batch:
                await finish(connection, claimed)
                return
    async with runtime.database.begin(tenant) as connection:
        if embedder is not None and await embeddings.waiting(connection, tenant, owner, FIRST, 1):
            await requeue(connection, claimed)
        else:
            await finish(connection, claimed)


async def _vectors(
    runtime: Runtime, embedder: Embedder, texts: Sequence[tuple[UUID, str]], *, is_last: bool
) -> list[tuple[UUID, Vector]]:
    """The vectors of all texts that the provider takes. Raises a ProviderError if it gives none that can be used."""
    if not texts:
        return []
    try:
        with runtime.tracing.span("embeddings", kind="CLIENT", model=embedder.model, texts=len(texts)):
            vectors = await embedder.embed_passages([text for _, text in texts])
        runtime.metrics.provider_call("embed", "ok")
    except ProviderError as error:
        runtime.metrics.provider_call("embed", type(error).__name__)
        if isinstance(error, RefusedInput) and len(texts) == 1:
            _logger.warning("the embedding provider refuses memory %s: it stays without a vector", texts[0][0])
            return []
        if len(texts) > 1 and (isinstance(error, RefusedInput) or (is_last and isinstance(error, UnusableReply))):
            return await _halves(runtime, embedder, texts, is_last=is_last)
        raise
    return [(id_, vector) for (id_, _), vector in zip(texts, vectors, strict=True)]


async def _halves(
    runtime: Runtime, embedder: Embedder, texts: Sequence[tuple[UUID, str]], *, is_last: bool
) -> list[tuple[UUID, Vector]]:
    """One half may do without the other, where that has vectors."""
    found: list[tuple[UUID, Vector]] = []
    unusable: UnusableReply | None = None
    half = len(texts) // 2
    for part in (texts[:half], texts[half:]):
        try:
            found += await _vectors(runtime, embedder, part, is_last=is_last)
        except UnusableReply as error:
            if not is_last:
                raise
            _logger.warning("memories %s to %s get no usable vector: %s", part[0][0], part[-1][0], error)
            unusable = error
    if unusable is not None and not found:
        raise unusable
    return found


async def _texts(connection: Connection, tenant: UUID, rows: Sequence[Record]) -> list[str]:
    """What the vectors of some memories are made from; empty for what has nothing to be found by."""
    places = {(row["conversation_id"], row["seq"]) for row in rows if row["type"] == "episode"}
    places |= {(conversation, seq - 1) for conversation, seq in places}
    told = await messages.by_place(connection, tenant, sorted(places))
    wanted = [(row["archive_id"], row["start"], row["length"]) for row in rows if row["archive_id"] is not None]
    passages = await archives.passages(connection, tenant, wanted)
    nul = await embeddings.nul_offsets(connection, tenant, list({row["whole"] for row in rows if row["has_nul"]}))
    return await run_in_thread_if_large(sum(len(row["body"]) for row in told), _texts_of, rows, told, passages, nul)


def _texts_of(
    rows: Sequence[Record],
    told: Sequence[Record],
    passages: dict[tuple[UUID, int], tuple[str, str]],
    nul: dict[UUID, Sequence[int]],
) -> list[str]:
    said = {(row["conversation_id"], row["seq"]): _utterance(row) for row in told}
    return [_text(row, said, passages, nul) for row in rows]


def _text(
    row: Record,
    said: dict[tuple[str, int], Utterance],
    passages: dict[tuple[UUID, int], tuple[str, str]],
    nul: dict[UUID, Sequence[int]],
) -> str:
    start, end = row["start"], row["start"] + row["length"]
    if row["archive_id"] is not None:
        passage = passages.get((row["archive_id"], start))
        return result_text(*passage) if passage else ""
    if row["type"] == "episode":
        place = (row["conversation_id"], row["seq"])
        if (whole := said.get(place)) is None:
            return ""
        return turn_text(Utterance(whole.role, whole.text[start:end], whole.name), said.get((place[0], place[1] - 1)))
    text = with_nul(row["content"] or "", _between(nul.get(row["whole"], ()), start, end))
    return text if text.strip() else ""


def _between(offsets: Sequence[int], start: int, end: int) -> list[int]:
    """Those of some ordered offsets that are in a stretch, from its start."""
    return [offset - start for offset in offsets[bisect_left(offsets, start) : bisect_left(offsets, end)]]


def _utterance(row: Record) -> Utterance:
    return Utterance(row["role"], recalling.searchable_text(row), recalling.speaker(row))


async def reembed(runtime: Runtime) -> None:
    """Mark what has no vector of the configured model, and enqueue its embedding: at start, in the background.

    So vectors of another model are replaced one by one, and memories from a time without embeddings get theirs.
    Raises a ProviderError while the model cannot be asked how wide its vectors are.
    """
    embedder = runtime.embedder
    if embedder is None:
        return
    if not embedder.dimensions:
        await embedder.embed_query("dimensions")  # of a width that nobody knows, no vector would be the model's
    for tenant in await tenants(runtime.database):
        async with runtime.database.begin(tenant) as connection:
            model = await embeddings.adopt(connection, tenant, embedder.model, embedder.dimensions)
        after: UUID | None = FIRST
        while after is not None:
            async with runtime.database.begin(tenant) as connection:
                found = await embeddings.mark(connection, tenant, model, after, MARKED_AT_ONCE)
                await enqueue.enqueue(connection, tenant, [enqueue.embed(owner) for owner in sorted(found.owners)])
            after = found.through
        runtime.work_came.set()
