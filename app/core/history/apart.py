"""Tell pages apart that begin alike, as forty that all begin "Please review the following …"."""

import re

SHARED_MIN = 40
"""Characters in which a message begins like the one before: after fewer, a title shows what differs."""
TITLE_CHARACTERS = 60
_BEGUN, _SEEN = 12, 1_000
_MARKS = " \t,.;:!?，。；：！？-–—…"
_SENTENCE_END = re.compile(r"(?<=[.!?:])\s|(?<=[。！？：])")
_WORD = re.compile(r"[^\W\u3400-\u9fff]+|[\u3400-\u9fff]")


def apart(title: str, text: str, before: str) -> str:
    """Return a page's title, or what its message says that ``before``, the line of the page before, does not."""
    text = text[:_SEEN]
    if not text.isprintable():
        text = "".join(one if one.isprintable() else " " for one in text)
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
    if before[shared:].startswith("…"):  # the line is cut: what differs comes after the sentence
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
