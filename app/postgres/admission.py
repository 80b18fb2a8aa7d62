"""Admit a remembered caller by the request's own statement instead of a look-up.

Memory alone never grants access. The first statement of such a request finds and does nothing if anything that the
caller was admitted by has changed (``UNCHANGED``). Every other statement waits for a look-up.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from typing import TypeVar
from uuid import UUID

from app.core.edge.limits import KINDS
from app.errors import StorageUnavailable

Found = TypeVar("Found")

# Whether any tenant ever had a key. A revoked or expired key counts too: revoking the last one must not open the API.
IS_KEYED = "SELECT EXISTS (SELECT FROM tenants WHERE keyed_at IS NOT NULL) AS found"

_OF_TENANT = f"{', '.join(f't.{kind}' for kind in KINDS)}, t.events"
OF_KEY = f"ROW(k.scopes, k.user_id, k.requests_per_minute, {_OF_TENANT})::text"
"""What a caller with a live key k of a tenant t is let in by."""
OF_DOOR = f"coalesce((SELECT ROW({_OF_TENANT})::text FROM tenants t WHERE t.tenant_id = $1::uuid), '')"
"""What callers are let in by where nobody needs a key."""
IS_ALIVE = "k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())"

# For a condition of a statement whose $1 is the tenant. Nothing is :known of a caller who was looked up.
UNCHANGED = f"""(:known::text IS NULL OR :known = CASE WHEN :key::uuid IS NULL
    THEN (SELECT {OF_DOOR} FROM ({IS_KEYED}) k WHERE NOT k.found)
    ELSE (SELECT {OF_KEY} FROM keys k JOIN tenants t ON t.tenant_id = k.tenant_id
           WHERE k.tenant_id = $1::uuid AND k.id = :key AND {IS_ALIVE}) END)"""


@dataclass(slots=True)
class Admission:
    """The admission of a request's caller. As a context manager, it confirms the caller before the block ends."""

    look_up: Callable[[], Awaitable[object]]
    """Raises what refuses the caller."""
    key: UUID | None = None
    known: str | None = None
    """What the caller was let in by, from memory; None: they were looked up."""
    _token: Token[Admission | None] = field(init=False, repr=False)

    async def __aenter__(self) -> None:
        self._token = CURRENT.set(self)

    async def __aexit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        try:
            if error is None or (isinstance(error, Exception) and not isinstance(error, StorageUnavailable)):
                await settle()  # or else nobody is answered, or nothing told: the database would not answer again
        finally:
            CURRENT.reset(self._token)


CURRENT: ContextVar[Admission | None] = ContextVar("admission", default=None)
"""That of this request; None: its caller is looked up at once."""


async def settle() -> None:
    """Look the caller up, unless this was done or a statement showed that nothing changed."""
    mine = CURRENT.get()
    if mine is None or mine.known is None:
        return
    token = CURRENT.set(None)  # the look-up itself waits for none
    try:
        await mine.look_up()
    finally:
        CURRENT.reset(token)
    mine.known = None


async def proven(ask: Callable[[UUID | None, str | None], Awaitable[Found]]) -> Found:
    """Run a statement with ``UNCHANGED``, given key and remembered facts. If it finds nothing, repeat it without.

    Statements of the request's other tasks, and the repetition, wait for a look-up.
    """
    mine = CURRENT.get()
    if mine is None or mine.known is None:
        return await ask(None, None)
    token = CURRENT.set(None)
    try:
        found = await ask(mine.key, mine.known)
    finally:
        CURRENT.reset(token)
    if found:
        mine.known = None
    return found
