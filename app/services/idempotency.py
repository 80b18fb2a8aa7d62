"""Idempotency-Key: a write that is sent twice is done once and answered alike.

The answer is stored in the transaction that does the work, so there is never the one without the other. Two
equal requests at once meet at the key: the second waits for the first to commit and then reads its answer.
Only answers to what was done are kept: a request that failed changed nothing and may be tried again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from uuid import UUID

from app import errors
from app.core.caller import Caller
from app.core.canonical import dumps
from app.core.scope import scope_of
from app.postgres.database import Connection, Database
from app.store import idempotency
from app.store.conversations import Conversation
from app.store.memories import owner_of

KEY_MAX = 255


@dataclass(frozen=True, slots=True)
class Said:
    """An answer, and of whom it says anything: where something is erased, only what may say it is looked at."""

    response: str
    owner: UUID = idempotency.UNKNOWN
    """Of the scope; see store.memories.owner_of."""

    @staticmethod
    def about(response: str, conversation: Conversation | None, user_id: str | None = None) -> Said:
        """Of a conversation or a user. One who is named with a conversation of nobody's may be any other."""
        if conversation is None:
            return Said(response, owner_of(scope_of(user_id, None)))
        if conversation.user_id is None and user_id is not None:
            return Said(response)
        return Said(response, owner_of(scope_of(conversation.user_id, conversation.id)))


@dataclass(frozen=True, slots=True)
class Once:
    key: str
    digest: bytes
    """SHA-256 over the method, the path and the canonical body: what "the same request" means."""

    @staticmethod
    def of(caller: Caller, key: str | None, method: str, path: str, body: object) -> Once | None:
        """None without a key. Raises Invalid."""
        if key is None:
            return None
        if not 0 < len(key) <= KEY_MAX or not key.isprintable():
            raise errors.Invalid(
                errors=[{"loc": ["header", "Idempotency-Key"], "msg": f"must be 1 to {KEY_MAX} printable characters"}],
            )
        digest = hashlib.sha256(f"{method} {path}\n{dumps(body)}".encode()).digest()
        return Once(caller.idempotency_key(key), digest)

    async def answered(self, database: Database, tenant: UUID) -> str | None:
        """The answer that was given to this request, if it was. Raises IdempotencyMismatch for another one."""
        async with database.snapshot(tenant) as connection:
            return await self.answer(connection, tenant)

    async def answer(self, connection: Connection, tenant: UUID) -> str | None:
        found = await idempotency.find(connection, tenant, self.key)
        if found is None:
            return None
        if found["digest"] != self.digest:
            raise errors.IdempotencyMismatch(
                "This Idempotency-Key was used with a different request.",
                errors=[{"loc": ["header", "Idempotency-Key"], "msg": "was used with a different request"}],
            )
        return str(found["response"])

    async def claim(self, connection: Connection, tenant: UUID) -> str | None:
        """Take the key for this transaction, waiting for another that holds it; its answer if it gave one."""
        if await idempotency.claim(connection, tenant, self.key, self.digest):
            return None
        return await self.answer(connection, tenant)

    async def correct(self, connection: Connection, tenant: UUID, said: Said) -> None:
        """Store the answer, in the transaction that does the work."""
        await idempotency.correct(connection, tenant, self.key, said.response, said.owner)


async def do_once(
    database: Database, tenant: UUID, once: Once | None, work: Callable[[Connection], Awaitable[Said]]
) -> str:
    """Do ``work`` in a transaction, or give the answer that an equal request got. ``work`` returns the answer."""
    async with database.begin(tenant) as connection:
        if once is not None and (answer := await once.claim(connection, tenant)) is not None:
            return answer
        said = await work(connection)
        if once is not None:
            await once.correct(connection, tenant, said)
        return said.response
