"""Cut texts to fit a number of tokens, keeping most of each, for a model to read.

What users say stays whole as long as it fits. The longest of the other texts are cut first: they keep their beginning
and a shorter end, with a mark for what is missing in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.core.model import Language
from app.core.search.days import dated, settled
from app.core.window.budget import fair
from app.core.window.quote import Said

HEAD_SHARE = 0.7
"""The share of a cut text's remainder that is its beginning; the rest is its end."""
MARK_TOKENS = 12
"""Approximate tokens of a cut's mark."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """One message for a model to read."""

    seq: int
    role: str
    """Of a machine that speaks in the user's role, `tool`."""
    text: str
    tokens: int
    day: str = ""
    """When it was said, such as "2030-01-31"; "" if that is not to be told."""
    name: str | None = None
    """The speaker's."""


def rooms(excerpts: Sequence[Excerpt], room: int) -> list[int]:
    """Return the tokens that each excerpt may keep: what users say first, then the others."""
    users = [i for i, e in enumerate(excerpts) if e.role == "user"]
    others = [i for i, e in enumerate(excerpts) if e.role != "user"]
    user_tokens = sum(excerpts[i].tokens for i in users)
    least = min(room // 3, sum(excerpts[i].tokens for i in others))  # a page is not all question
    for_users = min(user_tokens, room - least)
    kept_tokens = [0] * len(excerpts)
    for group, size in ((users, for_users), (others, room - for_users)):
        for i, tokens in zip(group, fair([excerpts[i].tokens for i in group], size), strict=True):
            kept_tokens[i] = tokens
    return kept_tokens


def cut(text: str, tokens: int, keep: int) -> str:
    """Return about ``keep`` of a text's tokens: its beginning and its end."""
    if keep >= tokens:
        return text
    characters = len(text) * max(0, keep - MARK_TOKENS) // max(tokens, 1)
    head = int(characters * HEAD_SHARE)
    tail = characters - head
    return f"{text[:head]} [… {len(text) - head - tail} …] {text[len(text) - tail :] if tail else ''}".strip()


def framed(excerpts: Sequence[Excerpt], language: Language) -> str:
    """Return excerpts for a model: data in a frame that nothing in them closes, with date lines where days change."""
    told = settled({e.seq: e.day for e in excerpts if e.day})
    lines, _ = dated([(Said(e.seq, e.role, e.text, e.name).line, told.get(e.seq, "")) for e in excerpts], "", language)
    return "\n".join(["<quire-data>", *(lines or [""]), "</quire-data>"])
