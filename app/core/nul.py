"""NUL characters apart from their text, since PostgreSQL's text holds none."""

from __future__ import annotations

import re
from collections.abc import Sequence


def without_nul(text: str) -> tuple[str, tuple[int, ...]]:
    """Return a text that PostgreSQL can hold, and where NUL was in it."""
    if "\x00" not in text:
        return text, ()
    return replace_nul(text), tuple(nul.start() for nul in re.finditer("\x00", text))


def replace_nul(text: str) -> str:
    """Return the text with U+FFFD in the place of NUL."""
    return text.replace("\x00", "\ufffd") if "\x00" in text else text


def with_nul(text: str, offsets: Sequence[int]) -> str:
    """Return the original of a text, the inverse of ``without_nul``."""
    if not offsets:
        return text
    characters = list(text)
    for offset in offsets:
        characters[offset] = "\x00"
    return "".join(characters)
