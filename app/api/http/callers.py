"""Callers: the one place that turns a request into a caller.

A route declares the scope it needs by the type of its first parameter: ``caller: Reader``, ``Writer`` or ``Admin``,
``write: Write`` if it changes something (see ``writes``), or ``dependencies=[READS]`` if it does not use the caller. It
then uses ``caller.tenant`` in statements, ``caller.user(body.user_id)`` if a body or query names a user,
``bound_to=caller.user_id`` to look up a conversation, ``caller.scope`` to look up an archive or a memory, and
``sensitive=caller.sensitive`` to read memories. A request that names a user in ``X-Quire-User`` sees that user alone,
whatever its key could see. The parameter precedes those that read the path, so that 401 takes precedence over all other
errors.
"""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import unquote, urlsplit

from fastapi import Depends, Header, Request

from app import errors
from app.api.http import query_members
from app.api.http.document import DOCUMENT
from app.api.http.path_ids import check_id, conversation_in_path
from app.api.http.runtime import runtime_of
from app.core.edge.caller import Caller, KeyScope
from app.core.edge.hosts import is_ours, named_in
from app.postgres.sight import narrow
from app.services import keys, limits
from app.services.keys import Knock

MODE, PASS_THROUGH = "X-Quire-Mode", "pass-through"
OWN_KEY, USER, RECEIPT = "X-Quire-Key", "X-Quire-User", "X-Quire-Receipt"
HOOKS = "/hooks/"
BEARER = "bearer "
OAUTH_SCOPES = "read write"
"""What an OAuth client of /mcp asks for."""


async def caller_of(request: Request) -> Caller:
    """Identify the caller by the request's key. Raises Unauthorized or TooManyRequests."""
    runtime = runtime_of(request)
    identify = keys.identify_lately if _fails_open(request) else keys.identify
    try:
        caller = await identify(runtime, knock(request, _key(request)))
    except errors.Unauthorized as error:
        if runtime.identity.issuer is not None and request.scope["path"] == "/mcp":
            where = request.base_url.replace(path="/.well-known/oauth-protected-resource/mcp")
            told = f'resource_metadata="{where}", scope="{OAUTH_SCOPES}"'
            challenge = error.headers["WWW-Authenticate"]
            joint = ", " if "=" in challenge else " "
            error.headers = {**error.headers, "WWW-Authenticate": f"{challenge}{joint}{told}"}
        raise
    if named := request.headers.get(USER):
        caller = caller.as_user(check_id(unquote(named), ["header", USER]))
    narrow(caller.scope, conversation_in_path(request))
    if (taken := await limits.spend(runtime, caller)) is not None:
        request.state.headers = limits.rate_headers(taken)
    return caller


async def look_up(request: Request) -> None:
    """Look the caller up of a request that was let in from memory. Raises what refuses it now."""
    runtime, before = runtime_of(request), getattr(request.state, "caller", None)
    quota = before and runtime.meters.quotas.get(before.tenant)
    caller = await keys.identify(runtime, knock(request, _key(request)))
    if before and (before.per_minute, quota) != (caller.per_minute, runtime.meters.quotas.get(caller.tenant)):
        await limits.spend(runtime, caller)  # it was let in by other limits


async def still_admitted(request: Request) -> bool:
    """Return whether the caller of a stream, which was admitted, would be admitted now."""
    try:
        await keys.identify(runtime_of(request), knock(request, _key(request)))
    except errors.QuireError:
        return False
    return True


def refuse_foreign_page(request: Request) -> None:
    """Raise Forbidden for a web page of another origin, where browsers let any page ask."""
    access, origin = runtime_of(request).access, request.headers.get("origin")
    if origin is not None and not is_ours(urlsplit(origin).netloc, named_in(access.hosts, access.host)):
        raise errors.Forbidden("Quire answers no web page of another origin; add its host to QUIRE_HOSTS.")


def is_passed_through(request: Request) -> bool:
    return request.method == "POST" and request.headers.get(MODE) == PASS_THROUGH


def _fails_open(request: Request) -> bool:
    return is_passed_through(request) or str(request.scope["path"]).startswith(HOOKS)


def knock(request: Request, key: str | None) -> Knock:
    server, client = request.scope.get("server"), request.client
    there = server[0] if server and server[1] is not None else ""
    return Knock(key, request.headers.get("host", ""), client.host if client else "", there)


def _key(request: Request) -> str | None:
    """Return X-Quire-Key, X-API-Key, or the bearer token. A header that occurs twice does not count."""
    given = request.headers.getlist(OWN_KEY) or request.headers.getlist("x-api-key")
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

    def __init__(self, scope: KeyScope) -> None:
        self.scope = scope

    async def __call__(self, request: Request) -> Caller:
        caller = await caller_of(request)
        caller.require(self.scope)
        request.state.caller, request.state.needed = caller, self.scope  # for the audit log
        query_members.check(request)
        return caller


_reads, _writes, _admits = Needs("read"), Needs("write"), Needs("admin")

Reader = Annotated[Caller, Depends(_reads)]
Writer = Annotated[Caller, Depends(_writes)]
Admin = Annotated[Caller, Depends(_admits)]
READS: Any = Depends(_reads)

IDEMPOTENCY_KEY: dict[str, Any] = DOCUMENT["idempotency_key"]
"""For the document of a route that reads it from the request. Its error text is in `services.idempotency`."""
_KEY_RULES = {name: IDEMPOTENCY_KEY["schema"][name] for name in ("minLength", "maxLength", "pattern")}
IdempotencyKeyHeader = Annotated[
    str | None,
    Header(alias=IDEMPOTENCY_KEY["name"], description=IDEMPOTENCY_KEY["description"], json_schema_extra=_KEY_RULES),
]
