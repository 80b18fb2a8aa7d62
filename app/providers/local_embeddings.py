"""Embeddings with no key and no network: multilingual-e5-small from an installed package of weights.

English and Chinese alike, 384 dimensions. Its scores lie close together (right pairs .75 to .94, wrong ones little
less), so they rank and mean nothing by themselves. Nothing is downloaded, and nothing is written to disk.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING

from app.providers import Embedder, Vector

if TYPE_CHECKING:
    from app.providers.e5.model import Model

_logger = logging.getLogger(__name__)

MODEL = "multilingual-e5-small"
BATCH = 64
NICENESS = 10
"""Of the thread that embeds passages: whoever waits for an answer comes first."""


def load(*, threads: int = 1) -> Embedder | None:
    """The model, or None with the reason logged, if it is not installed or not the one we know.

    Takes up to a second, and blocks; each call loads another one, of about 120 MB. Threads: for one text; a query and
    a passage run side by side all the same.
    """
    try:
        from app.providers.e5 import model, weights  # 60 MB, and not on every platform
    except ImportError as missing:
        _logger.warning("no local embeddings: %s is not installed", missing.name)
        return None
    try:
        found = weights.open_weights(weights.find())
    except weights.Unusable as reason:
        _logger.warning("no local embeddings: %s", reason)
        return None
    return LocalEmbeddings(model.Model(found, threads))


def why_not() -> str | None:
    """Why there is no local model, or None where there is one. Reads the weights, and keeps nothing."""
    try:
        from app.providers.e5 import model, weights  # noqa: F401 - as above
    except ImportError as missing:
        return f"{missing.name} is not installed"
    try:
        weights.open_weights(weights.find())
    except weights.Unusable as reason:
        return str(reason)
    return None


class LocalEmbeddings:
    """An Embedder. It never refuses a text: of a long one it reads the first 512 pieces, of an empty one its kind.

    Queries and passages each have a lane of one text at a time, off the event loop, so that a query waits for other
    queries only.
    """

    model = MODEL
    batch = BATCH

    def __init__(self, model: Model) -> None:
        self.dimensions = model.dimensions
        self._model = model
        self._queries = ThreadPoolExecutor(1, "embed-query")
        self._passages = ThreadPoolExecutor(1, "embed-passages", _give_way)

    async def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        loop = asyncio.get_running_loop()
        return [await loop.run_in_executor(self._passages, self._model.passage, text) for text in texts]

    async def embed_query(self, text: str) -> Vector:
        return await asyncio.get_running_loop().run_in_executor(self._queries, self._model.query, text)

    async def close(self) -> None:
        """Texts that nobody waits for any more are not begun."""
        for lane in (self._queries, self._passages):
            lane.shutdown(wait=False, cancel_futures=True)


def _give_way() -> None:
    with suppress(OSError, AttributeError):  # where a thread has no niceness of its own
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
