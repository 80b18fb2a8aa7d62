"""The growth of a conversation's window over its last turns."""

from __future__ import annotations

from app.core.conversation import Conversation
from app.core.window.growth import Point, growth
from app.postgres.transactions import ReadTx
from app.store import growth as stored

TURNS_MAX = 60


async def last_turns(tx: ReadTx, conversation: Conversation) -> list[Point]:
    """Return the window of the conversation's own budget at the end of each of its last turns, in order."""
    totals = conversation.totals
    turns = await stored.turns(tx, conversation.id, TURNS_MAX)
    epochs = await stored.epochs(tx, conversation.id, TURNS_MAX, full_total=totals.full, short_total=totals.short)
    return growth(turns, totals.full, epochs, is_whole=len(epochs) < TURNS_MAX)
