"""Ids in paths that contain a slash.

ASGI passes paths decoded, so ``a%2Fb`` would become two segments. Here an encoded slash becomes U+FFFF, which no id can
contain, until the route is found; ``path_id`` reverts it.
"""

import re
from typing import Annotated, Any
from urllib.parse import unquote_to_bytes

from fastapi import Depends, Path, Query, Request
from starlette.datastructures import QueryParams
from starlette.types import ASGIApp, Receive, Scope, Send

from app import errors
from app.core.line import CallersId
from app.core.messages import ID_MAX, NOT_IN_IDS

SLASH = "\uffff"
UNUSABLE = "\x00"
"""Replaces what cannot occur in an id, so that the id is refused: a noncharacter that would read as a slash, and bytes
that are not UTF-8, which would all decode to the same replacement character.
"""
NO_QUERY = QueryParams()
_ENCODED_SLASH = re.compile(rb"%2[fF]")
_DOTS = frozenset({".", ".."})


class SlashesInIds:
    """Keeps an encoded slash from splitting a path."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        raw = scope.get("raw_path") or b""
        if scope["type"] == "http" and b"%" in raw:
            parts = _ENCODED_SLASH.split(raw.split(b"?")[0])
            scope = {**scope, "path": SLASH.join(_decoded(part) for part in parts)}
        await self._app(scope, receive, send)


def _decoded(part: bytes) -> str:
    try:
        return unquote_to_bytes(part).decode().replace(SLASH, UNUSABLE)
    except UnicodeDecodeError:
        return unquote_to_bytes(part).decode(errors="replace").replace("\ufffd", UNUSABLE)


def check_id(value: str, loc: list[str | int]) -> str:
    """Check an id that a client can choose. Raises Invalid."""
    if not 0 < len(value) <= ID_MAX or NOT_IN_IDS.search(value):
        raise errors.Invalid.at(loc, f"must have 1 to {ID_MAX} characters and no control characters")
    if value in _DOTS:
        raise errors.Invalid.at(loc, "must not be . or .., which clients remove from paths")
    return value


def check_ids(part: str, **ids: str | None) -> None:
    """Check the ids in a part of a request. Raises Invalid."""
    for name, value in ids.items():
        if value is not None:
            check_id(value, [part, name])


def path_id(request: Request) -> CallersId:
    """Return the conversation's id in the path. Raises Invalid."""
    return _callers_id(request.path_params["conversation_id"], query_of(request).get("branch"))


def query_of(request: Request) -> QueryParams:
    """Return the query, without parsing an empty one as Starlette would: most requests have none."""
    return request.query_params if request.scope["query_string"] else NO_QUERY


def written_path(request: Request) -> str:
    """Return what a request writes to: its path and, if it names one, the branch."""
    return "\n".join(filter(None, [request.scope["path"], query_of(request).get("branch")]))


def conversation_in_path(request: Request) -> str | None:
    """Return the conversation that the path names; None if the id is impossible."""
    name = str(request.path_params.get("conversation_id", UNUSABLE)).replace(SLASH, "/")
    return None if NOT_IN_IDS.search(name) else name


def _callers_id(segment: str, branch: str | None) -> CallersId:
    check_ids("query", branch=branch)
    return CallersId(check_id(segment.replace(SLASH, "/"), ["path", "conversation_id"]), branch)


_BRANCH = "a branch of the conversation; default: the one that its id shows"
_DESCRIPTION, _EXAMPLES = "1 to 128 characters, no control characters", ["demo"]


async def _path_id(
    conversation_id: Annotated[str, Path(description=_DESCRIPTION, examples=_EXAMPLES)],
    branch: Annotated[str | None, Query(description=_BRANCH)] = None,
) -> CallersId:
    return _callers_id(conversation_id, branch)


ConversationId = Annotated[str, Depends(_path_id)]
CONVERSATION_ID: dict[str, Any] = {
    "name": "conversation_id",
    "in": "path",
    "required": True,
    "description": _DESCRIPTION,
    "schema": {"type": "string", "title": "Conversation Id", "description": _DESCRIPTION, "examples": _EXAMPLES},
}
BRANCH: dict[str, Any] = {
    "name": "branch", "in": "query", "required": False, "description": _BRANCH,
    "schema": {"type": "string", "title": "Branch"},
}  # fmt: skip
"""The same, for the document of a route that reads them from the request."""
