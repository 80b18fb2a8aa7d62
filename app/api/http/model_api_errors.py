"""Errors in the form of model APIs: every error under /v1 has it instead of a problem's.

Those of /v1/messages have Anthropic's form, all others OpenAI's.

Statuses are chosen for what OpenAI's clients do with them. They retry 408, 409, 429 and 5xx, so an error that would
recur has another status, or the header ``x-should-retry: false``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from app import errors
from app.api.http.document import DOCUMENT
from app.core.canonical import dumps
from app.core.dialects.question import Dialect, Event
from app.providers import ProviderError, RefusedCaller, RefusedInput, TemporaryError, UnreachableError
from app.providers.upstream import TOLD, OverdueError, RefusalError

PREFIX = "/v1/"
SERVED = (
    "chat/completions, messages, messages/count_tokens, responses, responses/compact, responses/input_tokens, "
    "embeddings, models"
)
STATUSES = {409: 400, 422: 400}
CODES = {"unauthorized": "invalid_api_key", "budget-too-small": "context_length_exceeded"}
ANTHROPIC_TYPES = {
    401: "authentication_error", 403: "permission_error", 404: "not_found_error", 413: "request_too_large",
    429: "rate_limit_error", 503: "overloaded_error", 529: "overloaded_error", 504: "timeout_error",
}  # fmt: skip
DIALECTS: Mapping[str, Dialect] = {"/v1/messages": "messages", "/v1/responses": "responses"}
THREADS = (errors.ThreadNotFound, errors.UnservedThread)
"""From these Anthropic's clients recover by themselves."""
AWAY = frozenset({408, 425, 503})
OVERLOADED = 529
"""Anthropic's own status: its clients wait longer after it than after a 503."""
NEVER = {"x-should-retry": "false"}

SCHEMAS: dict[str, Any] = DOCUMENT["errors"]
"""Of the two forms, for the OpenAPI document."""


def elsewhere(path: str) -> str:
    """Return a sentence that says where a model API's path is served; "" for any other path."""
    is_known = path.strip("/") in SERVED.split(", ")
    return f" It is served at /v1{path}: end the base URL in /v1." if is_known else ""


def is_wanted(request: Request) -> bool:
    return str(request.scope["path"]).startswith(PREFIX)


def dialect_of(request: Request) -> Dialect:
    path = str(request.scope["path"])
    return next((dialect for prefix, dialect in DIALECTS.items() if path.startswith(prefix)), "chat")


def answer(error: Exception, dialect: Dialect = "chat") -> Response:
    """Return the answer for an error of ours or of the model's provider."""
    status, headers = _status(error)
    said = _error_body(body(error), status, dialect)
    if isinstance(error, THREADS):
        said["error"]["details"] = {"error_code": error.code.replace("-", "_")}
    return Response(dumps(said), status, headers, "application/json")


def of_status(status: int, message: str, headers: Mapping[str, str], dialect: Dialect) -> Response:
    said = _error_body(_body(message, _type(status), None, None), status, dialect)
    return Response(dumps(said), status, dict(headers), "application/json")


def event(error: Exception, dialect: Dialect) -> Event:
    """Return the event that ends a failed stream."""
    status, _ = _status(error)
    said = _error_body(body(error), status, dialect)
    return (None if dialect == "chat" else "error"), said


def _error_body(openai: dict[str, Any], status: int, dialect: Dialect) -> dict[str, Any]:
    if dialect != "messages":
        return openai
    kind = ANTHROPIC_TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")
    return {"type": "error", "error": {"type": kind, "message": openai["error"]["message"]}}


def body(error: Exception) -> dict[str, Any]:
    status, _ = _status(error)
    if isinstance(error, RefusalError):
        if error.status == 429 or error.status in TOLD:
            named = error.identifiers
            message = error.message or f"The model's provider answered {error.status}."
            return _body(message, named.get("type") or _type(status), named.get("param"), named.get("code"))
        return _body(_refusal_text(error.status), "server_error", None, "upstream_error")
    if isinstance(error, UnreachableError):
        said = "The model's API cannot be reached. Check QUIRE_PROXY_BASE_URL, or whether the API is running."
        return _body(said, "server_error", None, "upstream_unreachable")
    if isinstance(error, ProviderError):
        code = "upstream_timeout" if isinstance(error, OverdueError) else "upstream_error"
        text = str(error)
        sentence = text if isinstance(error, OverdueError) else f"The model's provider failed: {text}."
        return _body(sentence, _type(status), None, code)
    if isinstance(error, errors.QuireError):
        param = _param(error.errors[0]["loc"]) if error.errors else None
        code = CODES.get(error.code, error.code.replace("-", "_"))
        return _body(_text(error), _type(status), param, code)
    return _body("Internal error. Please report it.", "server_error", None, "internal")


def _text(error: errors.QuireError) -> str:
    """Return the detail. If it only counts field errors, list the first three, because this form has no `errors`."""
    if error.errors and error.detail == errors.sentence(error.errors):
        return " ".join(errors.sentence([field_error]) for field_error in error.errors[:3])
    return error.detail


def _body(message: str, kind: str, param: str | None, code: str | None) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def _status(error: Exception) -> tuple[int, dict[str, str]]:
    if isinstance(error, RefusalError):
        return _status_of(error)
    if isinstance(error, RefusedCaller):
        return 502, NEVER
    after = _after(error.retry_after) if isinstance(error, TemporaryError) else {}
    for kind, status in ((RefusedInput, 400), (OverdueError, 504), (UnreachableError, 503), (ProviderError, 502)):
        if isinstance(error, kind):
            return status, after
    if isinstance(error, errors.QuireError):
        return STATUSES.get(error.status, error.status), dict(error.headers)
    return 500, {}


def _status_of(error: RefusalError) -> tuple[int, dict[str, str]]:
    after = _after(error.retry_after)
    if error.status in TOLD or error.status == 429:
        return STATUSES.get(error.status, error.status), after
    if error.status == OVERLOADED:
        return OVERLOADED, after
    if error.status in AWAY:
        return 503, after
    if error.status >= 500:
        return 502, after
    return 502, NEVER  # it does not take us: a person must mend that


def _refusal_text(status: int) -> str:
    if status >= 500 or status in AWAY:
        return f"The model's provider answered {status}."
    return f"The model's provider does not take this service's requests ({status})."


def _after(seconds: float | None) -> dict[str, str]:
    return {} if seconds is None else {"Retry-After": str(math.ceil(seconds))}


def _type(status: int) -> str:
    if status >= 500:
        return "server_error"
    return {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}.get(
        status, "invalid_request_error"
    )


def _param(loc: Sequence[str | int]) -> str:
    """Return a place in OpenAI's notation: messages[3].content."""
    text = ""
    for part in loc[1:] if loc and loc[0] in ("body", "header", "query", "path") else loc:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text
