"""Embeddings from any OpenAI-compatible API."""

from collections.abc import Mapping, Sequence
from typing import Any

from app.providers import UnusableReply, Vector
from app.providers.model_api import ModelApi
from app.providers.model_client import ModelClient
from app.providers.refusals import RefusedParameters
from app.providers.vectors import WIDTH_MAX, Vectors, reduced, vectors_of

WIDTH_UNKNOWN = 8192
"""The widest vector that is read when no width is configured."""

NUMBER_BYTES = 32
"""The most that JSON spends on a number with its comma and some space."""

ENVELOPE_BYTES = 65_536

OPTIONAL = ("encoding_format", "dimensions")


class OpenAIEmbedder(ModelClient):
    """An `Embedder`.

    ``dimensions`` is that of the vectors handed out, never above `WIDTH_MAX`; 0 until the first answer if none was
    configured. From then on every vector must have the same.
    """

    def __init__(self, *, model: str, api: ModelApi, dimensions: int = 0, batch: int = 64, **times: Any) -> None:
        """Configure the client. ``dimensions`` requests that width and accepts no other; 0 accepts the model's own."""
        answer_bytes_max = batch * (dimensions or WIDTH_UNKNOWN) * NUMBER_BYTES + ENVELOPE_BYTES
        super().__init__(model=model, api=api, answer_bytes_max=answer_bytes_max, **times)
        self.batch = batch
        self._asked = dimensions
        self._width = dimensions or None
        self.dimensions = min(dimensions, WIDTH_MAX)
        self._optional = frozenset(OPTIONAL if dimensions else OPTIONAL[:1])

    async def prepare(self) -> None:
        """Do nothing: the model is elsewhere."""

    async def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        """Return a vector for each of at most `batch` texts. Raises ValueError for more, and for a blank text."""
        if len(texts) > self.batch:
            raise ValueError(f"{len(texts)} texts in a batch of at most {self.batch}")
        if not all(text.strip() for text in texts):
            raise ValueError("a text without a word has no embedding")
        if not texts:
            return []
        body = await self._calls.call(lambda: self._ask(texts))
        # The width may have become known while the call was under way.
        vectors = vectors_of(body, count=len(texts), width=self._width)
        self._learn(vectors)
        embedded: list[Vector] = reduced(vectors).tolist()
        return embedded

    async def embed_query(self, text: str) -> Vector:
        [vector] = await self.embed_passages([text])
        return vector

    def _learn(self, vectors: Vectors) -> None:
        width = vectors.shape[1]
        if width > WIDTH_UNKNOWN:
            raise UnusableReply(f"the vectors have {width} dimensions, more than {WIDTH_UNKNOWN}")
        self._width = width
        self.dimensions = min(width, WIDTH_MAX)

    async def _ask(self, texts: Sequence[str]) -> Mapping[str, Any]:
        """Send the request with the optional parameters that the provider accepts, found by trial and remembered."""
        values = {"encoding_format": "base64", "dimensions": self._asked}
        optional = self._optional
        while True:
            request = {"model": self.model, "input": texts, **{name: values[name] for name in optional}}
            try:
                body = await self._wire.post("/embeddings", request)
            except RefusedParameters as refused:
                if not refused.parameters & optional:
                    raise
                optional -= refused.parameters
            else:
                self._optional = optional
                return body
