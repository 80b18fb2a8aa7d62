"""Ids in paths that hold a slash.

ASGI hands the path over decoded, so ``a%2Fb`` would read as two segments. Here an encoded slash becomes
U+FFFF, which no id can hold, until the route is found; ``path_id`` turns it back.
"""

import re
from typing import Annotated
from urllib.parse import unquote

from fastapi import Depends, Path
from starlette.types import ASGIApp, Receive, Scope, Send

from app import errors
from app.core.messages import ID_MAX, NOT_IN_IDS

SLASH = "\uffff"
_ENCODED_SLASH = re.compile(rb"%2[fF]")


class SlashesInIds:
    """Keeps an encoded slash from splitting a path."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        raw = scope.get("raw_path") or b""
        if scope["type"] == "http" and _ENCODED_SLASH.search(raw):
            path = unquote(_ENCODED_SLASH.sub(SLASH.encode(), raw.split(b"?")[0]).decode("latin-1"), "latin-1")
            scope = {**scope, "path": path.encode("latin-1").decode("utf-8", "replace")}
        await self._app(scope, receive, send)


def check_id(value: str, loc: list[str | int]) -> str:
    """An id that a client may choose. Raises Invalid."""
    if not 0 < len(value) <= ID_MAX or NOT_IN_IDS.search(value):
        message = f"must be 1 to {ID_MAX} characters, none of them a control character"
        raise errors.Invalid("An id is not usable.", errors=[{"loc": loc, "msg": message}])
    return value


async def _path_id(
    conversation_id: Annotated[
        str, Path(description="1 to 128 characters, none of them a control character", examples=["demo"])
    ],
) -> str:
    return check_id(conversation_id.replace(SLASH, "/"), ["path", "conversation_id"])


ConversationId = Annotated[str, Depends(_path_id)]
