"""Texts cut to a room in tokens, so that most of each is kept: for a model that is to read them.

What users say stays whole as long as it fits, and the longest of the other texts give way first: they keep their
beginning and a shorter end, with a mark of what is missing between.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.core.neutral import block

HEAD_SHARE = 0.7
MARK_TOKENS = 12
"""What the mark of a cut weighs, about."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """One message for a model to read."""

    seq: int
    role: str
    text: str
    tokens: int


def shares(weights: Sequence[int], room: int) -> list[int]:
    """What each weight may keep so that together they fit the room: all of it, or one bound that all the larger
    ones share.
    """
    left, keep = room, list(weights)
    order = sorted(range(len(weights)), key=lambda i: weights[i])
    for place, i in enumerate(order):
        bound = max(0, left) // (len(order) - place)
        keep[i] = min(weights[i], bound)
        left -= keep[i]
    return keep


def rooms(excerpts: Sequence[Excerpt], room: int) -> list[int]:
    """Tokens that each may keep: what users say first, then the others."""
    users = [i for i, e in enumerate(excerpts) if e.role == "user"]
    others = [i for i, e in enumerate(excerpts) if e.role != "user"]
    wanted = sum(excerpts[i].tokens for i in users)
    least = min(room // 3, sum(excerpts[i].tokens for i in others))  # a page is not all question
    for_users = min(wanted, room - least)
    kept = [0] * len(excerpts)
    for group, size in ((users, for_users), (others, room - for_users)):
        for i, tokens in zip(group, shares([excerpts[i].tokens for i in group], size), strict=True):
            kept[i] = tokens
    return kept


def cut(text: str, tokens: int, keep: int) -> str:
    """About ``keep`` of a text's tokens: its beginning and its end."""
    if keep >= tokens:
        return text
    characters = len(text) * max(0, keep - MARK_TOKENS) // max(tokens, 1)
    head = int(characters * HEAD_SHARE)
    tail = characters - head
    return f"{text[:head]} [… {len(text) - head - tail} …] {text[len(text) - tail :] if tail else ''}".strip()


def framed(excerpts: Sequence[Excerpt]) -> str:
    """As a model is given them: data in a frame that nothing in them can close."""
    lines = "\n".join(f"[{e.seq}] {e.role}: {block(e.text)}" for e in excerpts)
    return f"<quire-data>\n{lines}\n</quire-data>"
