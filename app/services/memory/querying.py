"""Prepare a query: its terms, its vector, the names and days in it, and whether it asks for something said earlier."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, tzinfo
from typing import Literal
from uuid import UUID

from app.core.search import relevance
from app.core.search.vector_text import last_speaker, middle, query_text
from app.core.search.when import days_named
from app.extractive import intents
from app.providers import Embedder, ProviderError, Vector
from app.runtime import Runtime
from app.store.memory import embeddings
from app.store.memory.memories import Meaning, Named, QueryPart
from app.text import bm25
from app.text.language import scalar
from app.text.queries import asks_of_replies, parts, subject_of

Mode = Literal["hybrid", "semantic", "keyword"]

QUERY_SECONDS = 5.0
"""How long a query waits for its vector. After that it is searched for by its words alone."""

_logger = logging.getLogger(__name__)

NO_EMBEDDINGS = {"code": "embeddings_absent", "detail": "no embedding model is in use; the keyword search answers"}
SEMANTIC_UNAVAILABLE = {
    "code": "semantic_unavailable",
    "detail": "the embedding model did not answer; the keyword search answers",
}


@dataclass(frozen=True, slots=True)
class Query:
    """A prepared query: its terms, its meaning if a model could be asked, and the search mode."""

    text: str
    terms: Sequence[int]
    meaning: Meaning | None
    mode: Mode
    warnings: list[dict[str, str]]
    named: Named
    """The speakers and the days that it names."""
    asks: float | None
    """The probability that it asks for something said earlier; None if no vector tells."""
    of_replies: bool
    """Whether it asks for an assistant's words."""
    parts: Sequence[QueryPart] = ()

    @property
    def may_ask(self) -> bool:
        return self.asks is None or self.asks >= relevance.MAY_ASK_MIN


async def prepare(
    runtime: Runtime, tenant: UUID, text: str, mode: Mode = "hybrid", asked_at: datetime | None = None
) -> Query:
    """Prepare a query. Call it without holding a connection, because it can ask the embedding model.

    ``asked_at`` fixes what "yesterday" means in the query, and in which time zone; None is now, in UTC.
    """
    asks = await asks_for_earlier(runtime, tenant, text) if mode != "keyword" else None
    of_replies = asks_of_replies(text)
    text = subject_of(scalar(text))
    asked_at = asked_at or datetime.now(UTC)
    named = names_in(text, asked_at.date(), asked_at.tzinfo or UTC)
    terms = bm25.query(text)
    meaning: Meaning | None = None
    warnings: list[dict[str, str]] = []
    if mode != "keyword":
        meaning, warnings = await _meaning(runtime, tenant, text)
    done: Mode = mode if meaning is not None else "keyword"
    compound = await _parts(runtime, tenant, text, meaning)
    return Query(text, terms, meaning, done, warnings, named, asks, of_replies, compound)


async def asks_for_earlier(runtime: Runtime, tenant: UUID, text: str) -> float | None:
    """Return the probability that a text asks for something said earlier; None if it has no vector to tell by.

    A pasted dialogue always asks: whatever bears on it is wanted.
    """
    text = scalar(text)
    if subject_of(text) != text or last_speaker(text) is not None:
        return relevance.ASKS_SURELY
    if runtime.embedder is None or runtime.embedder.model != intents.MODEL:
        return None
    vector = await vector_of(runtime, tenant, text)
    return intents.ASKS.probability(text, vector) if vector is not None else None


async def vector_of(runtime: Runtime, tenant: UUID, text: str) -> Vector | None:
    """Return the vector of a message, computed once and then cached; None if no model answers."""
    meaning, _ = await _meaning(runtime, tenant, scalar(text))
    return embeddings.vector(meaning.vector) if meaning is not None else None


def names_in(text: str, today: date, zone: tzinfo = UTC) -> Named:
    return Named(bm25.speakers(text), relevance.favoured(days_named(text, today), zone))


async def _parts(runtime: Runtime, tenant: UUID, text: str, meaning: Meaning | None) -> list[QueryPart]:
    """Prepare the parts of a compound query. If the whole has a vector, parts without one are left out."""
    found = [QueryPart(bm25.query(part)) for part in parts(text)]
    if meaning is None:
        return found
    meanings = [(await _meaning(runtime, tenant, part))[0] for part in parts(text)]
    return [part._replace(vector=its.vector) for part, its in zip(found, meanings, strict=True) if its is not None]


def begin_vector(runtime: Runtime, tenant: UUID, text: str) -> None:
    """Begin to compute the vector of a message that was just stored, because its next window asks for it."""
    if runtime.embedder is not None and runtime.embedder.model == intents.MODEL and text.strip():
        _reading(runtime, runtime.embedder, tenant, scalar(text))


def _reading(runtime: Runtime, embedder: Embedder, tenant: UUID, text: str) -> asyncio.Task[str | None]:
    parts = [query_text(part.strip()) for part in (text, last_speaker(text)) if part]
    key = (tenant, embedder.model, "\n\n".join(parts))
    known = runtime.caches.query_vectors
    reading = known.get(key)
    if reading is None or reading.cancelled() or (reading.done() and reading.result() is None):
        reading = known[key] = asyncio.create_task(_read(embedder, parts))
    return reading


async def _read(embedder: Embedder, parts: Sequence[str]) -> str | None:
    try:
        async with asyncio.timeout(QUERY_SECONDS):
            vectors = [await embedder.embed_query(part) for part in parts]
            return embeddings.literal(vectors[0] if len(vectors) == 1 else middle(vectors))
    except (ProviderError, TimeoutError) as error:
        _logger.warning("a query was searched for by keyword: %s", type(error).__name__)
        return None


async def _meaning(runtime: Runtime, tenant: UUID, text: str) -> tuple[Meaning | None, list[dict[str, str]]]:
    embedder = runtime.embedder
    if embedder is None:
        return None, [NO_EMBEDDINGS]
    if not text.strip():
        return None, []
    vector = await asyncio.shield(_reading(runtime, embedder, tenant, text))
    if vector is None:
        return None, [SEMANTIC_UNAVAILABLE]
    model = embeddings.model_id(embedder.model, embedder.dimensions)
    return Meaning(model, vector, *relevance.spread(embedder.model)), []
