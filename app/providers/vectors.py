"""Judge the body of an embeddings answer, and bring vectors to unit length and a width that every index supports."""

import base64
import binascii
import hashlib
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.providers import UnusableReply

Vectors = NDArray[np.float64]
"""One a row."""

WIDTH_MAX = 1024
"""The widest half-precision vector that an entry of the covering index holds."""

COSINE_ERROR = 0.15
"""The most by which `reduced` changes the cosine of two vectors: 0.141 was the maximum in eight million pairs."""

_SEED = b"quire: projection of wide vectors, 1"


def vectors_of(body: Mapping[str, Any], *, count: int, width: int | None) -> Vectors:
    """Return the vectors of an answer in the order of the texts, each of unit length.

    ``width`` is required of every vector; None accepts any width that all of them share. Raises UnusableReply.
    """
    items = body.get("data")
    if not isinstance(items, list) or not all(isinstance(item, Mapping) for item in items):
        raise UnusableReply("the answer has no vectors")
    if len(items) != count:
        raise UnusableReply(f"the answer has {len(items)} vectors for {count} texts")
    rows = [_row(item.get("embedding")) for item in _in_order(items)]
    expected = len(rows[0]) if width is None else width
    for row in rows:
        if len(row) != expected:
            raise UnusableReply(f"a vector has {len(row)} dimensions instead of {expected}")
    return unit(np.stack(rows))


def unit(vectors: Vectors) -> Vectors:
    """Scale vectors to length 1. Raises UnusableReply for vectors without a direction: NaN, infinity, zero."""
    scale = np.abs(vectors).max(axis=1, keepdims=True)
    if not np.isfinite(scale).all():
        raise UnusableReply("a vector has NaN or infinity in it")
    if not scale.all():
        raise UnusableReply("a vector is zero")
    scaled = vectors / scale  # so that no square overflows or vanishes
    return np.asarray(scaled / np.linalg.norm(scaled, axis=1, keepdims=True))


def reduced(vectors: Vectors) -> Vectors:
    """Return unit vectors no wider than `WIDTH_MAX`, with cosines preserved within `COSINE_ERROR`.

    Wider ones are projected, identically on every machine and in every version: random signs, a Walsh-Hadamard
    transform that spreads each vector over all coordinates, and a random choice of those.
    """
    width = vectors.shape[1]
    if width <= WIDTH_MAX:
        return vectors
    signs, coordinates = _projection(width)
    spread = np.zeros((len(vectors), _power_of_two(width)))
    spread[:, :width] = vectors * signs
    return unit(_hadamard(spread)[:, coordinates])


@cache
def _projection(width: int) -> tuple[Vectors, NDArray[np.intp]]:
    """Return a sign for each coordinate and the coordinates to keep, from a hash: numpy's random numbers may change."""
    size = _power_of_two(width)
    stream = hashlib.shake_256(_SEED + size.to_bytes(4, "big")).digest(size + 8 * size)
    signs = np.where(np.frombuffer(stream[:size], np.uint8) & 1, 1.0, -1.0)
    keys = np.frombuffer(stream[size:], ">u8")
    return signs[:width], np.sort(np.argsort(keys, kind="stable")[:WIDTH_MAX])


def _hadamard(rows: Vectors) -> Vectors:
    count, size = rows.shape
    half = 1
    while half < size:
        pairs = rows.reshape(count, size // (2 * half), 2, half)
        rows = np.stack((pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]), axis=2)
        rows = rows.reshape(count, size)
        half *= 2
    return rows


def _power_of_two(width: int) -> int:
    return 1 << (width - 1).bit_length()


def _in_order(items: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    indexes = [item.get("index") for item in items]
    if all(index is None for index in indexes):
        return items
    places = {index: item for index, item in zip(indexes, items, strict=True) if type(index) is int}
    if set(places) != set(range(len(items))):
        raise UnusableReply("the vectors' indexes are not those of the texts")
    return [places[index] for index in range(len(items))]


def _row(embedding: object) -> NDArray[np.float64]:
    if isinstance(embedding, list) and embedding and set(map(type, embedding)) <= {int, float}:
        try:
            return np.array(embedding, np.float64)
        except OverflowError:
            raise UnusableReply("a vector has a number that is too large") from None
    if isinstance(embedding, str) and embedding:
        try:
            return np.frombuffer(base64.b64decode(embedding, validate=True), "<f4").astype(np.float64)
        except (binascii.Error, ValueError):
            raise UnusableReply("a vector is not valid base64") from None
    raise UnusableReply("a vector is not a list of numbers")
