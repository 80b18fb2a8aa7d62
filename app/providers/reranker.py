"""A reranker of any API that answers ``POST /rerank``, as those of Cohere, Jina, Voyage and vLLM do."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from app.providers import UnusableReply
from app.providers.model_api import ModelApi
from app.providers.model_client import ModelClient

ANSWER_BYTES_MAX = 1_048_576
"""Some APIs return the documents with their scores."""


class ApiReranker(ModelClient):
    """A `Reranker`."""

    def __init__(self, *, model: str, api: ModelApi, **times: Any) -> None:
        super().__init__(model=model, api=api, answer_bytes_max=ANSWER_BYTES_MAX, **times)

    async def rank(self, query: str, documents: Sequence[str]) -> list[int]:
        """Return the places of the documents, the most relevant first. Raises a ProviderError."""
        request = {"model": self.model, "query": query, "documents": documents}
        body = await self._calls.call(lambda: self._wire.post("/rerank", request))
        return ranks_of(body, len(documents))


def ranks_of(body: Mapping[str, Any], count: int) -> list[int]:
    """Return the places of ``count`` documents by the scores of an answer; equal ones keep their order.

    Raises UnusableReply unless each document has exactly one finite score.
    """
    results = body.get("results", body.get("data"))
    if not isinstance(results, list) or len(results) != count:
        raise UnusableReply(f"the answer does not have {count} results")
    scores: dict[int, float] = {}
    for result in results:
        index, score = _scored(result)
        if index in scores or not 0 <= index < count:
            raise UnusableReply("the answer's indexes are not those of the documents")
        scores[index] = score
    return sorted(range(count), key=lambda index: -scores[index])


def _scored(result: object) -> tuple[int, float]:
    if not isinstance(result, Mapping):
        raise UnusableReply("a result is not an object")
    index, score = result.get("index"), result.get("relevance_score", result.get("score"))
    if type(index) is not int or isinstance(score, bool) or not isinstance(score, int | float):
        raise UnusableReply("a result has no index or no score")
    try:
        value = float(score)
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):
        raise UnusableReply("a score is not finite")
    return index, value
