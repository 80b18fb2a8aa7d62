"""Pass-through mode of the proxy's endpoints, and the addresses that name a conversation and this mode."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from fastapi import Request
from pydantic import BaseModel
from starlette.responses import Response, StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from app import errors
from app.api.http.body import INLINE_BYTES, checked_object, parse, parse_model, read_bytes, read_json, work_on
from app.api.http.callers import MODE, PASS_THROUGH, is_passed_through
from app.api.http.compressed import encoded_body
from app.api.http.runtime import runtime_of
from app.api.v1.proxying import (
    CONVERSATION,
    Wishes,
    by_agent,
    keeps,
    passed_headers,
    proxy_request,
    require_upstream,
    upstream_of,
    with_model,
)
from app.core.dialects.question import Dialect, Question
from app.core.dialects.untranslated import NAMES
from app.core.edge.caller import Caller
from app.core.edge.credentials import Credentials
from app.core.edge.upstreams import VIA
from app.services.proxy.pass_through import Passing, pass_on
from app.services.proxy.question import ProxyRequest

NOT_PASSED = frozenset(
    {
        "host", "content-length", "connection", "keep-alive", "transfer-encoding", "upgrade", "te", "trailer", "cookie",
        "accept-encoding", "forwarded", "via", "expect", "idempotency-key",
    }
)  # fmt: skip
KEYS = ("authorization", "x-api-key")


@dataclass(frozen=True, slots=True)
class Intake:
    """A dialect's requests."""

    dialect: Dialect
    schema: type[BaseModel]
    read: Callable[[Mapping[str, Any]], Question]
    """Reads what the schema takes."""

    def question(self, body: Mapping[str, Any]) -> Question:
        """Read a request. Raises Invalid."""
        parse_model(self.schema, body)
        return self.read(body)


async def body_or_answer(
    request: Request, caller: Caller, wishes: Wishes, form: Intake, *, stores: bool = True
) -> Any | Response:
    """Return the checked body of a request; of one that is passed through, what the model's API answers."""
    require_upstream(request)
    if is_passed_through(request):
        return await _passed_through(request, caller, wishes, form, stores=stores)
    value = await read_json(request)
    parse_model(form.schema, value)
    return value


async def _passed_through(request: Request, caller: Caller, wishes: Wishes, form: Intake, *, stores: bool) -> Response:
    """Pass a request on. Raises Invalid where the model's API speaks another dialect: to it the bytes mean nothing."""
    runtime = runtime_of(request)
    wishes = await by_agent(request, caller, wishes)
    encoded = encoded_body(request)
    body = await read_bytes(request)
    packed = (bytes(encoded.kept), encoded.coding) if encoded else None
    request.state.body_is_large = len(body) > INLINE_BYTES
    asked = await work_on(request, _understood, request, caller, wishes, body, form)
    upstream = upstream_of(runtime, asked.question) if asked is not None else runtime.upstreams.each[0]
    if upstream.asked.dialect != form.dialect:
        spoken = f"the model's API speaks {NAMES[upstream.asked.dialect]} (QUIRE_PROXY_UPSTREAM_DIALECT)"
        raise errors.Invalid.at(["header", MODE], f"must not be pass-through here: {spoken}")
    path = str(request.scope["path"]).removeprefix("/v1")
    headers = {**_headers_to_pass(request, clients_key=runtime.proxying.passes_keys), VIA: passed_headers(request)[VIA]}
    stores = stores and (asked is None or keeps(wishes, asked.question))
    passing = Passing(path, form.dialect, body, headers, asked if stores else None, packed)
    answer = await pass_on(runtime, upstream, passing)
    return StreamingResponse(answer.parts, answer.status, dict(answer.headers))


def _understood(request: Request, caller: Caller, wishes: Wishes, body: bytes, form: Intake) -> ProxyRequest | None:
    """Return what Quire stores of a request; None if it cannot read it: the model's API then says what is wrong.

    Raises NotFound for a model that clients cannot use, and whatever is wrong where that cannot be told.
    """
    proxying = runtime_of(request).proxying
    try:
        question = form.question(checked_object(runtime_of(request).masks.value(parse(body))))
        asked = proxy_request(request, caller, wishes, with_model(proxying, question))
    except (errors.BadRequest, errors.Invalid):
        if proxying.models:
            raise
        return None
    return asked


def _headers_to_pass(request: Request, *, clients_key: bool) -> dict[str, str]:
    """Return the client's headers for the model's API: neither what is Quire's nor, ever, a key of Quire's."""
    own = ("x-quire-", "x-forwarded-")
    found = {n: v for n, v in request.headers.items() if n not in NOT_PASSED and not n.startswith(own)}
    for name in KEYS:
        if name in found and (not clients_key or Credentials.read(found[name].rpartition(" ")[2]) is not None):
            del found[name]
    return found


_DOUBLED = re.compile(b"/{2,}(?=v1/|p/)|(?<=/v1)/{2,}|/+$")


class NamedInPath:
    """Serves ``/p/{conversation}/v1/…`` as ``/v1/…``, passed through, for clients that can set only a base URL. They
    join theirs with a path, so a slash too many is none.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and "/v1" in scope["path"]:
            raw = (scope.get("raw_path") or scope["path"].encode()).split(b"?")[0]
            if (path := _DOUBLED.sub(b"/", raw).rstrip(b"/")) != raw and path.startswith((b"/v1/", b"/p/")):
                scope = {**scope, "path": unquote(path.decode()), "raw_path": path}
            if path.startswith(b"/p/"):
                scope = _scope_with_path(scope, path)
        await self._app(scope, receive, send)


def _scope_with_path(scope: Scope, raw: bytes) -> Scope:
    _, _, name, *rest = raw.split(b"/", 3)
    if not name or not rest or not rest[0].startswith(b"v1/"):
        return scope
    names = {key.lower() for key, _ in scope["headers"]}
    told = [(CONVERSATION.lower().encode(), name), (MODE.lower().encode(), PASS_THROUGH.encode())]
    headers = [*scope["headers"], *((key, value) for key, value in told if key not in names)]
    path = b"/" + rest[0]
    return {**scope, "path": path.decode(errors="replace"), "raw_path": path, "headers": headers}
