"""Ids and names of calls in the form that an API takes."""

from __future__ import annotations

import hashlib
import re
from collections import Counter

NOT_SENT = re.compile(r"[^A-Za-z0-9_-]")
NAME_LENGTH = 64
ID_LENGTHS = (9, 12, 16, 24, 32, 40)
BLOCK_IDS = "[A-Za-z0-9_-]{1,256}"
"""The ids of calls that Messages takes."""


def mapped_name(name: str) -> str:
    """Return a tool's name that every API takes, the same for the same one."""
    return NOT_SENT.sub("_", name)[:NAME_LENGTH] or "_"


def mapped_id(pattern: str, id_: str) -> str:
    """Return an id that the pattern takes, the same for the same one."""
    if not pattern or re.fullmatch(pattern, id_):
        return id_
    hexadecimal = hashlib.sha256(id_.encode(errors="surrogatepass")).hexdigest()
    candidates = [f"{NOT_SENT.sub('_', id_)[:31]}_{hexadecimal[:32]}", *(hexadecimal[:n] for n in ID_LENGTHS)]
    return next((found for found in candidates if re.fullmatch(pattern, found)), id_)


class CallIds:
    """The ids of a list's calls, each mapped once; a result belongs to the latest call of its id."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._seen: Counter[str] = Counter()
        self._latest: dict[str, str] = {}

    def call(self, id_: str) -> str:
        times = self._seen[id_]
        self._seen[id_] += 1
        self._latest[id_] = mapped_id(self._pattern, id_ if not times else f"{id_}-{times}")
        return self._latest[id_]

    def result(self, id_: str) -> str:
        return self._latest.get(id_) or mapped_id(self._pattern, id_)
