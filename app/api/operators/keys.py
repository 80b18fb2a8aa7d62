"""API keys: callers with the scope admin create, list and revoke them."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

from fastapi import APIRouter
from starlette.responses import Response

from app import errors
from app.api.http import cursors, links
from app.api.http.answers import json_text, list_of, page_of
from app.api.http.body import json_body
from app.api.http.callers import Admin
from app.api.http.cursors import Cursor, Limit
from app.api.http.path_ids import check_ids
from app.api.http.runtime import Wired
from app.api.http.writes import WriteByAdmin
from app.api.schemas import keys as schemas
from app.core.canonical import dumps
from app.core.edge.credentials import Credentials
from app.postgres.transactions import Tx
from app.services import keys as flow
from app.services.idempotency import StoredResponse
from app.services.keys import KeyRequest
from app.store import keys

router = APIRouter(tags=["keys"])

NO_ADMIN = (
    "This key cannot make or revoke others, because it lacks the scope admin. `quire keys create`, on the server, can."
)
FIRST_KEY = (
    "This is the deployment's first key. From then on every request needs a key, for good. Set `confirm_require_keys`"
    " to true, and save the key: it is shown once. `quire keys create`, on the server, makes"
    " more."
)


@router.post(
    "/keys",
    status_code=201,
    response_model=schemas.NewKeyRequest,
    responses=links.KEY_MADE,
    openapi_extra=json_body(schemas.KeyBody, {"name": "the agent", "scopes": ["read", "write", "admin"]}),
)
async def create_key(write: WriteByAdmin) -> Response:
    """Create an API key. `key` is shown in this response only; a repeated request returns it as null.

    It sees all users, or the one user or space that it is bound to; what it stores in a space is the space's. A key
    cannot grant scopes or access that its creator lacks. From the deployment's first key on, every request
    needs one, `/docs` and `/ui` included, and nothing ends that: so the first needs `confirm_require_keys`. Its
    response takes a second, until every process knows.
    """
    body = await write.body(schemas.KeyBody)
    key_request = checked(body)
    is_first = not await flow.are_required(write.runtime)
    if is_first and not body.confirm_require_keys:
        raise errors.Invalid.at(["body", "confirm_require_keys"], "must be true", FIRST_KEY)
    secret: list[Credentials] = []

    async def work(tx: Tx) -> StoredResponse:
        view, made = await flow.make(tx, write.caller, key_request)
        secret.append(made)
        note = {} if not is_first or "admin" in body.scopes else {"note": NO_ADMIN}
        return StoredResponse(dumps({**view, **note, "key": None}))  # a stored response must not grant access

    answer = await write.once(work)
    await flow.made_known(write.runtime)
    if secret:
        answer = answer.removesuffix("null}") + dumps(secret[0].reveal()) + "}"
    return json_text(answer, status=201, headers={"Cache-Control": "no-store"})


def checked(body: schemas.KeyBody) -> KeyRequest:
    """Return the requested key; the command line uses it too. Raises Invalid."""
    problems: list[errors.FieldError] = []
    if not body.name.strip() or not body.name.isprintable():
        problems.append({"loc": ["body", "name"], "msg": "must be printable text"})
    if body.expires_at is not None and body.expires_at <= datetime.now(UTC):
        problems.append({"loc": ["body", "expires_at"], "msg": "must be in the future"})
    if body.user_id is not None and body.space_id is not None:
        problems.append({"loc": ["body", "space_id"], "msg": "must be left out: the key is bound to a user"})
    if problems:
        raise errors.Invalid(errors=problems)
    check_ids("body", user_id=body.user_id, space_id=body.space_id)
    return KeyRequest(
        body.name, tuple(body.scopes), body.user_id, body.expires_at, body.requests_per_minute, body.space_id
    )


@router.get("/keys", response_model=list_of("KeyList", schemas.Key))
async def list_keys(
    runtime: Wired,
    caller: Admin,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response:
    """List keys, newest first, including revoked ones. A key bound to a user or space sees the keys of it."""
    after = cursors.decode_id(cursor)
    async with runtime.database.snapshot(caller.tenant) as tx:
        rows = await keys.browse(tx, caller.user_id, after, limit + 1)
    return page_of([flow.view(row) for row in rows], limit, "id")


@router.patch(
    "/keys/{key_id}",
    response_model=schemas.Key,
    openapi_extra=json_body(schemas.KeyLimitBody, {"requests_per_minute": 600}),
)
async def limit_key(write: WriteByAdmin, key_id: UUID) -> Response:
    """Set a key's requests per minute. The limit holds from its next request on, in every process."""
    body = await write.body(schemas.KeyLimitBody)

    async def work(tx: Tx) -> StoredResponse:
        return StoredResponse(dumps(await flow.limit(tx, write.caller, key_id, body.requests_per_minute)))

    return json_text(await write.once(work))


@router.delete("/keys/{key_id}", response_model=schemas.Key)
async def revoke_key(write: WriteByAdmin, key_id: UUID) -> Response:
    """Revoke a key, at once and in every process. It stays in the list."""

    async def work(tx: Tx) -> StoredResponse:
        return StoredResponse(dumps(await flow.revoke(tx, write.caller, key_id)))

    return json_text(await write.once(work))
