"""Anthropic's Threads: the client sends only new messages, because Quire has the conversation.

An answer of a thread has its own id, as a response has. A conversation holds every field of a request except the tools,
so these are kept beside the answer for a day. A client whose thread is gone sends its whole list.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from app import errors
from app.core.canonical import dumps, loads
from app.core.dialects.inbound_messages import question as read
from app.core.dialects.question import Question
from app.core.edge.caller import Caller
from app.runtime import Runtime
from app.services.idempotency import IdempotencyKey, StoredResponse
from app.services.proxy.responses import ResponsePlace, place_of
from app.services.proxy.state import AnswerTask

CREATE_ONLY = ("system", "tools")
"""Fields that a thread has from its creation."""


def checked(body: Mapping[str, Any]) -> str | None:
    """Return the answer that a thread continues; None if it begins or there is none. Raises UnservedThread."""
    thread = body.get("thread")
    if thread is None:
        return None
    kind, previous = (
        (thread.get(name) for name in ("type", "previous_message_id")) if isinstance(thread, dict) else ("", "")
    )
    is_sound = kind == "create" or (kind == "continue" and isinstance(previous, str))
    if not is_sound or not body.get("messages") or (kind == "continue" and any(body.get(n) for n in CREATE_ONLY)):
        raise errors.UnservedThread
    return str(previous) if kind == "continue" else None


async def resumed(
    runtime: Runtime, caller: Caller, body: Mapping[str, Any], previous: str
) -> tuple[Question, ResponsePlace]:
    """Return a request completed with its thread's fields, and the thread's place. Raises ThreadNotFound."""
    try:
        place = await place_of(runtime, caller, previous)
        tools = await _key(previous).find_response(runtime.database, caller.tenant)
    except (errors.NotFound, errors.ErasedSince):
        raise errors.ThreadNotFound from None
    if tools is None:
        raise errors.ThreadNotFound
    return read({**body, "tools": loads(tools)}), place


async def keep(task: AnswerTask) -> None:
    """Keep the tools beside an answer, so that a thread can continue from it."""
    if not task.is_thread or not task.is_stored:
        return
    key, tools = _key(f"msg_{task.id.hex}"), dumps(task.question.body.get("tools") or [])
    async with task.runtime.database.begin(task.asked.tenant) as tx:
        if await key.claim(tx) is None:
            await key.store(tx, StoredResponse.about(tools, task.asked.conversation))


def _key(message_id: str) -> IdempotencyKey:
    return IdempotencyKey(f"thread:{message_id}", hashlib.sha256(message_id.encode()).digest())
