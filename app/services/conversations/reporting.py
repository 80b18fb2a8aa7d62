"""Write the result of a sub-agent or a branch back to its parent, once and only on request.

The parent gets an assistant's message that names the sender. It is no person's message, so it makes no wish or fact.
What the conversation ``shares`` with its parent does not matter here.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from uuid import UUID

from app import errors
from app.core import wording
from app.core.conversation import Conversation
from app.core.edge.caller import Caller
from app.core.messages import read
from app.core.neutral import titled
from app.postgres.transactions import ReadTx
from app.runtime import Runtime
from app.services.conversations import forking
from app.services.conversations.append import append
from app.services.conversations.requests import PostedMessages
from app.services.idempotency import IdempotencyKey
from app.services.memory.recalling import said_text
from app.store import conversations, messages


@dataclass(frozen=True, slots=True)
class ReportRequest:
    text: str | None = None
    at: int | str | None = None
    """The ``seq`` or the id of the message that is the result; None: the newest, unless there is a ``text``."""


@dataclass(frozen=True, slots=True)
class ReportedResult:
    """The message in the parent."""

    parent: str
    message_id: UUID
    seq: int
    page: int


async def report(
    runtime: Runtime, caller: Caller, conversation_id: str, request: ReportRequest, key: IdempotencyKey | None
) -> ReportedResult:
    """Write a result back, or return the message of the same result.

    Raises NotFound, Conflict without a parent, and Invalid for a message that cannot be a result.
    """
    async with conversations.snapshot(runtime.database, caller, conversation_id) as (tx, child):
        name = child.parent_id or child.parent
        if name is None:
            raise errors.Conflict("The conversation has no parent: it is neither a branch nor a sub-agent's.")
        parent = await conversations.get(tx, name, bound_to=caller.user_id)
        text = request.text if request.text is not None else await _result(tx, child, request.at)
    said = wording.REPORT.say(parent.language or "en", name=titled(child.title or child.id), text=text)
    client_id = f"report-{child.uid}-{sha256(text.encode()).hexdigest()[:32]}"
    message = {"role": "assistant", "content": said, "client_id": client_id}
    drafts = read([message], runtime.defaults.limits, ("body", "text"))
    try:
        done = await append(runtime, caller.tenant, parent.id, PostedMessages(drafts, bound_to=caller.user_id), key)
    except errors.Conflict:
        async with runtime.database.snapshot(caller.tenant) as tx:
            taken = await messages.taken_client_ids(tx, parent.line, [client_id])
            rows = await messages.by_place(tx, [(parent.line.keeper(seq), seq) for seq in taken.values()])
        if not rows:
            raise
        return ReportedResult(parent.id, rows[0].id, rows[0].seq, rows[0].page)
    [stored] = json.loads(done.response)["messages"]
    return ReportedResult(parent.id, UUID(stored["id"]), stored["seq"], stored["page"])


async def _result(tx: ReadTx, child: Conversation, at: int | str | None) -> str:
    """Return the text of one of the conversation's own answers. Raises Invalid for any other message."""
    seq = await forking.seq_at(tx, child, at)
    if seq == 0 or child.line.keeper(seq) != child.line.own:
        raise errors.Invalid.at(["body", "at"], "is no message of the conversation's own")
    [row] = await messages.by_place(tx, [(child.line.own, seq)])
    text = said_text(row)
    if row.role != "assistant" or not text.strip() or text in (*wording.ERASED, *wording.PRUNED):
        raise errors.Invalid.at(["body", "at"], f"message {seq} is no answer with a text")
    return text
