"""Embeddings with no key and no network: multilingual-e5-small from an installed package of weights.

English and Chinese alike, 384 dimensions, each vector without the mean of its language (``e5.centring``). Nothing is
downloaded, and nothing is written to disk.
"""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from app.providers import Embedder, RefusedCaller, Vector
from app.providers.e5 import files
from app.providers.e5.centring import centred

if TYPE_CHECKING:
    from app.providers.e5.model import Model

_logger = logging.getLogger(__name__)

MODEL = "multilingual-e5-small-centred"
DIMENSIONS = 384
BATCH = 16
"""Texts are embedded one by one on each core, so a larger batch gains nothing and another owner's comes later."""
THREADS_MAX = 4
NEEDED = ("numpy", "onnxruntime")
NICENESS = 10
"""Niceness of the threads that embed passages, one on each core: callers that wait for an answer come first."""


def load(*, threads: int = 1) -> Embedder | None:
    """Return the model, or None with the reason logged if it is not installed or its weights are not the known ones.

    Blocks for a tenth of a second. The model itself (half a second, 90 MB) is loaded by `prepare` or the first text.
    One text uses this many threads, but a query and a passage still run side by side.
    """
    if (reason := why_not()) is not None:
        _logger.warning("no local embeddings: %s", reason)
        return None
    return LocalEmbeddings(threads)


def why_not() -> str | None:
    """Return why the local model is unavailable; None if it is available. Reads the weights and keeps nothing."""
    for needed in NEEDED:
        if importlib.util.find_spec(needed) is None:
            return f"{needed} is not installed"
    try:
        files.verify(files.find())
    except files.Unusable as reason:
        return str(reason)
    return None


class LocalEmbeddings:
    """An Embedder. It never refuses a text: of a long one it reads the first 512 pieces, of an empty one its kind.

    Queries and passages are embedded off the event loop, on threads of their own, so that a query waits for other
    queries only.
    """

    model = MODEL
    dimensions = DIMENSIONS
    batch = BATCH

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._loading = threading.Lock()
        self._model: Model | None = None
        self._queries = ThreadPoolExecutor(1, "embed-query")
        self._passages = ThreadPoolExecutor(min(THREADS_MAX, os.cpu_count() or 1), "embed-passages", _give_way)

    async def prepare(self) -> None:
        await asyncio.get_running_loop().run_in_executor(self._passages, self._loaded)

    async def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        loop = asyncio.get_running_loop()
        run = partial(loop.run_in_executor, self._passages)
        vectors = await asyncio.gather(*(run(self._passage, text) for text in texts))
        if self._model is not None:
            await run(self._model.rest)
        return vectors

    async def embed_query(self, text: str) -> Vector:
        return await asyncio.get_running_loop().run_in_executor(self._queries, self._query, text)

    async def close(self) -> None:
        """Drop texts that nobody waits for any more."""
        for executor in (self._queries, self._passages):
            executor.shutdown(wait=False, cancel_futures=True)

    def _passage(self, text: str) -> Vector:
        return centred(self._loaded().passage(text), text, "passage")

    def _query(self, text: str) -> Vector:
        return centred(self._loaded().query(text), text, "query")

    def _loaded(self) -> Model:
        with self._loading:
            if self._model is None:
                self._model = _load_model(self._threads)
            return self._model


def _load_model(threads: int) -> Model:
    try:
        from app.providers.e5 import model, weights  # 60 MB

        loaded = model.Model(weights.open_weights(files.find()), threads)
    except (ImportError, OSError) as error:
        raise RefusedCaller(f"The local embedding model cannot be loaded: {error}") from error
    loaded.rest()
    return loaded


def _give_way() -> None:
    with suppress(OSError, AttributeError):  # where a thread has no niceness of its own
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
