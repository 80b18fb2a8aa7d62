"""Idempotency-Key: a repeated request writes once and gets the same response.

The response is stored in the transaction that does the work, so neither exists without the other. Of two equal
concurrent requests the second waits at the key for the first to commit, and then reads its response. Only responses to
successful requests are stored: a failed request changed nothing and can be retried.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from uuid import UUID

from app import errors
from app.core.canonical import dumps
from app.core.conversation import Conversation
from app.core.edge.caller import Caller
from app.core.history.erasure import GONE
from app.core.scope import scope_of
from app.postgres.database import Database
from app.postgres.transactions import ReadTx, Tx
from app.store import idempotency

KEY_MAX = 255


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """A response and the owner whose data it can contain; erasing an owner's data checks only their responses."""

    text: str
    owner: UUID = idempotency.UNKNOWN
    """The owner of its scope; see core.scope.Scope."""

    @staticmethod
    def about(text: str, conversation: Conversation | None, user_id: str | None = None) -> StoredResponse:
        """Return a response about a conversation or a user; of UNKNOWN owner if only the request names a user."""
        if conversation is None:
            return StoredResponse(text, scope_of(user_id, None).owner)
        if conversation.user_id is None and user_id is not None:
            return StoredResponse(text)
        return StoredResponse(text, conversation.scope.owner)


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    key: str
    digest: bytes
    """SHA-256 over the method, the path (with the branch) and the canonical body: what "the same request" means."""

    @staticmethod
    def of(caller: Caller, key: str | None, method: str, path: str, body: object) -> IdempotencyKey | None:
        """Return the key of a request; None without one. Raises Invalid."""
        if key is None:
            return None
        if not 0 < len(key) <= KEY_MAX or not key.isprintable():
            raise errors.Invalid.at(["header", "Idempotency-Key"], f"must be 1 to {KEY_MAX} printable characters")
        digest = hashlib.sha256(f"{method} {path}\n{dumps(body)}".encode()).digest()
        return IdempotencyKey(caller.idempotency_key(key), digest)

    async def find_response(self, database: Database, tenant: UUID) -> str | None:
        """Return this request's earlier response, if there is one. Raises IdempotencyMismatch if the key belongs to
        another request, and ErasedSince if everything that the response acknowledged has been erased.
        """
        async with database.snapshot(tenant) as tx:
            return await self._find(tx)

    async def is_used(self, database: Database, tenant: UUID) -> bool:
        """Return whether a request with this key was completed, even if its data has been erased since."""
        async with database.snapshot(tenant) as tx:
            return await idempotency.find(tx, self.key) is not None

    async def claim(self, tx: ReadTx) -> str | None:
        """Take the key, after any transaction that holds it has ended. Return the response that it stored, if any."""
        if await idempotency.claim(tx, self.key, self.digest):
            return None
        return await self._find(tx)

    async def store(self, tx: Tx, response: StoredResponse) -> None:
        """Store the response, in the transaction that does the work."""
        await idempotency.store(tx, self.key, response.text, response.owner)

    async def _find(self, tx: ReadTx) -> str | None:
        found = await idempotency.find(tx, self.key)
        if found is None:
            return None
        digest, response = found
        loc: list[str | int] = ["header", "Idempotency-Key"]
        if digest != self.digest:
            said = "This Idempotency-Key was used with a different request."
            raise errors.IdempotencyMismatch.at(loc, "was used with a different request", said)
        if response == GONE:
            said = "This request was done, and what it stored has been erased since."
            said += " To store it again, send it with another Idempotency-Key."
            raise errors.ErasedSince.at(loc, "is that of a request whose data was erased", said)
        return response


async def run_idempotently(
    database: Database, tenant: UUID, key: IdempotencyKey | None, work: Callable[[Tx], Awaitable[StoredResponse]]
) -> str:
    """Do ``work`` in a transaction and return its response, or return the response of an equal earlier request."""
    async with database.begin(tenant) as tx:
        if key is not None and (response := await key.claim(tx)) is not None:
            return response
        done = await work(tx)
        if key is not None:
            await key.store(tx, done)
        return done.text
