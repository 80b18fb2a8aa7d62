"""Embeddings by Quire's own model, in OpenAI's form."""

from __future__ import annotations

import base64
import struct
from collections.abc import Sequence
from typing import Any

from app import errors
from app.providers import Embedder, Vector
from app.runtime import Runtime

TEXTS_MAX = 2048
"""As many as OpenAI's API takes."""
CHARACTERS_MAX = 200_000


async def embeddings(runtime: Runtime, embedder: Embedder, texts: Sequence[Any], encoding: str) -> dict[str, Any]:
    """Embed texts with Quire's own model. Raises Invalid or a ProviderError."""
    _check(texts)
    vectors: list[Vector] = []
    for start in range(0, len(texts), embedder.batch):
        vectors += await embedder.embed_passages(texts[start : start + embedder.batch])
    used = sum(await runtime.tokens.count_many(list(texts)))
    data = [{"object": "embedding", "index": i, "embedding": _encoded(v, encoding)} for i, v in enumerate(vectors)]
    usage = {"prompt_tokens": used, "total_tokens": used}
    return {"object": "list", "data": data, "model": embedder.model, "usage": usage}


def _check(texts: Sequence[Any]) -> None:
    where: list[str | int] = ["body", "input"]
    if not 1 <= len(texts) <= TEXTS_MAX:
        raise errors.Invalid.at(where, f"must have 1 to {TEXTS_MAX} texts")
    for place, text in enumerate(texts):
        if not isinstance(text, str) or not text.strip() or len(text) > CHARACTERS_MAX:
            msg = f"must be a text with 1 to {CHARACTERS_MAX} characters that are not all blank"
            raise errors.Invalid.at([*where, place], msg)


def _encoded(vector: Vector, encoding: str) -> list[float] | str:
    numbers = [float(number) for number in vector]
    if encoding == "float":
        return numbers
    return base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode()
