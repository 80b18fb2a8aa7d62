"""Prevent stored text from passing for Quire's own words.

Two kinds of marks mean something to a model. A frame (``<quire-page …>`` to ``</quire-page>``) marks its content as
quoted, and a placeholder names an archive. Inside a frame, lines have a form: ``[12] user: …`` begins a message,
``[Pages 12–31] …`` a chapter, ``## …`` a section. Quoted text must not open or close a frame, stand for an archive, or
begin a line: later lines of a text are indented, and a single line stays single. So everything at the beginning of a
line in a frame is Quire's. Outside of frames those forms mean nothing, and such text is left unchanged.

Nothing is deleted, and only indenting makes a text longer; what was sent is stored unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

INDENT = "  "
"""Before each later line of a quoted text."""

_BLANK = r"\s\u00ad\u200b-\u200f\u2060\ufeff"
_FRAME = re.compile(rf"<(?=[{_BLANK}]*/?[{_BLANK}]*quire-)", re.IGNORECASE)
_PLACEHOLDER = re.compile(
    r"\[(?=\s*(?:Archived\s+tool\s+result|Tool\s+result|已归档的工具结果|工具结果)\s*[0-9a-f]{8}-)", re.IGNORECASE
)
PLACEHOLDERS = ("[Archived tool result ", "[已归档的工具结果 ")
"""How Quire's own placeholders begin, and nothing that others sent does."""
_BREAKS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_BREAK = re.compile(f"[{_BREAKS}]")
_LINE = re.compile(rf"(?<=[{_BREAKS}])(?=[^{_BREAKS}])")
_RANGE = re.compile(rf"(?:(?<=[{_BREAKS}])|\A)\[(?=\s*\d+\s*–)")
_BRACKETS = str.maketrans("[]", "［］")


def unframed(text: str) -> str:
    """Return a text that neither opens nor closes a frame, for texts that can contain Quire's own placeholders.

    NUL, which no model should get, is removed too: passages and orphans can contain it.
    """
    return replace_nul(_FRAME.sub("‹", text) if "<" in text else text)


def neutral(text: str) -> str:
    """Return a text that neither opens nor closes a frame, and stands for no archive."""
    text = unframed(text)
    return _PLACEHOLDER.sub("［", text) if "[" in text else text


def flat(text: str) -> str:
    if text.isprintable() and "<" not in text and "[" not in text:
        return text  # as nearly all lines
    return _BREAK.sub(" ", neutral(text))


def block(text: str) -> str:
    """Return an unframed text with its later lines indented, so that none looks like the beginning of an entry."""
    return _LINE.sub(INDENT, unframed(text))


def titled(text: str) -> str:
    """Return a text safe for the tag that opens a frame, or the brackets that begin a line."""
    return flat(text).translate(_BRACKETS).replace(">", "›")


def without_ranges(text: str) -> str:
    """Return a passage in which no line looks like the heading of another range."""
    return _RANGE.sub("［", text)


# --- NUL, which PostgreSQL's text does not hold ----------------------------------------------------------


def without_nul(text: str) -> tuple[str, tuple[int, ...]]:
    if "\x00" not in text:
        return text, ()
    return replace_nul(text), tuple(nul.start() for nul in re.finditer("\x00", text))


def replace_nul(text: str) -> str:
    """Return the text with U+FFFD in place of NUL."""
    return text.replace("\x00", "\ufffd") if "\x00" in text else text


def with_nul(text: str, offsets: Sequence[int]) -> str:
    """Return the original text: the inverse of ``without_nul``."""
    if not offsets:
        return text
    characters = list(text)
    for offset in offsets:
        characters[offset] = "\x00"
    return "".join(characters)
