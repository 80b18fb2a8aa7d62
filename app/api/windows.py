"""Routes of the windows that were served: what a model saw."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from app.api.http import cursors
from app.api.http.answers import json_text, json_value, list_of, page_of
from app.api.http.callers import Reader
from app.api.http.cursors import Cursor, Limit
from app.api.http.path_ids import ConversationId
from app.api.http.runtime import Wired
from app.api.schemas import served as schemas
from app.core.model import INTEGER_MAX
from app.core.window.budget import BUDGET_MAX
from app.services.conversations import receipts, replaying
from app.services.conversations.call import ContextRequest
from app.services.tools.why import why

router = APIRouter(tags=["messages"])

WindowNumber = Annotated[int, Path(ge=1, le=9_223_372_036_854_775_807)]


@router.get("/conversations/{conversation_id}/windows", response_model=list_of("ServedList", schemas.ServedRecord))
async def list_windows(
    runtime: Wired, caller: Reader, conversation_id: ConversationId, cursor: Cursor = None, limit: Limit = 50
) -> Response:
    """List the windows that were served, newest first: when, by which call, of which parts.

    A window that was served several times in a row is listed once, with a count.
    """
    before = cursors.decode_int(cursor)
    items = await replaying.browse(runtime, caller, conversation_id, before, limit + 1)
    return page_of(items, limit, "id")


@router.get("/conversations/{conversation_id}/windows/{window}/diff", response_model=schemas.WindowDifference)
async def get_difference(
    runtime: Wired,
    caller: Reader,
    conversation_id: ConversationId,
    window: WindowNumber,
    earlier: Annotated[
        int | None, Query(alias="from", ge=1, description="the window to compare with; by default the one before")
    ] = None,
) -> Response:
    """Compare a served window with an earlier one: what came in, what went out, what changed its form, and why."""
    return json_value(await replaying.difference(runtime, caller, conversation_id, window, earlier))


@router.get("/conversations/{conversation_id}/windows/{window}/receipt", response_model=schemas.WindowReceipt)
async def get_receipt(
    runtime: Wired,
    caller: Reader,
    conversation_id: ConversationId,
    window: Annotated[
        str,
        Path(pattern="^([1-9][0-9]{0,9}|[A-Za-z0-9_-]{43})$", description="its number, or what X-Quire-Receipt gave"),
    ],
    prove: Annotated[int | None, Query(ge=1, le=INTEGER_MAX, description="`seq` of a message")] = None,
) -> Response:
    """Get the signed receipt of a served window. `prove` adds the proof that a message was in view, in which form and
    words, or that it was not. `quire verify` checks it offline.
    """
    return json_value(await receipts.shown(runtime, caller, conversation_id, window, prove))


@router.get("/conversations/{conversation_id}/windows/{window}", response_model=schemas.ServedWindow)
async def get_window(runtime: Wired, caller: Reader, conversation_id: ConversationId, window: WindowNumber) -> Response:
    """Get a window back as it was served, from stored messages and texts.

    `verified` is whether it has the hash of the served one. If not, `erased` names what is no longer there.
    """
    return json_text((await replaying.window(runtime, caller, conversation_id, window)).body)


@router.get("/conversations/{conversation_id}/why", response_model=schemas.Whereabouts)
async def explain_message(
    runtime: Wired,
    caller: Reader,
    conversation_id: ConversationId,
    seq: Annotated[int, Query(ge=1, le=INTEGER_MAX, description="the message")],
    budget: Annotated[int | None, Query(ge=1, le=BUDGET_MAX, description="of the window")] = None,
    form: Annotated[Literal["openai", "anthropic"], Query(alias="format")] = "openai",
) -> Response:
    """Explain where a message is in the window of now, what would bring it back, and what that would cost.

    Viewing is read-only and doesn't count as a recall.
    """
    request = ContextRequest(
        budget=budget, format=form, chooses=False, bound_to=caller.user_id, sensitive=caller.sensitive
    )
    return json_value(await why(runtime, caller, conversation_id, seq, request))
