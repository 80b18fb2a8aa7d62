"""Store a model's answer in the conversation of its question, or mark the question as refused."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from app import errors
from app.core.canonical import dumps
from app.core.history.preparation import Arrival
from app.core.messages import read
from app.runtime import Runtime
from app.services.conversations.append import append
from app.services.conversations.lists import UNLIMITED
from app.services.conversations.requests import ProxyAnswer
from app.services.proxy.question import ProxyTurn
from app.store.proxy import refused
from app.text.language import scalars

STORE_TRIES = 6
STORE_PAUSE_SECONDS = 0.25
"""Before the second try to store an answer; doubled before each further one."""

_logger = logging.getLogger(__name__)


async def keep(
    runtime: Runtime, asked: ProxyTurn, said: Sequence[dict[str, Any]], *, inner: int = 0, answers: bool = True,
    text: str = "",
) -> int | None:  # fmt: skip
    """Append an answer to its conversation and return the last seq. Store nothing if it was erased meanwhile.

    The first ``inner`` messages appear in no client's list. ``answers``: these complete the answer. ``text`` is stored
    instead of malformed messages.
    """
    stored = runtime.masks.value(scalars(list(said)))
    try:
        drafts = read(stored, UNLIMITED)
    except errors.Invalid:  # a provider's ids or names may be invalid: the text is stored nevertheless
        told = "\n".join(filter(None, [text, *(dumps(m.get("tool_calls")) for m in stored[inner:])]))
        drafts, inner = read([{"role": "assistant", "content": told}], UNLIMITED), 0
    arrivals = [Arrival(draft, is_inner=index < inner) for index, draft in enumerate(drafts)]
    request = ProxyAnswer(arrivals, asked.conversation.uid, is_whole=answers, after=asked.through)
    key = asked.answer_key(asked.conversation.end.last_seq if asked.answers else asked.through)
    for tried in range(1, STORE_TRIES + 1):
        try:
            done = await append(runtime, asked.tenant, asked.conversation.id, request, key if answers else None)
        except errors.NotFound:
            _logger.info("an answer is not stored: its conversation was erased")
            return None
        except errors.StorageUnavailable as error:
            if tried == STORE_TRIES or (isinstance(error, errors.OutcomeUnknown) and not answers):
                raise
            await asyncio.sleep(STORE_PAUSE_SECONDS * 2 ** (tried - 1))
        else:
            return done.conversation.end.last_seq if done.conversation is not None else None
    return None


async def mark_refused(runtime: Runtime, asked: ProxyTurn) -> None:
    """Mark the question as refused, so that it does not get later questions refused too (``core.history.refused``)."""
    with suppress(errors.StorageUnavailable):
        await refused.mark(runtime.database, asked.tenant, asked.conversation.id, asked.conversation.uid)
