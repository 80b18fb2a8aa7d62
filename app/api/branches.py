"""Branches of a conversation."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from app import errors
from app.api.http import cursors, links
from app.api.http.answers import json_text, json_value
from app.api.http.body import json_body, require_storable
from app.api.http.callers import Reader
from app.api.http.cursors import Cursor, Limit
from app.api.http.path_ids import ConversationId, check_id
from app.api.http.runtime import Wired
from app.api.http.writes import Write
from app.api.schemas.branches import BranchList, ForkBody, ReportBody, Reported
from app.api.schemas.conversations import ConversationResponse
from app.core.canonical import dumps
from app.postgres.transactions import Tx
from app.services.conversations import forking, reporting
from app.services.conversations.forking import ForkRequest
from app.services.idempotency import StoredResponse
from app.services.views import inspect
from app.store import conversations

router = APIRouter(tags=["branches"])


@router.post(
    "/conversations/{conversation_id}/fork",
    status_code=201,
    response_model=ConversationResponse,
    responses=links.CONVERSATION_MADE,
    openapi_extra=json_body(ForkBody, {"at": 2, "title": "Without an umbrella"}),
)
async def fork_conversation(write: Write, conversation_id: ConversationId) -> Response:
    """Fork a conversation at a message. The branch is a conversation of its own.

    It shares everything up to there: messages, archives, memories and summaries are not copied, so a fork takes the
    same time at any length, and its first window is the one that the conversation had there. What is said later on one
    of them is not found from the other. With an `id` that is taken the response is a 409, unless it is the same fork.
    """
    body = await write.body(ForkBody)
    require_storable("body", title=body.title, at=body.at if isinstance(body.at, str) else None)
    id_ = check_id(body.id, ["body", "id"]) if body.id is not None else None

    async def work(tx: Tx) -> StoredResponse:
        known = await conversations.lock(tx, conversation_id, bound_to=write.caller.user_id)
        known = errors.existing(known, "conversation")
        made = await forking.fork(tx, known, ForkRequest(body.at, body.position, id_, body.title, body.shares))
        return StoredResponse.about(dumps(inspect.conversation_view(made)), made)

    return json_text(await write.once(work), status=201)


@router.post(
    "/conversations/{conversation_id}/report",
    status_code=201,
    response_model=Reported,
    openapi_extra=json_body(ReportBody, {"text": "No rain until Friday."}),
)
async def report_result(write: Write, conversation_id: ConversationId) -> Response:
    """Write a result back to the parent of a branch or of a sub-agent's conversation, as a message.

    The result is a `text`, or an answer of the conversation's own. The message is the assistant's and says whose result
    it is. Nothing is written back by itself, and the same result only once. A conversation without a parent gets a 409.
    """
    body = await write.body(ReportBody)
    if body.text is not None and body.at is not None:
        raise errors.Invalid.at(["body", "at"], "must be left out where there is a text")
    require_storable("body", text=body.text, at=body.at if isinstance(body.at, str) else None)
    idempotency = await write.idempotency()
    wanted = reporting.ReportRequest(body.text, body.at)
    found = await reporting.report(write.runtime, write.caller, conversation_id, wanted, idempotency)
    shown = {"conversation_id": found.parent, "message_id": str(found.message_id), "seq": found.seq, "page": found.page}
    return json_value(shown, status=201)


@router.get("/conversations/{conversation_id}/branches", response_model=BranchList)
async def list_branches(
    runtime: Wired, caller: Reader, conversation_id: ConversationId, cursor: Cursor = None, limit: Limit = 50
) -> Response:
    """List the branches of a conversation's tree, latest activity first, from whichever of its conversations.

    `trunk` is the conversation that the tree began with, `shown` the branch that its id shows.
    """
    after = cursors.decode_time_and_id(cursor)
    async with conversations.snapshot(runtime.database, caller, conversation_id) as (tx, known):
        trunk = await conversations.get(tx, known.line.root, bound_to=caller.user_id)
        rows = await forking.browse(tx, known, after, limit + 1)
    last = rows[limit - 1] if len(rows) > limit else None
    next_cursor = cursors.encode(last["updated_at"], last["uid"]) if last else None
    items = [{name: value for name, value in row.items() if name != "uid"} for row in rows[:limit]]
    return json_value({"trunk": trunk.id, "shown": trunk.shown or trunk.id, "items": items, "next_cursor": next_cursor})
