"""Identify callers by a token of the operator's identity provider."""

from __future__ import annotations

import time

from app import errors
from app.core.edge.caller import Caller
from app.core.edge.identity import caller_of
from app.postgres.tenants import DEFAULT_TENANT, tenants
from app.runtime import Runtime


async def identify(runtime: Runtime, token: str) -> Caller:
    """Identify the caller of a token. A refused token is never tried as an API key.

    Raises InvalidToken, IssuerUnavailable, or StorageUnavailable.
    """
    assert runtime.issuer is not None
    claims = await runtime.issuer.claims(token)
    caller = caller_of(claims, runtime.identity, DEFAULT_TENANT, time.time())
    if isinstance(caller, str):
        raise errors.InvalidToken(caller)
    known = runtime.door.tenants
    if caller.tenant not in known:
        known.update(await tenants(runtime.database))
    if caller.tenant not in known:
        raise errors.InvalidToken("The token's tenant does not exist. Create it with quire tenants create.")
    return caller
