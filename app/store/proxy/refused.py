"""Questions that a model's API always refuses: mark them, and remove them from windows."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from app.core.conversation import Conversation, ConversationEnd
from app.core.history.sync import INNER
from app.postgres.database import Database
from app.postgres.statements import SqlFile
from app.postgres.transactions import ReadTx, Tx
from app.store.conversations import calls_text

# The newest question to the proxy, if nothing that callers know of follows it.
MARK = """
UPDATE conversations SET refused = true, version = version + 1
 WHERE tenant_id = $1 AND id = $2 AND uid = $3 AND asked_from IS NOT NULL
"""


async def mark(database: Database, tenant: UUID, conversation_id: str, uid: UUID) -> None:
    """Mark the unanswered question. Does nothing if it has an answer or the conversation is gone."""
    async with database.begin(tenant) as tx:
        tx.changes.conversations.add(conversation_id)
        await tx.execute(MARK, conversation_id, uid)


# A refused question's messages, and before them the call group that its first message belongs to.
QUESTION = """
SELECT seq, page, kind, call_group, coalesce(view, body) AS shown, full_before, short_before FROM messages
 WHERE tenant_id = $1 AND conversation_id = $2
   AND seq >= (SELECT call_group FROM messages WHERE tenant_id = $1 AND conversation_id = $2 AND seq = $3)
 ORDER BY seq
"""


@dataclass(frozen=True, slots=True)
class QuestionPart:
    """A message of a question, or of the call group before it."""

    seq: int
    page: int
    kind: str
    call_group: int
    shown: str
    full_before: int
    short_before: int


async def question(tx: ReadTx, conversation_id: str, first: int) -> list[QuestionPart]:
    return [QuestionPart(*row) for row in await tx.fetch(QUESTION, conversation_id, first)]


_SQL = SqlFile(__file__)
LEAVE = _SQL.statement("leave")
# The conversation without them.
WITHOUT = """
UPDATE conversations
   SET full_total = $3, short_total = $4, open_group = $5, open_calls = $6, chain = $7,
       asked_from = NULL, refused = false
 WHERE tenant_id = $1 AND id = $2
"""
CHAIN = "SELECT chain FROM messages WHERE tenant_id = $1 AND conversation_id = $2 AND seq = $3"


async def chain_before(tx: ReadTx, conversation_id: str, seq: int) -> bytes:
    return await tx.fetchval(CHAIN, conversation_id, seq - 1) or b""


async def leave(tx: Tx, after: Conversation, first: int, line: tuple[str, int], *, unsaid: bool) -> None:
    """Remove the messages from ``first`` on. ``after``: the conversation's new state; ``unsaid``: in no list."""
    totals = after.totals
    await tx.execute(
        LEAVE, conversation=after.id, first=first, full_before=totals.full, short_before=totals.short, line=line[0],
        line_tokens=line[1], unsaid=unsaid, digest=INNER, chain=after.chain if unsaid else None,
    )  # fmt: skip
    end: ConversationEnd = after.end
    await tx.execute(WITHOUT, after.id, totals.full, totals.short, end.group, calls_text(end), after.chain)
