"""MCP over stdio in front of MCP over HTTP: each line is a JSON-RPC message, and so is each answer."""

from __future__ import annotations

import json
from typing import Any

from app.core.canonical import dumps, loads

PARSE_ERROR, NO_ANSWER = -32700, -32000


def id_of(line: str) -> tuple[bool, Any]:
    """Return whether a message wants an answer, and its id. Raises ValueError for a line that is not an object."""
    try:
        message = json.loads(line)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if not isinstance(message, dict):
        raise ValueError("it is not an object")  # noqa: TRY004 - of the line, not of a value of ours
    return "id" in message and "method" in message, message.get("id")


def answer(status: int, body: str) -> str | None:
    """Return the line that answers a request, from the HTTP response; None if that is no JSON-RPC message."""
    said = loads(body)
    if isinstance(said, dict) and "jsonrpc" in said and (status < 400 or "error" in said):
        return dumps(said)
    return None


def problem(request_id: object, code: int, message: str) -> str:
    return dumps({"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": message}})


def why(status: int, body: str) -> str:
    try:
        detail = json.loads(body)["detail"]
    except (ValueError, LookupError, TypeError, RecursionError):
        detail = ""
    return f"Quire answered {status}. {detail}".strip()
