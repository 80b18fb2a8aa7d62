"""The encoder as an ONNX graph: from the embedded tokens of one text to their contextual embeddings.

Twelve layers of attention and feed-forward, each with a residual connection and normalisation. The matrices keep their
4 bits: onnxruntime's MatMulNBits multiplies them directly, with 8-bit activations scaled per block, which the weights
were made for (cosine 0.9999 to full precision) and which overflows no processor's 16-bit sums.

Alternatives measured on one thread: 8-bit matrices with 8-bit activations are 1.5 to 1.8 times as fast, but agree only
to .997 or .999, and saturate on processors without VNNI, so that two machines would disagree; full precision takes
twice as long for a query and six times the memory.
"""

from __future__ import annotations

import numpy as np

from app.providers.e5.onnx import CONTRIB, Graph
from app.providers.e5.weights import BLOCK, Bytes, Floats, Quantised, Weights

BITS = 4
INT8_ACTIVATIONS = 4
"""The accuracy level of MatMulNBits that allows 8-bit activations."""

INPUT = "embedded"


def encoder(weights: Weights) -> bytes:
    """Return the graph as an ONNX file's content: its one output has the shape of INPUT, (1, pieces, width)."""
    graph, sizes = Graph(), weights.sizes
    value = _normalised(graph, weights, "emb.ln", INPUT)
    for layer in range(sizes.layers):
        value = _layer(graph, weights, f"l{layer}", value)
    shape = (1, "pieces", sizes.width)
    return graph.model("multilingual-e5-small", {INPUT: shape}, {value: shape})


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
    matrices = [weights.quantised(f"{tensor}.w", width) for tensor in tensors]
    matrix = Quantised(np.concatenate([q.values for q in matrices]), np.concatenate([q.scales for q in matrices]))
    biases: Floats = np.concatenate([weights.vector(f"{tensor}.b") for tensor in tensors])
    packed = graph.constant(f"{name}.w", _packed(matrix.values))
    scales = graph.constant(f"{name}.scales", matrix.scales.reshape(-1))
    bias = graph.constant(f"{name}.b", biases)
    return graph.node(
        "MatMulNBits",
        [value, packed, scales, "", "", bias],
        [f"{name}.out"],
        CONTRIB,
        K=width,
        N=len(biases),
        bits=BITS,
        block_size=BLOCK,
        accuracy_level=INT8_ACTIVATIONS,
    )


def _packed(values: Bytes) -> Bytes:
    """Pack two neighbours into a byte, the first in the low half. The operator, like the file, takes 8 as zero."""
    return values[..., 0::2] | values[..., 1::2] << np.uint8(4)
