"""The rule that decides which archives and memories are visible.

Everything stored belongs to one scope: a user's, a space's (its members share it), or one conversation's. Messages are
found in the scope of their user or space; a memory can also hold in its conversation alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal
from uuid import NAMESPACE_URL, UUID, uuid5

SPACE = "space:"
"""What precedes the id of a space where a caller names its scope."""
_KEYS = "\x1d"
"""What precedes the id of a space in the name of the member that its keys are: no user's id can have it."""
_FILES = "m:"
Kind = Literal["user", "space", "conversation"]
_KINDS: dict[str, Kind] = {"u": "user", "s": "space", "c": "conversation"}


@dataclass(frozen=True, slots=True)
class Scope:
    """The audience of a row: a user, the members of a space, or one conversation."""

    kind: Kind
    id: str
    are_files: bool = False
    """It is that of the memory tool's files: no view of the scope has them."""

    @staticmethod
    def read(text: str) -> Scope:
        """Return the scope of a stored text."""
        kind, _, id_ = text.removeprefix(_FILES).partition(":")
        return Scope(_KINDS[kind], id_, text.startswith(_FILES))

    @property
    def text(self) -> str:
        """Return the scope as stored text."""
        return f"{_FILES if self.are_files else ''}{self.kind[0]}:{self.id}"

    @property
    def owner(self) -> UUID:
        """Return the scope as an index key of fixed size."""
        return _owner(self.text)

    @property
    def files(self) -> Scope:
        return replace(self, are_files=True)

    @property
    def user_id(self) -> str | None:
        return self.id if self.kind == "user" else None

    @property
    def space_id(self) -> str | None:
        return self.id if self.kind == "space" else None

    @property
    def is_alone(self) -> bool:
        """Return whether it is a single conversation's."""
        return self.kind == "conversation"

    @property
    def name(self) -> str:
        """Return the scope as callers name it: `user`, `conversation`, or `space:` and its id."""
        return f"{SPACE}{self.id}" if self.kind == "space" else self.kind


@lru_cache(maxsize=20_000)
def _owner(text: str) -> UUID:
    return uuid5(NAMESPACE_URL, f"quire:{text}")


def keys_member(space_id: str) -> str:
    """Return the member that stands for all keys bound to a space. Its data is the space's."""
    return f"{_KEYS}{space_id}"


def space_of_keys(user_id: str | None) -> str | None:
    """Return the space whose keys a member stands for; None for a user or nobody."""
    return user_id.removeprefix(_KEYS) if user_id is not None and user_id.startswith(_KEYS) else None


def scope_of(user_id: str | None, conversation_id: str | None, space_id: str | None = None) -> Scope:
    """Return the scope of the space, else of the user, else of the conversation."""
    space_id = space_of_keys(user_id) if space_id is None else space_id
    if space_id is not None:
        return Scope("space", space_id)
    return Scope("user", user_id) if user_id is not None else Scope("conversation", f"{conversation_id}")


def scopes_in_view(scope: Scope, conversation_id: str, *ancestors: str, wider: Iterable[UUID] = ()) -> list[UUID]:
    """Return the owners of everything that a conversation keeps in mind, widest scope first.

    ``ancestors``: a branch's, oldest first. ``wider``: the other scopes that it reads: named spaces, or all of its
    parent's.
    """
    alone = (Scope("conversation", one).owner for one in (*ancestors, conversation_id))
    return list(dict.fromkeys([*wider, scope.owner, *alone]))
