"""The encoder as an ONNX graph: from the embedded tokens of one text to their contextual embeddings.

Twelve layers of attention and feed-forward, each with a residual connection and normalisation. The matrices are 8-bit
integers with a scale for each output, multiplied with activations that are quantised as they come. Their values stay
within MAGNITUDE_MAX, so that two products of 8 bits fit the 16-bit sums of processors without VNNI: every machine
computes the same vectors. Vectors agree with full precision to .993 at worst, and find what those do
(bench/results/README.md), in half the time that 4-bit matrices take.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.providers.e5.onnx import CONTRIB, Graph
from app.providers.e5.weights import Floats, Weights, unpack

MAGNITUDE_MAX = 63

INPUT = "embedded"


def encoder(weights: Weights) -> tuple[bytes, Mapping[str, NDArray[Any]]]:
    """Return the graph as an ONNX file's content, and its large constants by name.

    Its one output has the shape of INPUT, (1, pieces, width).
    """
    graph, sizes = Graph(), weights.sizes
    value = _normalised(graph, weights, "emb.ln", INPUT)
    for layer in range(sizes.layers):
        value = _layer(graph, weights, f"l{layer}", value)
    shape = (1, "pieces", sizes.width)
    return graph.model("multilingual-e5-small", {INPUT: shape}, {value: shape}), graph.large


def _layer(graph: Graph, weights: Weights, name: str, value: str) -> str:
    sizes = weights.sizes
    both = _linear(graph, weights, f"{name}.qkv", value, tuple(f"{name}.{part}" for part in "qkv"), sizes.width)
    parts = [f"{name}.query", f"{name}.key", f"{name}.value"]
    graph.node("Split", [both], parts, axis=-1)
    seen = graph.node("MultiHeadAttention", parts, [f"{name}.seen"], CONTRIB, num_heads=sizes.heads)
    attended = _linear(graph, weights, f"{name}.attended", seen, (f"{name}.ao",), sizes.width)
    value = _sum(graph, weights, f"{name}.aln", value, attended)
    wide = _linear(graph, weights, f"{name}.wide", value, (f"{name}.fi",), sizes.width)
    bent = graph.node("Gelu", [wide], [f"{name}.bent"], CONTRIB)
    narrow = _linear(graph, weights, f"{name}.narrow", bent, (f"{name}.fo",), sizes.inner)
    return _sum(graph, weights, f"{name}.oln", value, narrow)


def _sum(graph: Graph, weights: Weights, name: str, value: str, change: str) -> str:
    return _normalised(graph, weights, name, graph.node("Add", [value, change], [f"{name}.in"]))


def _normalised(graph: Graph, weights: Weights, name: str, value: str) -> str:
    scale = graph.constant(f"{name}.w", weights.vector(f"{name}.w"))
    shift = graph.constant(f"{name}.b", weights.vector(f"{name}.b"))
    epsilon = weights.sizes.epsilon
    return graph.node("LayerNormalization", [value, scale, shift], [f"{name}.out"], axis=-1, epsilon=epsilon)


def _linear(graph: Graph, weights: Weights, name: str, value: str, tensors: tuple[str, ...], width: int) -> str:
    """Add a linear layer for `tensors` stacked vertically: several matrices with the same input."""
    matrix = np.concatenate([unpack(weights.blocks(f"{tensor}.w", width)) for tensor in tensors])
    biases: Floats = np.concatenate([weights.vector(f"{tensor}.b") for tensor in tensors])
    scales: Floats = np.abs(matrix).max(axis=1) / MAGNITUDE_MAX
    rounded = np.rint(matrix / scales[:, None]).astype(np.int8)
    return graph.node(
        "DynamicQuantizeMatMul",
        [
            value,
            graph.constant(f"{name}.w", rounded.T),
            graph.constant(f"{name}.scales", scales),
            graph.constant(f"{name}.zeros", np.zeros(len(scales), np.int8)),
            graph.constant(f"{name}.b", biases),
        ],
        [f"{name}.out"],
        CONTRIB,
    )
