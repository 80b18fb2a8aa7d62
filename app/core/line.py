"""A conversation's line: its own rows, and its ancestors' rows up to where it branched off.

A fork copies nothing. A branch's messages go on from the seq, the page and the offsets at the fork, so statements that
read a conversation's history read the stretches of its ancestors as if they were its own (``postgres.along``). Nothing
that an ancestor said or learned after the fork is on the line.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple, Self
from uuid import UUID

from app.core.canonical import dumps


class Stretch(NamedTuple):
    """An ancestor's rows that a branch shares."""

    id: str
    uid: UUID
    seq: int
    """The last message."""
    page: int
    """The page of that message."""
    at: datetime
    """When it was no longer the newest message: what was learned or kept in mind up to then is shared."""


class Line(str):
    """A conversation's id that knows its ancestors, the oldest first."""

    __slots__ = ("is_forked", "stretches")

    stretches: tuple[Stretch, ...]
    is_forked: bool
    """Others branch off from it, or did."""

    def __new__(cls, conversation_id: str, stretches: Iterable[Stretch] = (), *, is_forked: bool = False) -> Self:
        line = super().__new__(cls, conversation_id)
        line.stretches = tuple(stretches)
        line.is_forked = is_forked
        return line

    @property
    def root(self) -> str:
        """Return the conversation that the whole tree began with."""
        return self.stretches[0].id if self.stretches else str(self)

    @property
    def is_in_tree(self) -> bool:
        """Return whether other lines share messages with it, or did."""
        return self.is_forked or bool(self.stretches)

    @property
    def own(self) -> str:
        """Return the plain id, to read its own rows only."""
        return str(self)

    def keeper(self, seq: int) -> str:
        """Return the conversation that stores a message."""
        return next((one.id for one in self.stretches if seq <= one.seq), str(self))

    def includes(self, conversation_id: str | None) -> bool:
        return conversation_id == self or any(one.id == conversation_id for one in self.stretches)

    def holds(self, conversation_id: str | None, seq: int | None, at: datetime) -> bool:
        """Return whether a row is on the line, judged by its message or, without one, by its time."""
        for one in self.stretches:
            if one.id == conversation_id:
                return seq <= one.seq if seq is not None else at <= one.at
        return conversation_id == self

    def through(self, seq: int) -> tuple[Stretch, ...]:
        """Return the stretches that a branch after ``seq`` shares."""
        return tuple(one for i, one in enumerate(self.stretches) if not i or self.stretches[i - 1].seq < seq)


class CallersId(str):
    """An id from a caller. It stands for the branch that the id shows, or for ``branch``."""

    __slots__ = ("branch",)

    branch: str | None

    def __new__(cls, conversation_id: str, branch: str | None = None) -> Self:
        named = super().__new__(cls, conversation_id)
        named.branch = branch
        return named


def named(conversation_id: str) -> str:
    """Return a caller's id, which stands for the branch that it shows."""
    return conversation_id if isinstance(conversation_id, Line | CallersId) else CallersId(conversation_id)


def exact(conversation_id: str) -> str:
    """Return a caller's id so that it stands for this very conversation, whatever branch the id shows."""
    return (conversation_id.branch if isinstance(conversation_id, CallersId) else None) or str(conversation_id)


def is_here(here: str | None, conversation_id: str | None) -> bool:
    """Return whether a found row belongs to the conversation that asks, or is on its line."""
    return here.includes(conversation_id) if isinstance(here, Line) else here == conversation_id


def line_text(stretches: Iterable[Stretch]) -> str:
    return dumps([[one.id, str(one.uid), one.seq, one.page, one.at.isoformat()] for one in stretches])
