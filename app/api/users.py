"""A user's data as a whole."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request
from starlette.responses import Response

from app.api import schemas
from app.api.answers import json_text
from app.api.paths import SLASH, check_id
from app.api.scope import IdempotencyKey, Tenant
from app.api.services import Wired
from app.core.canonical import dumps
from app.db import Connection
from app.flows import erasing
from app.flows.once import Once, do_once

router = APIRouter(tags=["users"])


async def _user_id(
    user_id: Annotated[str, Path(description="1 to 128 characters, none of them a control character", examples=["me"])],
) -> str:
    return check_id(user_id.replace(SLASH, "/"), ["path", "user_id"])


UserId = Annotated[str, Depends(_user_id)]


@router.delete("/users/{user_id}", response_model=schemas.Erased)
async def delete_user(
    request: Request, services: Wired, tenant: Tenant, user_id: UserId, key: IdempotencyKey = None
) -> Response:
    """Erase everything of a user: conversations, archives, memories. The answer counts rows by table.

    Each conversation goes in a transaction of its own. If the request is cut off, send it again: it goes on where it
    was. What is not there (any more) counts 0.
    """
    once = Once.of(key, "DELETE", request.url.path, None)
    if once is not None and (known := await once.answered(services.database, tenant)) is not None:
        return json_text(known)
    done = await erasing.erase_user(services, tenant, user_id)
    answer = dumps({"id": user_id, "erased": dict(sorted(done.counts.items()))})

    async def work(_: Connection) -> str:
        return answer

    return json_text(await do_once(services.database, tenant, once, work))
