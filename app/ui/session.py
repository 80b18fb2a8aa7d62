"""Sign-in: the inspector shows exactly what the API would return for the same key.

The key comes from the sign-in form and is kept in a cookie that scripts cannot read (HttpOnly), that other sites cannot
make a browser send (SameSite=Strict), that is sent to /ui only, and that ends with the browser's session.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Annotated, Final, TypeAlias

from fastapi import Depends
from starlette.requests import Request
from starlette.responses import Response

from app import errors
from app.api.http.callers import knock
from app.api.http.path_ids import conversation_in_path
from app.api.http.runtime import Wired
from app.core.edge.caller import Caller
from app.postgres.sight import narrow
from app.runtime import Runtime
from app.services import keys, limits
from app.services.keys import Knock
from app.ui.html import addresses

COOKIE: Final = "quire_ui_key"
_KEY = re.compile(r"[!#-+\--:<-\[\]-~]{1,3500}")
"""Keys and tokens that a cookie can hold unescaped."""


class Viewer(Caller):
    """Whoever is looking, with what pages ask of their key."""

    __slots__ = ()

    @property
    def is_signed_in(self) -> bool:
        return self.key is not None

    @property
    def may_retry(self) -> bool:
        return "admin" in self.scopes and self.user_id is None

    @property
    def may_write(self) -> bool:
        return "write" in self.scopes


Door: TypeAlias = Callable[[Runtime, Knock], Awaitable[Viewer]]
"""Identifies a viewer by key. Raises Unauthorized for a missing key if one is needed, and for an invalid one."""


async def front_door(runtime: Runtime, knock: Knock) -> Viewer:
    """Authenticate as the API does, where keys are needed by one that reads. Raises also TooManyRequests, Forbidden."""
    caller = await keys.identify(runtime, knock)
    await limits.spend(runtime, caller)
    caller.require("read")
    return Viewer(caller.tenant, caller.user_id, caller.scopes, caller.key, caller.per_minute)


def door_of(request: Request) -> Door:
    """Return the app's own check of keys, if it has one."""
    door: Door = getattr(request.app.state, "ui_door", front_door)
    return door


async def _viewer(request: Request, runtime: Wired) -> Viewer:
    viewer = await door_of(request)(runtime, knock(request, request.cookies.get(COOKIE)))
    request.state.caller, request.state.needed = viewer, "read" if request.method == "GET" else "write"
    narrow(viewer.scope, conversation_in_path(request))
    return viewer


def checked_key(key: str) -> str:
    """Return a key that a cookie can hold. Raises Unauthorized."""
    if not _KEY.fullmatch(key):
        raise errors.Unauthorized(keys.REFUSED)
    return key


Viewing = Annotated[Viewer, Depends(_viewer)]


def remember(response: Response, request: Request, key: str) -> None:
    """Keep a key for the browser's session."""
    response.set_cookie(
        COOKIE, key, path=addresses(request)(), httponly=True, samesite="strict", secure=request.url.scheme == "https"
    )


def forget(response: Response, request: Request) -> None:
    response.delete_cookie(COOKIE, path=addresses(request)(), httponly=True, samesite="strict")


def check_own_user(viewer: Viewer, user_id: str | None) -> None:
    """Raise NotFound for another user's data, as if it did not exist."""
    if viewer.user_id is not None and user_id != viewer.user_id:
        raise errors.NotFound("Nothing has that name.")


def require_write(viewer: Viewer) -> None:
    """Raise Forbidden for a key that only reads."""
    if not viewer.may_write:
        raise errors.Forbidden("Changing and deleting requires a key with the scope write.")
