"""Give pages that begin alike different titles, such as forty that begin with "Please review the following …"."""

import re

SHARED_MIN = 40
"""Characters that two messages must share at their beginning: with fewer, the plain titles differ already."""
TITLE_CHARACTERS = 60
_BEGUN, _SEEN = 12, 1_000
_MARKS = " \t,.;:!?，。；：！？-–—…"
_SENTENCE_END = re.compile(r"(?<=[.!?:])\s|(?<=[。！？：])")
_WORD = re.compile(r"[^\W\u3400-\u9fff]+|[\u3400-\u9fff]")


def apart(title: str, text: str, before: str) -> str:
    """Return a page's title, or the part of its message that differs from the previous page's line ``before``."""
    text = text[:_SEEN]
    if not text.isprintable():
        text = "".join(character if character.isprintable() else " " for character in text)
    text = " ".join(text.split())
    begun = before[:_BEGUN].lower()
    at = text.lower().find(begun) if begun.strip() else -1
    if at < 0 or title.startswith("…"):
        return title
    ours, theirs = text[at:].lower(), before.lower()
    differing = (place for place, (one, other) in enumerate(zip(ours, theirs, strict=False)) if one != other)
    shared = next(differing, min(len(ours), len(theirs)))
    if shared < SHARED_MIN:
        return title
    end = at + shared
    rest = text[end:]
    if before[shared:].startswith("…"):  # the line is cut, so the difference comes after the sentence
        rest = _SENTENCE_END.split(rest, 1)[-1]
    elif text[end - 1 : end + 1].isascii() and text[end - 1 : end + 1].isalnum():
        rest = text[text.rfind(" ", 0, end) + 1 :]
    rest = rest.lstrip(_MARKS)
    if not set(_WORD.findall(rest[:TITLE_CHARACTERS])) - set(_WORD.findall(text[:end])):
        return title
    if len(rest) >= TITLE_CHARACTERS:
        rest = rest[: TITLE_CHARACTERS - 2].rpartition(" ")[0].rstrip(_MARKS) or rest[: TITLE_CHARACTERS - 2]
        rest = f"{rest}…"
    return f"…{rest}"
