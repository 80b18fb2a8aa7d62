"""Write an ONNX model: the part of its protobuf that our graph needs, so that building it takes no further package.

The numbers are the field numbers of the messages in onnx.proto; those of a released version never change.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

IR_VERSION = 8
OPSETS = {"": 17, "com.microsoft": 1}
CONTRIB = "com.microsoft"
"""The operators that onnxruntime adds to the standard's."""

Shapes = Mapping[str, Sequence[int | str]]
"""Shapes by the name of a value; a variable size is a name."""

FLOAT, INT8 = 1, 3

EXTERNAL = 1
LARGE_BYTES = 4096
"""Of a constant: what is larger stands outside the file, since a session holds what is in it twice."""

_TYPES = {np.dtype(np.float32): FLOAT, np.dtype(np.int8): INT8}
_FLOAT_ATTRIBUTE, _INT_ATTRIBUTE = 1, 2
_VARINT, _BYTES, _FIXED32 = 0, 2, 5


class Graph:
    """Nodes in the order in which they run; every value has a name."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._constants: list[bytes] = []
        self.large: dict[str, NDArray[Any]] = {}
        """The constants outside the file, by name."""

    def constant(self, name: str, value: NDArray[np.float32] | NDArray[np.int8]) -> str:
        head = b"".join(_int(1, size) for size in value.shape) + _int(2, _TYPES[value.dtype]) + _text(8, name)
        if value.nbytes > LARGE_BYTES:
            self.large[name] = np.ascontiguousarray(value)
            content = _bytes(13, _text(1, "location") + _text(2, "memory")) + _int(14, EXTERNAL)
        else:
            content = _bytes(9, value.astype(value.dtype.newbyteorder("<"), copy=False).tobytes())
        self._constants.append(_bytes(5, head + content))
        return name

    def node(
        self, operator: str, inputs: Sequence[str], outputs: Sequence[str], domain: str = "", **attributes: float
    ) -> str:
        """Add a node and return its first output. An omitted input is an empty name."""
        self._nodes.append(
            b"".join(_text(1, name) for name in inputs)
            + b"".join(_text(2, name) for name in outputs)
            + _text(4, operator)
            + b"".join(_bytes(5, _attribute(name, value)) for name, value in attributes.items())
            + _text(7, domain)
        )
        return outputs[0]

    def model(self, name: str, inputs: Shapes, outputs: Shapes) -> bytes:
        """Return the whole as a file's content. Inputs and outputs are floats, given by their shapes."""
        graph = [
            *(_bytes(1, node) for node in self._nodes), _text(2, name), *self._constants,
            *(_bytes(11, _value(*item)) for item in inputs.items()),
            *(_bytes(12, _value(*item)) for item in outputs.items()),
        ]  # fmt: skip
        opsets = [_bytes(8, _text(1, domain) + _int(2, version)) for domain, version in OPSETS.items()]
        return b"".join([_int(1, IR_VERSION), *opsets, _opening(7, sum(map(len, graph))), *graph])


def _value(name: str, shape: Sequence[int | str]) -> bytes:
    dims = b"".join(_bytes(1, _int(1, size) if isinstance(size, int) else _text(2, size)) for size in shape)
    return _text(1, name) + _bytes(2, _bytes(1, _int(1, FLOAT) + _bytes(2, dims)))


def _attribute(name: str, value: float) -> bytes:
    if isinstance(value, int):
        return _text(1, name) + _int(3, value) + _int(20, _INT_ATTRIBUTE)
    return _text(1, name) + _key(2, _FIXED32) + struct.pack("<f", value) + _int(20, _FLOAT_ATTRIBUTE)


def _int(field: int, value: int) -> bytes:
    """Encode an integer field. An attribute may be minus one, as the two's complement of 64 bits."""
    return _key(field, _VARINT) + _varint(value % 2**64)


def _text(field: int, value: str) -> bytes:
    return _bytes(field, value.encode())


def _bytes(field: int, value: bytes) -> bytes:
    return _opening(field, len(value)) + value


def _opening(field: int, length: int) -> bytes:
    return _key(field, _BYTES) + _varint(length)


def _key(field: int, kind: int) -> bytes:
    return _varint(field << 3 | kind)


def _varint(value: int) -> bytes:
    """Encode a varint: seven bits per byte, lowest first; all but the last have the high bit set."""
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*encoded, value])
