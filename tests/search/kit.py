"""A model that knows a few synonyms, and what the tests of search do all the time."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

from app.core.messages import Limits, read
from app.jobs.embed import embed, reembed
from app.postgres.tenants import DEFAULT_TENANT
from app.providers import RefusedInput, TemporaryError, Vector
from app.queue import table
from app.runtime import Runtime
from app.services.conversations.append import append
from app.services.conversations.requests import PostedMessages
from app.services.memory import querying, searching
from app.services.memory.searching import SearchOutcome, SearchRequest
from tests.api.kit import Json

SYNONYMS = {
    "automobile": "car",
    "vehicle": "car",
    "汽车": "car",
    "physician": "doctor",
    "医生": "doctor",
    "feline": "cat",
}
_WORD = re.compile(r"[a-z0-9]+|[\u4e00-\u9fff]{2}")


@dataclass
class Meanings:
    """An Embedder whose vectors are bags of concepts. Fails on demand."""

    model: str = "meanings"
    dimensions: int = 256
    batch: int = 8
    alike: float = 0.0
    """The cosine of texts that have nothing in common; of the E5 family 0.79."""
    refuses: str | None = None
    """A word that no text may hold."""
    is_down: bool = False
    asked: list[str] = field(default_factory=list)
    queries: int = 0

    async def prepare(self) -> None:
        """Nothing is loaded."""

    async def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        self.asked += texts
        if self.is_down:
            raise TemporaryError("down")
        if self.refuses and any(self.refuses in text for text in texts):
            raise RefusedInput("content policy")
        assert all(text.strip() for text in texts), "blank texts are never sent"
        return [self._vector(text) for text in texts]

    async def embed_query(self, text: str) -> Vector:
        self.queries += 1
        if self.is_down:
            raise TemporaryError("down")
        return self._vector(text)

    async def close(self) -> None:
        """Nothing is held."""

    def _vector(self, text: str) -> Vector:
        vector = [0.0, *[0.01] * (self.dimensions - 1)]
        for word in _WORD.findall(text.lower()):
            digest = blake2b(SYNONYMS.get(word, word).encode(), digest_size=8).digest()
            vector[1 + int.from_bytes(digest[:4]) % (self.dimensions - 1)] += 1.0
        length = math.sqrt(sum(value * value for value in vector))
        own = math.sqrt(1 - self.alike) / length
        return [math.sqrt(self.alike), *(value * own for value in vector[1:])]


async def say(made: Runtime, conversation: str, messages: Sequence[Json], user: str = "u") -> None:
    request = PostedMessages(read(list(messages), Limits()), user_id=user)
    await append(made, DEFAULT_TENANT, conversation, request, None)


async def drain(made: Runtime) -> None:
    """What a worker does until nothing is due."""
    while some := await table.claim(made.database, DEFAULT_TENANT, "embedding", ["embed"], 10):
        for claimed in some:
            await embed(made, claimed)


async def change_model(made: Runtime) -> None:
    """What a worker does when it starts."""
    await reembed(made)
    await drain(made)


async def find(made: Runtime, query: str, mode: querying.Mode = "hybrid", **more: object) -> SearchOutcome:
    request = SearchRequest(query, **{"user_id": "u", "mode": mode, **more})  # type: ignore[arg-type]
    return await searching.search(made, DEFAULT_TENANT, request)


def texts(found: SearchOutcome) -> list[str]:
    return [hit.text for hit in found.hits]
