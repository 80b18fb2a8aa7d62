"""Callers and what they may see.

A caller belongs to one tenant. A key gives its scopes, and if it is bound to a user or space, all other data appears
not to exist. Where no key is needed, a caller without one has full access to the only tenant.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, get_args
from uuid import UUID

from app.core.scope import Scope, scope_of, space_of_keys
from app.errors import Forbidden

KeyScope = Literal["read", "write", "admin", "memories:sensitive"]
SCOPES: tuple[KeyScope, ...] = get_args(KeyScope)
ALL_SCOPES: frozenset[str] = frozenset(SCOPES)


@dataclass(frozen=True, slots=True)
class Caller:
    tenant: UUID
    user_id: str | None = None
    """The only user that it sees, or the member that stands for a space's keys; None: everyone in the tenant. Stores
    and services call it ``bound_to``.
    """
    scopes: frozenset[str] = ALL_SCOPES
    key: UUID | None = None
    """The public part of its key."""
    per_minute: int | None = None
    """Requests per minute of its key; None: the deployment's rate, 0: unlimited."""

    @property
    def sensitive(self) -> bool:
        return "memories:sensitive" in self.scopes

    @property
    def space_id(self) -> str | None:
        """Return the space that the caller's key is bound to."""
        return space_of_keys(self.user_id)

    @property
    def scope(self) -> Scope | None:
        """Return the scope of the visible archives and memories; None: all of the tenant's."""
        return scope_of(self.user_id, None) if self.user_id is not None else None

    def require(self, scope: KeyScope) -> None:
        """Raise Forbidden unless the caller has a scope."""
        if scope not in self.scopes:
            raise Forbidden(f"The key lacks the scope {scope}.", extra={"scope": scope})

    def require_all_users(self) -> None:
        """Raise Forbidden for a key bound to one user or space; for requests that concern a whole tenant."""
        if self.user_id is not None:
            whom = "user" if self.space_id is None else "space"
            raise Forbidden(f"The key is bound to one {whom}; this request concerns all users.")

    def user(self, named: str | None, loc: Iterable[str | int] = ("body", "user_id")) -> str | None:
        """Return the user of a request, the named one or the key's own. Raises Forbidden for another than the key's."""
        if self.user_id is None:
            return named
        if named not in (None, self.user_id):
            whose = "another user" if self.space_id is None else "a space, not to a user"
            raise Forbidden.at(list(loc), "is not the key's user", f"The key is bound to {whose}.")
        return self.user_id

    def as_user(self, named: str) -> Caller:
        """Return the caller bound to the user that a request's header names. Raises Forbidden for another's key."""
        return replace(self, user_id=self.user(named, ("header", "X-Quire-User")))

    def idempotency_key(self, sent: str) -> str:
        """Return an Idempotency-Key as stored. Callers that must not see each other's responses never share one."""
        if self.user_id is None and self.sensitive:
            return sent
        text = f"{'' if self.user_id is None else 'u:' + self.user_id}\n{self.sensitive}\n{sent}"
        return f"caller:{hashlib.sha256(text.encode()).hexdigest()}"
