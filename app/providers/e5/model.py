"""Text to vector: prefix, tokens, embeddings read from the file, the graph, unit length.

One text per run: on a CPU, batching gains nothing, and without it no text is padded, none waits for a longer one, and a
vector cannot depend on the texts that came with it.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import onnxruntime

from app import heap
from app.providers.e5.graph import INPUT, encoder
from app.providers.e5.tokenizer import Tokenizer
from app.providers.e5.weights import Floats, Weights, unpack

ERRORS_ONLY = 3


class Model:
    """Any number of threads may use one."""

    PIECES_MAX: Final = 512
    """Tokens of a text with its prefix, start and end; any more are not read."""

    def __init__(self, weights: Weights, threads: int) -> None:
        self.dimensions = weights.sizes.width
        vocabulary = weights.vocabulary
        self._start, self._end = vocabulary.start, vocabulary.end
        self._tokenizer = Tokenizer(vocabulary)
        self._words = weights.blocks("emb.word", self.dimensions)
        kinds = weights.vector("emb.type").reshape(-1, self.dimensions)
        self._places: Floats = weights.vector("emb.pos").reshape(-1, self.dimensions) + kinds[0]
        self._weights = weights
        graph, large = encoder(weights)
        options = _options(threads)
        options.add_external_initializers([*large], [*map(onnxruntime.OrtValue.ortvalue_from_numpy, large.values())])
        self._session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])

    def query(self, text: str) -> list[float]:
        return self._vector("query: " + text)

    def passage(self, text: str) -> list[float]:
        return self._vector("passage: " + text)

    def rest(self) -> None:
        """Give back the memory that texts took, until the next one."""
        self._weights.let_go()
        heap.give_back()

    def _vector(self, text: str) -> list[float]:
        pieces = [self._start, *self._tokenizer.pieces(text, self.PIECES_MAX - 2), self._end]
        embedded = unpack(self._words[pieces]) + self._places[: len(pieces)]
        (meanings,) = self._session.run(None, {INPUT: embedded[None]})[0]
        mean = meanings.mean(axis=0)
        vector: list[float] = (mean / np.linalg.norm(mean)).tolist()
        return vector


def _options(threads: int) -> onnxruntime.SessionOptions:
    """Return options for running beside other work: few threads that do not spin, and no memory kept between runs."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False
    options.enable_mem_pattern = False
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC  # what more fuses is slower
    options.log_severity_level = ERRORS_ONLY
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return options
