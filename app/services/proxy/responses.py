"""Responses by id: read and delete answers, and compact conversations.

An answer's id is the id of its message, so it is found, exported and erased with it; nothing is stored twice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app import errors
from app.concurrency import run_in_thread_if_large
from app.core.conversation import Conversation
from app.core.dialects.compaction import opened, sealed
from app.core.dialects.inbound_responses import after_compaction
from app.core.dialects.input_items import RESPONSE, identified_items, is_mark
from app.core.dialects.items import COMPACTION
from app.core.dialects.question import Question
from app.core.edge.caller import Caller
from app.core.history.placeholder import as_sent
from app.core.messages import read
from app.ids import uuid7
from app.runtime import Runtime
from app.services.conversations.lists import UNLIMITED
from app.services.conversations.requests import Follows
from app.services.proxy.question import ProxyRequest, ask
from app.services.proxy.writing import given_again
from app.store import conversations, messages
from app.store.proxy import proxied

FORGED: errors.FieldError = {
    "loc": ["body", "input"],
    "msg": "has a compaction item that was not made here for this conversation, or was changed",
}


RESPONSE_ID = re.compile("(resp|msg)_[0-9a-f]{32}")
"""Of an answer that can be continued: a response's, or a message's of a thread."""


@dataclass(frozen=True, slots=True)
class ResponsePlace:
    """The place in a conversation where a request continues."""

    conversation: Conversation
    follows: Follows


async def continued(runtime: Runtime, caller: Caller, body: Mapping[str, Any]) -> ResponsePlace | None:
    """Return the place that a request continues, if it names one: a compaction or an earlier response.

    Raises NotFound for an unknown response, Invalid for a compaction that is not Quire's.
    """
    item, _ = after_compaction(body.get("input"))
    if item is not None:
        return await _compacted(runtime, caller, item)
    previous = body.get("previous_response_id")
    return None if previous is None else await place_of(runtime, caller, previous)


async def _compacted(runtime: Runtime, caller: Caller, item: Mapping[str, Any]) -> ResponsePlace:
    found = opened(item.get("encrypted_content"))
    if found is None:
        raise errors.Invalid(errors=[FORGED])
    async with runtime.database.snapshot(caller.tenant) as tx:
        known = await conversations.find(tx, found.conversation_id, bound_to=caller.user_id)
    if known is None or not found.is_of(known.uid):
        raise errors.Invalid(errors=[FORGED])
    return ResponsePlace(known, Follows(found.through))


async def place_of(runtime: Runtime, caller: Caller, response_id: str) -> ResponsePlace:
    """Return an answer's place in its conversation. Raises NotFound."""
    if not RESPONSE_ID.fullmatch(response_id):
        raise errors.missing("response")
    async with runtime.database.snapshot(caller.tenant) as tx:
        found = await proxied.response_place(tx, f"{RESPONSE}{response_id.rpartition('_')[2]}")
        if found is None:
            raise errors.missing("response")
        known = await conversations.find(tx, found[0], bound_to=caller.user_id)
    if known is None:
        raise errors.missing("response")
    return ResponsePlace(known, Follows(found[1], is_last=True))


async def retrieve(runtime: Runtime, caller: Caller, response_id: str) -> bytes:
    """Return a response as JSON. Raises NotFound."""
    place = await place_of(runtime, caller, response_id)
    async with runtime.database.snapshot(caller.tenant) as tx:
        [row] = await messages.history(tx, place.conversation.id, place.follows.seq - 1, 1, newest_first=False)
    asked = Question("responses", {"store": True}, [], {"model": place.conversation.model or "unknown"})
    return b"".join([part async for part in given_again(asked, row).read()])


async def delete(runtime: Runtime, caller: Caller, response_id: str) -> None:
    """Forget a response's id; its message stays in the conversation. Raises NotFound."""
    place = await place_of(runtime, caller, response_id)
    async with runtime.database.begin(caller.tenant) as tx:
        if not await proxied.forget_response(tx, place.conversation.id, place.follows.seq, response_id):
            raise errors.missing("response")


async def input_items(runtime: Runtime, caller: Caller, response_id: str) -> list[dict[str, Any]]:
    """Return the input items that a response answers, newest first. Raises NotFound."""
    place = await place_of(runtime, caller, response_id)
    async with runtime.database.snapshot(caller.tenant) as tx:
        rows = await proxied.question_before(tx, place.conversation.id, place.follows.seq)
        texts = await messages.archived_texts(tx, [uuid for row, _ in rows for uuid in row.archive_ids])
    language = place.conversation.language or "en"

    def items() -> list[dict[str, Any]]:
        drafts = [(*row, read([as_sent(json.loads(row[0].body), texts, language)], UNLIMITED)[0]) for row in rows]
        return [
            item
            for row, digest, draft in drafts
            if not is_mark(draft, digest)
            for item in reversed(identified_items(draft, row.id, row.seq))
        ]

    return await run_in_thread_if_large(sum(len(row.body) for row, _ in rows), items)


async def compact(runtime: Runtime, request: ProxyRequest) -> dict[str, Any]:
    """Store the new messages of a request, and return the item that stands for its whole conversation."""
    if request.question.messages:
        stored = await ask(runtime, request)
        conversation = stored.conversation
    else:
        if request.conversation_id is None:
            raise errors.Invalid.at(["body", "input"], "must have something to compact")
        async with runtime.database.snapshot(request.caller.tenant) as tx:
            conversation = await conversations.get(tx, request.conversation_id, bound_to=request.caller.user_id)
    content = sealed(conversation.id, conversation.end.last_seq, conversation.uid)
    return {"id": f"cmp_{uuid7().hex}", "type": COMPACTION, "encrypted_content": content}
