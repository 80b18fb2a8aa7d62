"""The part of a tree of branches that a conversation sees."""

from __future__ import annotations

from datetime import datetime

from app.core.conversation import Conversation
from app.postgres.transactions import ReadTx
from app.store import branches
from app.store.memory.memories import OnLine, first_id


async def on_line(tx: ReadTx, conversation: Conversation) -> OnLine | None:
    """Return the line of a conversation for a search; None if it is in no tree."""
    line = conversation.line
    if not line.is_in_tree:
        return None
    tree = await branches.family(tx, line.root)
    return OnLine(
        conversation.uid,
        [one.uid for one in line.stretches],
        [one.seq for one in line.stretches],
        [first_id(one.at) for one in line.stretches],
        [row["uid"] for row in tree],
    )


async def is_hidden(
    tx: ReadTx, conversation: Conversation | None, of: str | None, seq: int | None, made_at: datetime
) -> bool:
    """Return whether a row of a conversation (``of``) is on another line of the tree than the one that asks."""
    if conversation is None or of is None or not conversation.line.is_in_tree:
        return False
    if conversation.line.holds(of, seq, made_at):
        return False
    return of in {row["id"] for row in await branches.family(tx, conversation.line.root)}
