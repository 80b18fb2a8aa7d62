"""Writing requests. A route takes one in place of the caller: ``write: Write``, or that of another scope.

Equal requests with the same Idempotency-Key are done once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, TypeVar

from fastapi import Depends, Request
from pydantic import BaseModel

from app.api.http.body import parse_model, read_json, work_on
from app.api.http.callers import IdempotencyKeyHeader, Needs
from app.api.http.path_ids import written_path
from app.api.http.runtime import runtime_of
from app.core.edge.caller import Caller, KeyScope
from app.postgres.transactions import Tx
from app.services.idempotency import IdempotencyKey, StoredResponse, run_idempotently

Body = TypeVar("Body", bound=BaseModel)


class WriteRequest:
    def __init__(self, request: Request, caller: Caller, key: str | None) -> None:
        self.request, self.caller = request, caller
        self.runtime = runtime_of(request)
        self._key = key
        self._sent: object = None

    async def body(self, model: type[Body]) -> Body:
        """Read the body. Raises what ``read_json`` and ``parse_model`` raise."""
        self._sent = await read_json(self.request)
        return parse_model(model, self._sent)

    async def idempotency(self, sent: object = None) -> IdempotencyKey | None:
        """Return the request's key, for the body that was read or what was ``sent`` instead. Raises Invalid."""
        given = self.caller, self._key, self.request.method, written_path(self.request)
        if self._sent is None:
            return IdempotencyKey.of(*given, sent)
        return await work_on(self.request, IdempotencyKey.of, *given, self._sent)

    async def once(self, work: Callable[[Tx], Awaitable[StoredResponse]]) -> str:
        """Do the work in a transaction and return its response, or return the one that an equal request got."""
        return await run_idempotently(self.runtime.database, self.caller.tenant, await self.idempotency(), work)

    async def by_steps(self, work: Callable[[], Awaitable[str]]) -> str:
        """Do work that commits in steps and continues when repeated, and store its response for equal requests."""
        database, tenant, key = self.runtime.database, self.caller.tenant, await self.idempotency()
        if key is not None and (stored := await key.find_response(database, tenant)) is not None:
            return stored
        done = StoredResponse(await work())

        async def keep(_: Tx) -> StoredResponse:
            return done

        return await run_idempotently(database, tenant, key, keep)


class Writes:
    """A dependency: the request, if its caller has a scope."""

    def __init__(self, scope: KeyScope) -> None:
        self.scope, self._needs = scope, Needs(scope)

    async def __call__(self, request: Request, key: IdempotencyKeyHeader = None) -> WriteRequest:
        return WriteRequest(request, await self._needs(request), key)


Write = Annotated[WriteRequest, Depends(Writes("write"))]
WriteByReader = Annotated[WriteRequest, Depends(Writes("read"))]
WriteByAdmin = Annotated[WriteRequest, Depends(Writes("admin"))]
