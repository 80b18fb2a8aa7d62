"""Whose archives and memories something may use: the one rule, wherever it is asked."""

from __future__ import annotations


def scope_of(user_id: str | None, conversation_id: str | None) -> str:
    """The user's, or the one conversation's where no user is known."""
    return f"u:{user_id}" if user_id is not None else f"c:{conversation_id}"


def user_of(scope: str) -> str | None:
    """The user of a scope, None for that of a conversation."""
    return scope[2:] if scope.startswith("u:") else None
