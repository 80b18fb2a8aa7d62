"""The offsets and epochs of a conversation's last turns."""

from __future__ import annotations

from app.core.window.growth import Frozen, PageTurn
from app.postgres.statements import SqlFile
from app.postgres.transactions import ReadTx
from app.store.windows import read_head

_SQL = SqlFile(__file__)
TURNS = _SQL.statement("turns")
EPOCHS = _SQL.statement("epochs")


async def turns(tx: ReadTx, conversation_id: str, limit: int) -> list[PageTurn]:
    return [PageTurn(*row) for row in await tx.fetch(TURNS, conversation=conversation_id, limit=limit)]


async def epochs(tx: ReadTx, conversation_id: str, limit: int, *, full_total: int, short_total: int) -> list[Frozen]:
    """Return the last epochs, in order. A zone that begins after the last message begins at the totals."""
    epochs_frozen = []
    for row in await tx.fetch(EPOCHS, conversation=conversation_id, limit=limit):
        head = read_head(row["head"])
        end = short_total if row["condensed_end"] is None else row["condensed_end"]
        start = end if row["condensed_start"] is None else row["condensed_start"]
        epochs_frozen.append(
            Frozen(
                number=row["number"],
                trigger_page=row["trigger_page"],
                notes=head.notes_tokens,
                summary=head.summary_tokens,
                contents=head.contents_tokens + head.frame_tokens,
                condensed=end - start,
                verbatim_from=full_total if row["verbatim_start"] is None else row["verbatim_start"],
            )
        )
    return epochs_frozen
