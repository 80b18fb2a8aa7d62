"""MCP over stdio in front of MCP over HTTP: each line is a JSON-RPC message, and so is each answer."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

PARSE_ERROR, NO_ANSWER = -32700, -32000
VERSION = "io.modelcontextprotocol/protocolVersion"
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""Methods that name what they are about, and where."""


def id_of(line: str) -> tuple[bool, Any]:
    """Return whether a message wants an answer, and its id. Raises ValueError for a line that is not an object."""
    try:
        message = json.loads(line)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if not isinstance(message, dict):
        raise ValueError("it is not an object")  # noqa: TRY004 - of the line, not of a value of ours
    return "id" in message and "method" in message, message.get("id")


def headers_of(line: str) -> dict[str, str]:
    """Return what of a message stands in headers too, from the version of 2026-07-28 on; else nothing.

    The service answers such a message by that version only with them, and refuses it where they differ.
    """
    message = json.loads(line)
    method, params = message.get("method"), message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    version = meta.get(VERSION) if isinstance(meta, dict) else None
    if not isinstance(version, str) or not isinstance(method, str):
        return {}
    name = params.get(NAMED.get(method, ""))
    named = {"Mcp-Name": _header(name)} if isinstance(name, str) else {}
    return {"MCP-Protocol-Version": _header(version), "Mcp-Method": _header(method), **named}


def _header(text: str) -> str:
    if re.fullmatch(r"[!-~]([ -~]*[!-~])?", text) and not text.startswith("=?base64?"):
        return text
    return f"=?base64?{base64.b64encode(text.encode(errors='replace')).decode()}?="


def answer(status: int, body: str) -> str | None:
    """Return the line that answers a request, from the HTTP response; None if that is no JSON-RPC message."""
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if isinstance(said, dict) and "jsonrpc" in said and (status < 400 or "error" in said):
        return _dumps(said)
    return None


def problem(request_id: object, code: int, message: str) -> str:
    return _dumps({"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": message}})


def why(status: int, body: str) -> str:
    try:
        detail = json.loads(body)["detail"]
    except (ValueError, LookupError, TypeError, RecursionError):
        detail = ""
    return f"Quire answered {status}. {detail}".strip()


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
