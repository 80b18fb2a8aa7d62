"""The rule that decides which archives and memories are visible.

Everything stored belongs to one scope: a user's, a space's (members share it), or one conversation's. What a
conversation says is found in its user's or its space's scope; a memory can hold in the conversation alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from uuid import NAMESPACE_URL, UUID, uuid5

SPACE = "space:"
"""What precedes the id of a space where a caller names its scope."""
_KEYS = "\x1d"
"""What precedes the id of a space in the name of the member that its keys are: no user's id can have it."""


def keys_member(space_id: str) -> str:
    """Return the member that the keys bound to a space are, in place of a user. What is theirs is the space's."""
    return f"{_KEYS}{space_id}"


def space_of_keys(user_id: str | None) -> str | None:
    """Return the space whose keys are the member; None for a user, and for nobody."""
    return user_id.removeprefix(_KEYS) if user_id is not None and user_id.startswith(_KEYS) else None


def scope_of(user_id: str | None, conversation_id: str | None, space_id: str | None = None) -> str:
    """Return the space's scope, or the user's, or the one conversation's where neither is known."""
    space_id = space_of_keys(user_id) if space_id is None else space_id
    if space_id is not None:
        return space_scope(space_id)
    return f"u:{user_id}" if user_id is not None else f"c:{conversation_id}"


def conversation_scope(conversation_id: str) -> str:
    return f"c:{conversation_id}"


def space_scope(space_id: str) -> str:
    return f"s:{space_id}"


def scopes_in_view(scope: str, conversation_id: str, *ancestors: str, wider: Iterable[UUID] = ()) -> list[UUID]:
    """Return the owners of all that a conversation keeps in mind, the widest scope first.

    ``ancestors``: of a branch, the oldest first. ``wider``: what it reads besides its own scope: the spaces that it
    names, or all of its parent's.
    """
    alone = map(conversation_scope, (*ancestors, conversation_id))
    return list(dict.fromkeys([*wider, *map(owner_of, (scope, *alone))]))


def files_of(scope: str) -> str:
    """Return the scope of the memory tool's files: no view of the scope has them."""
    return f"m:{scope}"


def user_of(scope: str) -> str | None:
    """Return the user of a scope or of its files; None for that of a space or a conversation."""
    scope = scope.removeprefix("m:")
    return scope[2:] if scope.startswith("u:") else None


def space_of(scope: str) -> str | None:
    """Return the space of a scope; None for any other."""
    return scope[2:] if scope.startswith("s:") else None


def shown(scope: str) -> str:
    """Return a scope as callers name it: `user`, `conversation`, or `space:` and its id."""
    space = space_of(scope)
    return f"{SPACE}{space}" if space is not None else "user" if scope.startswith("u:") else "conversation"


@lru_cache(maxsize=20_000)
def owner_of(scope: str) -> UUID:
    """Return the scope as an index key of fixed size."""
    return uuid5(NAMESPACE_URL, f"quire:{scope}")
