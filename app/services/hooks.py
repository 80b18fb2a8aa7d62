"""Take in a coding agent's events: gather, decide (``core.edge.hooks``), apply, and answer in time.

An agent waits for its hooks and must never suffer from them, so the answer comes within STORE_SECONDS and
ANSWER_SECONDS. While the database is unavailable, the answer is empty and a header says that the event was not stored.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import Any

import anyio.to_thread

from app import errors
from app.core.edge import hooks
from app.core.edge.caller import Caller
from app.core.edge.hooks import Event, HookPlan
from app.core.messages import Draft, read
from app.core.model import INTEGER_MAX
from app.core.window.render import tail_text
from app.runtime import Runtime
from app.services.conversations import placing
from app.services.conversations.append import append
from app.services.conversations.call import ContextRequest
from app.services.conversations.context import context
from app.services.conversations.requests import PostedMessages
from app.store import conversations, messages

STORE_SECONDS = 4.0
"""How long the agent waits for the event to be stored. Storing goes on afterwards."""
ANSWER_SECONDS = 2.0
"""How long it then waits for what is to be recalled."""
NOT_STORED, NOT_ANSWERED = "not-stored", "not-answered"
RECALL_BUDGET = hooks.HEAD_BUDGETS[0]
"""Budget of the window at the session's end. The agent still sees its messages, so they are not recalled."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class HookReply:
    """An answer in the agent's form; ``warning`` names what could not be done."""

    answer: dict[str, Any]
    warning: str | None = None


@dataclass(frozen=True, slots=True)
class _Session:
    runtime: Runtime
    caller: Caller
    user_id: str
    event: Event
    is_large: bool


async def hear(
    runtime: Runtime, caller: Caller, user_id: str, event: Event, decided: HookPlan, *, is_large: bool = False
) -> HookReply:
    """Store an event and answer as planned. Raises Invalid, PayloadTooLarge, or NotFound for another user's session.

    ``is_large``: its texts take long to read.
    """
    if not decided.is_known:
        return HookReply({})
    session = _Session(runtime, caller, user_id, event, is_large)
    try:
        is_there = await _in_time(runtime, asyncio.create_task(_apply(session, decided)))
    except (TimeoutError, errors.StorageUnavailable, errors.Busy) as error:
        _logger.warning("an event of a hook is not stored in time: %s", type(error).__name__)
        return HookReply({}, NOT_STORED)
    if decided.reply is None or not is_there:
        return HookReply({})
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            return HookReply(await _answer(session, decided))
    except (TimeoutError, errors.QuireError) as error:
        _logger.warning("an event of a hook is not answered: %s", type(error).__name__)
        return HookReply({}, NOT_ANSWERED)


async def _in_time(runtime: Runtime, storing: asyncio.Task[bool]) -> bool:
    """Wait for the storing for STORE_SECONDS at most. It continues in the background after that."""
    runtime.turns.hold(storing)
    try:
        async with asyncio.timeout(STORE_SECONDS):
            return await asyncio.shield(storing)
    except TimeoutError:
        storing.add_done_callback(_log_late)
        raise


def _log_late(storing: asyncio.Task[bool]) -> None:
    if not storing.cancelled() and (error := storing.exception()) is not None:
        _logger.warning("an event of a hook is not stored: %s", type(error).__name__)


async def _apply(session: _Session, decided: HookPlan) -> bool:
    """Store an event's new messages. Return whether its conversation exists. Raises NotFound for another user's."""
    runtime, tenant, name = session.runtime, session.caller.tenant, session.event.conversation_id
    if decided.messages and session.event.agent_id is not None:
        name = await placing.of_agent(runtime, tenant, name, session.event.agent_id, session.user_id)
    async with runtime.database.snapshot(tenant) as tx:
        known = await conversations.find(tx, name)
        newest = await messages.history(tx, name, INTEGER_MAX, 1, newest_first=True) if known else ()
    if known is not None and conversations.seen(known, session.user_id) is None:
        raise errors.missing("conversation")
    client_id, last_seq = (newest[0].client_id, newest[0].seq) if newest else (None, 0)
    new = hooks.named(decided, client_id, last_seq)
    if not new:
        return known is not None
    limits = runtime.defaults.limits
    drafts = await anyio.to_thread.run_sync(read, new, limits) if session.is_large else read(new, limits)
    sent = PostedMessages(drafts, session.user_id, bound_to=session.user_id, is_large=session.is_large)
    try:
        await append(runtime, tenant, name, sent, None)
    except errors.Conflict:
        if not await _are_stored(session, name, drafts):
            raise
    return True


async def _are_stored(session: _Session, name: str, drafts: list[Draft]) -> bool:
    """Return whether the event's messages are stored already, perhaps by an equal event at the same time."""
    tenant, ids = session.caller.tenant, [draft.client_id for draft in drafts if draft.client_id is not None]
    async with session.runtime.database.snapshot(tenant) as tx:
        return bool(await messages.taken_client_ids(tx, name, ids))


async def _answer(session: _Session, decided: HookPlan) -> dict[str, Any]:
    text = await (_recall_text(session, decided.query) if decided.reply == "recall" else _head(session))
    tokens = (await session.runtime.tokens.count_many([text]))[0] if text else 0
    return hooks.answer(session.event, text, tokens)


async def _recall_text(session: _Session, query: str) -> str | None:
    caller, name = session.caller, session.event.conversation_id
    wanted = ContextRequest(
        budget=RECALL_BUDGET, query=query, bound_to=session.user_id, sensitive=caller.sensitive,
        recall_max_tokens=hooks.ANSWER_TOKENS_MAX - hooks.FRAME_TOKENS_MAX,
    )  # fmt: skip
    async with session.runtime.database.snapshot(caller.tenant) as tx:
        conversation = await conversations.get(tx, name, bound_to=session.user_id)
    try:
        found = await context(session.runtime, caller.tenant, name, wanted)
    except errors.BudgetTooSmall:  # the prompt alone is longer
        return None
    return tail_text(found.window.tail, conversation.language or "en") if found.window.tail else None


async def _head(session: _Session) -> str | None:
    for budget in hooks.HEAD_BUDGETS:
        wanted = ContextRequest(budget=budget, bound_to=session.user_id, chooses=False)
        try:
            found = await context(session.runtime, session.caller.tenant, session.event.conversation_id, wanted)
        except errors.BudgetTooSmall:
            return None
        if found.window.head:
            return found.window.head
    return None
