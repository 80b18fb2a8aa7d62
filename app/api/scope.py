"""Who asks: the one place where a request becomes a caller.

A route says by the type of its first parameter which scope it needs: ``caller: Reader``, ``Writer`` or ``Admin``, or
``dependencies=[READS]`` where it has no use for the caller. It then uses ``caller.tenant`` where a statement wants the
tenant, ``caller.user(body.user_id)`` where a body or query names a user, ``bound_to=caller.user_id`` where a
conversation is looked up, ``caller.scope`` where an archive or a memory is, and ``sensitive=caller.sensitive`` where
memories are read. The parameter goes before those that look at the path, so that 401 comes before all else.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Header, Request

from app import errors
from app.api.runtime import runtime_of
from app.core.caller import Caller, Scope
from app.services import keys
from app.services.keys import Knock

BEARER = "bearer "
PRINTABLE = "^[!-~¡-¬®-ÿ]([ -~¡-¬®-ÿ]*[!-~¡-¬®-ÿ])?$"
"""What an Idempotency-Key may be, for the OpenAPI document; `services.idempotency` says so in words."""


async def _caller(request: Request) -> Caller:
    """By the key of the request. Raises Unauthorized or TooManyRequests."""
    runtime = runtime_of(request)
    caller = await keys.identify(runtime, knock(request, _key(request)))
    taken = keys.spend(runtime, caller)
    if taken is not None:
        request.state.headers = {
            "RateLimit-Limit": str(taken.limit),
            "RateLimit-Remaining": str(taken.remaining),
            "RateLimit-Reset": str(taken.reset_seconds),
        }
        if not taken.allowed:
            raise errors.TooManyRequests(
                f"The key has reached its limit of {taken.limit} requests a minute.",
                headers={"Retry-After": str(taken.retry_seconds)},
            )
    return caller


def knock(request: Request, key: str | None) -> Knock:
    """What a request shows at the door."""
    server = request.scope.get("server")
    return Knock(
        key,
        request.headers.get("host", ""),
        request.client.host if request.client else "",
        server[0] if server and server[1] is not None else "",
    )


def _key(request: Request) -> str | None:
    """X-API-Key, or the bearer token. A header that is there twice is no key."""
    given = request.headers.getlist("x-api-key")
    if not given:
        given = [
            value[len(BEARER) :].strip()
            for value in request.headers.getlist("authorization")
            if value[: len(BEARER)].lower() == BEARER
        ]
    return given[0] if len(given) == 1 else None


class Needs:
    """A dependency: the caller, if it has a scope. Raises Forbidden if not.

    It takes the request and nothing else: each dependency of a dependency costs every request.
    """

    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    async def __call__(self, request: Request) -> Caller:
        caller = await _caller(request)
        caller.require(self.scope)
        return caller


_reads, _writes, _admits = Needs("read"), Needs("write"), Needs("admin")

Reader = Annotated[Caller, Depends(_reads)]
Writer = Annotated[Caller, Depends(_writes)]
Admin = Annotated[Caller, Depends(_admits)]
READS: Any = Depends(_reads)

_KEY_NAME = "Idempotency-Key"
_KEY_DESCRIPTION = "The same request with the same key runs once and returns the same response for 24 hours."
_KEY_RULES: dict[str, Any] = {"minLength": 1, "maxLength": 255, "pattern": PRINTABLE}

IdempotencyKeyHeader = Annotated[
    str | None, Header(alias=_KEY_NAME, description=_KEY_DESCRIPTION, json_schema_extra=_KEY_RULES)
]
IDEMPOTENCY_KEY: dict[str, Any] = {
    "name": _KEY_NAME,
    "in": "header",
    "required": False,
    "description": _KEY_DESCRIPTION,
    "schema": {
        "anyOf": [{"type": "string"}, {"type": "null"}],
        "title": _KEY_NAME,
        "description": _KEY_DESCRIPTION,
        **_KEY_RULES,
    },
}
"""The same, for the document of a route that reads it from the request."""
