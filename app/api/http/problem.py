"""Errors as `application/problem+json` (RFC 9457), and the id that connects a response to the log."""

import json
import logging
import re
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app import errors
from app.api.http import model_api_errors
from app.api.http.body import field_errors
from app.api.http.document import DOCUMENT
from app.core.edge.request_head import fault_of
from app.providers import ProviderError
from app.telemetry import logs

MEDIA_TYPE = "application/problem+json"
_SANE_ID = re.compile(rb"[A-Za-z0-9._:/+=-]{1,128}")

_logger = logging.getLogger(__name__)

SCHEMA: dict[str, Any] = DOCUMENT["problem"]


MESSAGES = "/v1/messages"
"""Anthropic's clients read the id of a request from a header without the X-."""


def _lacks_id(scope: Scope, message: Message) -> bool:
    is_there = any(name.lower() == b"request-id" for name, _ in message.get("headers", ()))
    return scope["path"].startswith(MESSAGES) and not is_there


def install(app: FastAPI, routers: Sequence[APIRouter]) -> None:
    """Make every error of the app a problem, and give every response an X-Request-Id."""

    async def http_exception(request: Request, error: Exception) -> Response:
        """Answer Starlette's own errors: unknown paths and methods."""
        assert isinstance(error, HTTPException)
        headers = dict(error.headers or {})
        if error.status_code == 405 and (methods := _methods(routers, request.scope)):
            headers["Allow"] = ", ".join(sorted(methods))
        return _refused(request, error, headers)

    app.add_exception_handler(errors.QuireError, _quire_error)
    app.add_exception_handler(ProviderError, _provider_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(HTTPException, http_exception)
    app.add_middleware(RequestId)


class RequestId:
    """Sets the request's id and returns it in X-Request-Id, answers ambiguous heads with 400 before anything reads the
    request, and answers uncaught exceptions.

    Headers in ``request.state.headers`` are added to every response to the request. Pure ASGI, because Starlette sends
    its own 500 from outside all middleware, without such headers.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = _incoming_id(scope) or str(uuid4())
        scope.setdefault("state", {})["request_id"] = request_id
        logs.bind(request_id=request_id)
        started = False

        async def send_with_id(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                more = scope["state"].get("headers", {})
                message["headers"] = [
                    *message.get("headers", ()),
                    (b"x-request-id", request_id.encode()),
                    *(((b"request-id", request_id.encode()),) if _lacks_id(scope, message) else ()),
                    *((name.lower().encode(), value.encode()) for name, value in more.items()),
                ]
            await send(message)

        try:
            if fault := fault_of(scope["headers"], scope["http_version"]):
                await problem(Request(scope), errors.BadRequest(fault))(scope, receive, send_with_id)
                return
            await self._app(scope, receive, send_with_id)
        except Exception:
            _logger.exception("request %s failed: %s %s", request_id, scope["method"], scope["path"])
            if started:
                raise  # half an answer is out already; the server closes the connection
            response = problem(
                Request(scope), errors.QuireError("Internal error. Please report it with the request id.")
            )
            await response(scope, receive, send_with_id)


def problem(request: Request, error: errors.QuireError) -> Response:
    if model_api_errors.is_wanted(request):
        return model_api_errors.answer(error, model_api_errors.dialect_of(request))
    return _render(
        request, status=error.status, code=error.code, title=error.title, detail=error.detail, found=error.errors,
        extra=error.extra, headers=error.headers,
    )  # fmt: skip


async def _quire_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, errors.QuireError)
    return problem(request, error)


async def _provider_error(request: Request, error: Exception) -> Response:
    if not model_api_errors.is_wanted(request):
        raise error
    return model_api_errors.answer(error, model_api_errors.dialect_of(request))


async def _validation_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return problem(request, errors.Invalid(errors=field_errors(error.errors())))


_HTTP_CODES = {404: "not-found", 405: "method-not-allowed"}
_HTTP_DETAILS = {404: "This path does not exist.", 405: "This path does not allow the method."}


def _refused(request: Request, error: HTTPException, headers: Mapping[str, str]) -> Response:
    title = str(error.detail)
    if model_api_errors.is_wanted(request):
        said = _HTTP_DETAILS.get(error.status_code, title)
        if error.status_code == 404:
            said = f"{said} Served under /v1: {model_api_errors.SERVED}."
        return model_api_errors.of_status(error.status_code, said, headers, model_api_errors.dialect_of(request))
    return _render(
        request, status=error.status_code, code=_HTTP_CODES.get(error.status_code, f"http-{error.status_code}"),
        title=title,
        detail=_HTTP_DETAILS.get(error.status_code, title) + model_api_errors.elsewhere(request.url.path),
        headers=headers,
    )  # fmt: skip


def _methods(routers: Sequence[APIRouter], scope: Scope) -> set[str]:
    """Return all methods of a path. Starlette names only those of the first matching route.

    As in OpenAPI, a path without parameters hides matching paths with parameters.
    """
    routes = (route for router in routers for route in router.routes if isinstance(route, APIRoute))
    matching = [route for route in routes if route.matches(scope)[0] is not Match.NONE]
    concrete = [route for route in matching if not route.param_convertors]
    return {method for route in concrete or matching for method in route.methods or ()}


def _render(
    request: Request,
    *,
    status: int,
    code: str,
    title: str,
    detail: str,
    found: Sequence[errors.FieldError] = (),
    extra: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    body = {"type": f"urn:quire:problem:{code}", "title": title, "status": status, "detail": detail}
    if found:
        body["errors"] = list(found)
    body |= {**(extra or {}), "request_id": request.scope["state"]["request_id"]}
    # ASCII, so that whatever a message quotes can be written.
    return Response(json.dumps(body), status, dict(headers or {}), MEDIA_TYPE)


def _incoming_id(scope: Scope) -> str | None:
    for name, value in scope["headers"]:
        if name == b"x-request-id" and _SANE_ID.fullmatch(value):
            return str(value.decode())
    return None
