"""Who looks: the inspector shows what the API would answer to the same key.

A key comes from the sign-in form and is kept in a cookie that scripts cannot read (HttpOnly), that other sites
cannot make a browser send (SameSite=Strict), that goes to /ui only and ends with the browser's session.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Final, TypeAlias
from uuid import UUID

from fastapi import Depends
from starlette.requests import Request
from starlette.responses import Response

from app import errors
from app.api.runtime import Wired
from app.api.scope import knock
from app.runtime import Runtime
from app.services import keys
from app.services.keys import Knock

COOKIE: Final = "quire_ui_key"
_KEY = re.compile(r"[!#-+\--:<-\[\]-~]{1,512}")
"""What a cookie can hold as it stands."""


@dataclass(frozen=True, slots=True)
class Viewer:
    """Whose data is shown."""

    tenant: UUID
    user_id: str | None = None
    """Set: a key that is bound to one user, and shows that user's data only."""
    is_signed_in: bool = False
    may_retry: bool = False
    """Jobs that failed for good: what the API lets an admin do."""


Door: TypeAlias = Callable[[Runtime, Knock], Awaitable[Viewer]]
"""Tells who knocks with a key. Raises Unauthorized for none where one is needed, and for one that is not valid."""


async def front_door(runtime: Runtime, knock: Knock) -> Viewer:
    """The same as the API's: where keys are needed, one that may read. Raises TooManyRequests, too, and Forbidden."""
    caller = await keys.identify(runtime, knock)
    taken = keys.spend(runtime, caller)
    if taken is not None and not taken.allowed:
        raise errors.TooManyRequests(
            f"The key has reached its limit of {taken.limit} requests a minute.",
            headers={"Retry-After": str(taken.retry_seconds)},
        )
    caller.require("read")
    may_retry = "admin" in caller.scopes and caller.user_id is None
    return Viewer(caller.tenant, caller.user_id, is_signed_in=caller.key is not None, may_retry=may_retry)


def door_of(request: Request) -> Door:
    """The app's own, if it has one."""
    found: Door = getattr(request.app.state, "ui_door", front_door)
    return found


async def _viewer(request: Request, runtime: Wired) -> Viewer:
    return await door_of(request)(runtime, knock(request, request.cookies.get(COOKIE)))


def checked_key(key: str) -> str:
    """A key that a cookie can hold. Raises Unauthorized."""
    if not _KEY.fullmatch(key):
        raise errors.Unauthorized(keys.REFUSED)
    return key


Viewing = Annotated[Viewer, Depends(_viewer)]


def remember(response: Response, request: Request, key: str) -> None:
    """Keep a key for the browser's session."""
    response.set_cookie(
        COOKIE, key, path=_path(request), httponly=True, samesite="strict", secure=request.url.scheme == "https"
    )


def forget(response: Response, request: Request) -> None:
    response.delete_cookie(COOKIE, path=_path(request), httponly=True, samesite="strict")


def _path(request: Request) -> str:
    return f"{request.scope.get('root_path', '')}/ui"


def check_own_user(viewer: Viewer, user_id: str | None) -> None:
    """Raises NotFound, as if there were nothing, for what is not the viewer's."""
    if viewer.user_id is not None and user_id != viewer.user_id:
        raise errors.NotFound("Nothing has that name.")
