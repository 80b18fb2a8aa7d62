"""Embed an owner's new memories.

The append records what needs a vector in ``unembedded``. A job reads a batch from there, the newest first, embeds it
without holding a connection, and writes it in a transaction that removes the records. If more are left, the same
transaction requeues the job behind the waiting ones, so that owners take turns and each delays others by a batch only.

Some texts are not worth a vector and are found by their words alone: calls, placeholders, whose archives have vectors,
and all but the first passage of a tool result.

A text that the provider will never accept costs only its own memory the vector: the batch is halved until the text is
alone. If the provider refuses most texts, or a harmless one, they are not at fault: they still need vectors, and the
lane pauses (``jobs.policy``). The same happens at the last attempt to a batch with an unusable answer, since a single
text may be the cause. Blank texts are never sent.
"""

from __future__ import annotations

import logging
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from app.concurrency import run_in_thread_if_large
from app.core.encoded import is_mark, marked
from app.core.history.rows import HistoryMessage
from app.core.neutral import with_nul
from app.core.search.large import LARGE, is_counted
from app.core.search.vector_text import Utterance, result_text, turn_text
from app.jobs.policy import HARMLESS, fault_of_all, refuses_most
from app.postgres.tenants import tenants
from app.postgres.transactions import ReadTx
from app.providers import Embedder, ProviderError, RefusedCaller, RefusedInput, UnusableReply, Vector
from app.queue import enqueue
from app.queue.table import ATTEMPTS_MAX, Claimed, finish, requeue
from app.runtime import Runtime
from app.services.memory import noticing, recalling
from app.store import archives, messages
from app.store.memory import embeddings, search_index
from app.store.memory.embeddings import WaitingMemory

MARKED_AT_ONCE = 1_000
FIRST = UUID(int=0)

_logger = logging.getLogger(__name__)


async def embed(runtime: Runtime, claimed: Claimed, large: int = LARGE) -> None:
    """Do one job. Raises a ProviderError other than RefusedInput. What was written before stays, and memories without a
    vector still want one. ``large``: the number of memories from which an owner has a search index.
    """
    embedder, tenant, owner = runtime.embedder, claimed.tenant, UUID(claimed.subject)
    if embedder is None:
        async with runtime.database.begin(tenant) as tx:
            await finish(tx, claimed)
        return
    async with runtime.database.snapshot(tenant) as tx:
        rows = await embeddings.waiting(tx, owner, embedder.batch)
        told, texts = await _texts(tx, rows)
    wanted = [(row.id, text) for row, text in zip(rows, texts, strict=True) if text]
    is_last = claimed.counted >= ATTEMPTS_MAX
    found = await _vectors(runtime, embedder, wanted, is_last=is_last)
    fault = await _fault(embedder, found)
    if found.refused and fault is None:
        found = await _asked_again(runtime, embedder, found, wanted, is_last=is_last)
    kept = found.refused if fault is not None else {}
    # The first passage of a message that was said just now: it may say what is to be kept.
    begun = (row for row in rows if row.is_said and row.type == "episode" and row.start == 0)
    said = {(row.conversation_id, row.seq) for row in begun if row.id not in kept}
    noticed = await noticing.notice(runtime, tenant, [row for row in told if row.place in said])
    model = embeddings.model_id(embedder.model, embedder.dimensions)
    settled = [row.id for row in rows if row.id not in kept]
    async with runtime.database.begin(tenant, sharing=[owner] if rows else []) as tx:
        if rows:
            refused = [] if fault is not None else list(found.refused)
            await embeddings.write(tx, owner, model, found.vectors, settled, refused)
            await noticing.remember(tx, noticed)
            await search_index.index_if_large(tx, owner, settled)
            if is_counted(settled) and await search_index.is_due(tx, owner, model, large):
                await enqueue.enqueue(tx, [enqueue.search_index(owner)])
        if fault is None:
            await (finish if len(rows) < embedder.batch else requeue)(tx, claimed)
    if fault is not None:
        raise fault


@dataclass(frozen=True, slots=True)
class _Vectors:
    """The vectors of texts, and the texts that the provider refused even alone."""

    vectors: list[tuple[UUID, Vector]] = field(default_factory=list)
    refused: dict[UUID, RefusedInput] = field(default_factory=dict)

    def __add__(self, other: _Vectors) -> _Vectors:
        return _Vectors([*self.vectors, *other.vectors], {**self.refused, **other.refused})


async def _fault(embedder: Embedder, found: _Vectors) -> RefusedCaller | None:
    """Return the fault of a provider that refuses most texts; None if the refused texts are to blame."""
    if not found.refused:
        return None
    refusal = next(iter(found.refused.values()))
    takes = bool(found.vectors) or await _takes_harmless(embedder)
    if refuses_most(len(found.refused), len(found.vectors), takes_harmless=takes):
        return fault_of_all(refusal)
    return None


async def _asked_again(
    runtime: Runtime, embedder: Embedder, found: _Vectors, texts: Sequence[tuple[UUID, str]], *, is_last: bool
) -> _Vectors:
    """Ask again for the refused texts, because the provider could have refused everything for a moment."""
    refused = [(id_, text) for id_, text in texts if id_ in found.refused]
    again = await _vectors(runtime, embedder, refused, is_last=is_last)
    if again.refused:
        _logger.warning("the embedding provider refuses %d memories: they stay without a vector", len(again.refused))
    return _Vectors([*found.vectors, *again.vectors], again.refused)


async def _takes_harmless(embedder: Embedder) -> bool:
    """Return whether the provider embeds a harmless text. Raises a ProviderError other than RefusedInput."""
    try:
        await embedder.embed_passages([HARMLESS])
    except RefusedInput:
        return False
    return True


async def _vectors(
    runtime: Runtime, embedder: Embedder, texts: Sequence[tuple[UUID, str]], *, is_last: bool
) -> _Vectors:
    """Return the vectors of all texts that the provider accepts. Raises a ProviderError if none is usable."""
    if not texts:
        return _Vectors()
    try:
        with runtime.tracing.model_call("embeddings", embedder.model, texts=len(texts)):
            vectors = await embedder.embed_passages([text for _, text in texts])
        runtime.metrics.provider_call("embed", "ok")
        runtime.successes.note("embed")
    except ProviderError as error:
        runtime.metrics.provider_call("embed", type(error).__name__)
        runtime.successes.note("embed", error)
        if isinstance(error, RefusedInput) and len(texts) == 1:
            return _Vectors(refused={texts[0][0]: error})
        if len(texts) > 1 and (isinstance(error, RefusedInput) or (is_last and isinstance(error, UnusableReply))):
            return await _halves(runtime, embedder, texts, is_last=is_last)
        raise
    return _Vectors([(id_, vector) for (id_, _), vector in zip(texts, vectors, strict=True)])


async def _halves(
    runtime: Runtime, embedder: Embedder, texts: Sequence[tuple[UUID, str]], *, is_last: bool
) -> _Vectors:
    """Embed two halves separately. On the last attempt one can fail if the other succeeds."""
    found = _Vectors()
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
    if unusable is not None and not found.vectors:
        raise unusable
    return found


async def _texts(tx: ReadTx, rows: Sequence[WaitingMemory]) -> tuple[list[HistoryMessage], list[str]]:
    """Return the messages of some memories, with the messages before them, and the memories' texts."""
    places = {row.place for row in rows if row.type == "episode"}
    places |= {(conversation, seq - 1) for conversation, seq in places}
    told = await messages.by_place(tx, sorted(places))
    wanted = [(row.archive_id, row.start, row.length) for row in rows if row.archive_id is not None]
    passages = await archives.passages(tx, wanted)
    nul = await embeddings.nul_offsets(tx, list({row.whole for row in rows if row.has_nul}))
    size = sum(len(row.body) for row in told)
    said = {row.place: row for row in told}
    texts = await run_in_thread_if_large(size, lambda: [_text(row, said, passages, nul) for row in rows])
    return told, texts


def _text(
    row: WaitingMemory,
    said: dict[tuple[str, int], HistoryMessage],
    passages: dict[tuple[UUID, int], tuple[str, str]],
    nul: dict[UUID, Sequence[int]],
) -> str:
    start, end = row.start, row.start + row.length
    if row.archive_id is not None:
        passage = passages.get((row.archive_id, start))
        return result_text(*passage) if passage and not is_mark(passage[1]) else ""
    if row.type == "episode":
        place = row.place
        if (whole := said.get(place)) is None or (whole.author == "tool" and start > 0):
            return ""
        own = Utterance(whole.role, recalling.spoken_text(whole)[start:end].rstrip(), recalling.speaker(whole))
        if (before := said.get((place[0], place[1] - 1))) is None:
            return turn_text(own, None)
        return turn_text(own, Utterance(before.role, recalling.searchable_text(before), recalling.speaker(before)))
    text = with_nul(row.content or "", _between(nul.get(row.whole, ()), start, end))
    shown = marked(text)
    return shown if text.strip() and not is_mark(shown) else ""


def _between(offsets: Sequence[int], start: int, end: int) -> list[int]:
    """Return the ordered offsets that lie between ``start`` and ``end``, relative to ``start``."""
    return [offset - start for offset in offsets[bisect_left(offsets, start) : bisect_left(offsets, end)]]


async def reembed(runtime: Runtime) -> None:
    """Mark memories without a vector of the configured model and enqueue their embedding, in the background at start.

    So vectors of another model are replaced one by one, and memories from before embeddings get theirs. Raises a
    ProviderError while the width of the model's vectors is unknown.
    """
    embedder = runtime.embedder
    if embedder is None:
        await _forget_indexes(runtime)
        return
    if not embedder.dimensions:
        await embedder.embed_query("dimensions")  # of an unknown width: no vector could be the model's
    for tenant in await tenants(runtime.database):
        async with runtime.database.begin(tenant) as tx:
            model = await embeddings.adopt(tx, embedder.model, embedder.dimensions)
        after: UUID | None = FIRST
        while after is not None:
            async with runtime.database.begin(tenant) as tx:
                found = await embeddings.mark(tx, model, after, MARKED_AT_ONCE)
                await enqueue.enqueue(tx, [enqueue.embed(owner) for owner in sorted(found.owners)])
            after = found.through


async def _forget_indexes(runtime: Runtime) -> None:
    """Drop all search indexes, because without embeddings nothing extends them."""
    for tenant in await tenants(runtime.database):
        async with runtime.database.begin(tenant) as tx:
            await search_index.forget_all(tx)
