"""Limit what a request sees of its tenant: row-level security reads it from `app.tenant`, after the tenant's id.

A request for one user (`narrow`) sees that user's scope and those of their spaces, looked up once a request. Its writes
find every conversation of the tenant, because erasing must reach all quotations.
"""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from uuid import UUID

import asyncpg

from app.core.scope import Scope
from app.postgres.admission import UNCHANGED
from app.postgres.transactions import EVERYTHING, ReadTx

# The spaces of a member, and where a conversation and the branch that its id shows belong.
_UNCHANGED = UNCHANGED.replace(":key", "$5").replace(":known", "$6")
FIND = f"""
SELECT ARRAY(SELECT space_id FROM space_members
              WHERE tenant_id = $1::uuid AND member = $2 ORDER BY space_id) AS spaces,
       ARRAY(SELECT unnest(ARRAY[id, shown]) FROM conversations
              WHERE tenant_id = $1::uuid AND id = $3 AND coalesce('s:' || space_id, 'u:' || user_id) = ANY (
                    $4::text || ARRAY(SELECT 's:' || space_id FROM space_members
                                       WHERE tenant_id = $1::uuid AND member = $2))) AS opened
 WHERE {_UNCHANGED}
 LIMIT length(set_config('app.tenant', $1::text || '*', true)) / 36
"""


@dataclass(slots=True)
class Sight:
    """The part of a tenant that a request for one user sees."""

    scope: Scope
    conversation: str | None
    """The one that it is about, if there is such: its rows need no look-up each."""
    lines: tuple[str, str, str] | None = None
    """Owners, scopes and conversations as row-level security reads them; None: not looked up yet."""

    def arguments(self, tenant: UUID) -> tuple[object, ...]:
        """Return the arguments of ``FIND``."""
        return str(tenant), self.scope.owner, self.conversation, self.scope.text

    def found(self, row: asyncpg.Record) -> None:
        """Take what ``FIND`` found."""
        scopes = [self.scope, *(Scope("space", one) for one in row["spaces"])]
        opened = [one for one in row["opened"] if one is not None]
        owners = _array(str(scope.owner) for scope in scopes)
        self.lines = owners, _array(scope.text for scope in scopes), _array(opened)

    def text(self, *, writes: bool) -> str:
        """Return the visible part, as transactions set it."""
        assert self.lines is not None
        owners, *others = self.lines
        return "\n".join(["", owners, *([EVERYTHING] * len(others) if writes else others)])


def _array(texts: Iterable[str]) -> str:
    """Return an array as PostgreSQL reads it."""
    quoted = (text.replace("\\", "\\\\").replace('"', '\\"') for text in texts)
    return "{" + ",".join(f'"{text}"' for text in quoted) + "}"


SIGHT: ContextVar[Sight | None] = ContextVar("sight", default=None)
"""That of this request; None: everything."""


def narrow(scope: Scope | None, conversation: str | None = None) -> None:
    """Let this request's transactions see the scopes of one user or of a space's keys; None: everything."""
    SIGHT.set(None if scope is None else Sight(scope, conversation))


@asynccontextmanager
async def everybody() -> AsyncIterator[None]:
    """Let the block see everything, whoever's request runs it."""
    token = SIGHT.set(None)
    try:
        yield
    finally:
        SIGHT.reset(token)


async def widen(tx: ReadTx, scope: Scope) -> None:
    """Let a narrowed transaction also see the memories of a scope to which the caller was admitted."""
    if tx.sees != EVERYTHING:
        _, owners, *others = tx.sees.split("\n")
        tx.sees = "\n".join(["", f'{owners[:-1]},"{scope.owner}"}}', *others])
        await tx.connection.execute(view(tx.tenant, tx.sees))


def view(tenant: UUID, sees: str) -> str:
    """Return the statement that sets what a transaction sees."""
    quoted = sees.replace("'", "''")
    return f"SET LOCAL app.tenant = '{UUID(int=tenant.int)}{quoted}'"
