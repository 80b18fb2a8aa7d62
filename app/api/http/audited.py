"""Log reads and erasures, before their response begins: what cannot be logged is not answered."""

from __future__ import annotations

import logging

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app import errors
from app.api.http.problem import problem
from app.core.edge.audit import IDS, AuditEntry, action_of, ids_of
from app.core.edge.caller import Caller
from app.services.audit import AuditLog

_logger = logging.getLogger(__name__)


class Audited:
    """Adds an entry for each read and each erasure that succeeded.

    If that fails, the caller gets 503 in place of the response; an erasure has been done then, which the 503 says.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._log = AuditLog()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refused = False

        async def send_if_logged(message: Message) -> None:
            nonlocal refused
            if refused:
                return
            if message["type"] == "http.response.start" and (refusal := await self._refusal(scope, message["status"])):
                refused = True
                await problem(Request(scope), refusal)(scope, receive, send)
                return
            await send(message)

        await self._app(scope, receive, send_if_logged)

    async def _refusal(self, scope: Scope, status: int) -> errors.QuireError | None:
        caller: Caller | None = scope.get("state", {}).get("caller")
        if caller is None or (entry := _entry(scope, caller, status)) is None:
            return None
        try:
            await self._log.add(scope["app"].state.runtime.database, caller.tenant, entry)
        except Exception:  # whatever it is, nothing is answered unlogged
            _logger.exception("the audit log could not be written")
            done = "The erasure was done, but" if entry.action == "erase" else "The read was refused, because"
            return errors.Unlogged(f"{done} it could not be written to the audit log. Try again.")
        return None


def _entry(scope: Scope, caller: Caller, status: int) -> AuditEntry | None:
    request, template = Request(scope), str(getattr(scope.get("route"), "path", scope["path"]))
    action = action_of(scope["method"], template, str(scope["state"]["needed"]), status)
    if action is None:
        return None
    query = {name: value for name, value in request.query_params.items() if name in IDS}
    return AuditEntry(
        action, f"{scope['method']} {template}",
        ids_of(request.path_params, query, scope["state"].get("named", {})),
        caller.key, None if caller.space_id else caller.user_id,
        request.client.host if request.client else "", status, scope["state"]["request_id"],
    )  # fmt: skip
