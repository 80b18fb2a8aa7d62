"""Cut messages so that together they fit a number of tokens, for a model to read.

Users' messages stay whole as long as they fit. Of the others, the longest are cut first: they keep their beginning and
a shorter end, with a mark for the missing middle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.core.model import Language
from app.core.search.days import dated, settled
from app.core.window.budget import fair
from app.core.window.quote import Said

HEAD_SHARE = 0.7
"""The beginning's share of what a cut text keeps; the rest is its end."""
MARK_TOKENS = 12
"""Approximate tokens of the mark for the missing middle."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """One message for a model to read."""

    seq: int
    role: str
    """The speaker's role; ``tool`` also for a machine that speaks in the user's role."""
    text: str
    tokens: int
    day: str = ""
    """The day it was said, such as "2030-01-31"; "" to show none."""
    name: str | None = None
    """The speaker's name."""


def rooms(excerpts: Sequence[Excerpt], room: int) -> list[int]:
    """Return the tokens that each excerpt can keep: first the users' excerpts, then the others."""
    users = [i for i, e in enumerate(excerpts) if e.role == "user"]
    others = [i for i, e in enumerate(excerpts) if e.role != "user"]
    user_tokens = sum(excerpts[i].tokens for i in users)
    least = min(room // 3, sum(excerpts[i].tokens for i in others))  # a long question must leave room for its answer
    for_users = min(user_tokens, room - least)
    kept_tokens = [0] * len(excerpts)
    for group, size in ((users, for_users), (others, room - for_users)):
        for i, tokens in zip(group, fair([excerpts[i].tokens for i in group], size), strict=True):
            kept_tokens[i] = tokens
    return kept_tokens


def cut(text: str, tokens: int, keep: int) -> str:
    """Return the beginning and the end of a text, together about ``keep`` of its tokens."""
    if keep >= tokens:
        return text
    characters = len(text) * max(0, keep - MARK_TOKENS) // max(tokens, 1)
    head = int(characters * HEAD_SHARE)
    tail = characters - head
    return f"{text[:head]} [… {len(text) - head - tail} …] {text[len(text) - tail :] if tail else ''}".strip()


def framed(excerpts: Sequence[Excerpt], language: Language) -> str:
    """Return the excerpts in a frame that none of them can close, with date lines where days change."""
    days = settled({e.seq: e.day for e in excerpts if e.day})
    lines, _ = dated([(Said(e.seq, e.role, e.text, e.name).line, days.get(e.seq, "")) for e in excerpts], "", language)
    return "\n".join(["<quire-data>", *(lines or [""]), "</quire-data>"])
