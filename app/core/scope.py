"""The rule that decides which archives and memories are visible."""

from __future__ import annotations

from uuid import NAMESPACE_URL, UUID, uuid5


def scope_of(user_id: str | None, conversation_id: str | None) -> str:
    """Return the user's scope, or the one conversation's where no user is known."""
    return f"u:{user_id}" if user_id is not None else f"c:{conversation_id}"


def conversation_scope(conversation_id: str) -> str:
    """Return the scope of one conversation alone."""
    return f"c:{conversation_id}"


def scopes_in_view(user_id: str | None, conversation_id: str, *ancestors: str) -> list[UUID]:
    """Return the owners of all that a conversation keeps in mind, the widest scope first. ``ancestors``: of a branch,
    the oldest first.
    """
    scopes = [] if user_id is None else [scope_of(user_id, None)]
    return [owner_of(scope) for scope in (*scopes, *map(conversation_scope, (*ancestors, conversation_id)))]


def user_of(scope: str) -> str | None:
    """Return the user of a scope; None for that of a conversation."""
    return scope[2:] if scope.startswith("u:") else None


def owner_of(scope: str) -> UUID:
    """Return the scope as an index key of fixed size."""
    return uuid5(NAMESPACE_URL, f"quire:{scope}")
