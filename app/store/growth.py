"""The offsets and epochs of a conversation's last turns."""

from __future__ import annotations

from app.core.window.growth import Frozen, PageTurn
from app.postgres.transactions import ReadTx
from app.store.windows import read_head

# The last pages, the newest first, with the running total before each.
TURNS = """
SELECT p.page, m.full_before
  FROM (SELECT page, first_seq FROM pages
         WHERE tenant_id = $1 AND conversation_id = $2 ORDER BY page DESC LIMIT $3) p
  CROSS JOIN LATERAL (
    SELECT full_before FROM messages
     WHERE tenant_id = $1 AND conversation_id = $2 AND seq = p.first_seq LIMIT 1) m
 ORDER BY p.page
"""
# The last epochs with the offsets at which their zones begin.
EPOCHS = """
SELECT e.number, e.trigger_page, e.head, c.short_before AS condensed_start, v.short_before AS condensed_end,
       v.full_before AS verbatim_start
  FROM (SELECT number, trigger_page, condensed_from, verbatim_from, head FROM epochs
         WHERE tenant_id = $1 AND conversation_id = $2 ORDER BY number DESC LIMIT $3) e
  LEFT JOIN LATERAL (
    SELECT short_before FROM messages
     WHERE tenant_id = $1 AND conversation_id = $2 AND seq = e.condensed_from LIMIT 1) c ON true
  LEFT JOIN LATERAL (
    SELECT short_before, full_before FROM messages
     WHERE tenant_id = $1 AND conversation_id = $2 AND seq = e.verbatim_from LIMIT 1) v ON true
 ORDER BY e.number
"""


async def turns(tx: ReadTx, conversation_id: str, limit: int) -> list[PageTurn]:
    """Return the last turns, in order."""
    return [PageTurn(*row) for row in await tx.fetch(TURNS, conversation_id, limit)]


async def epochs(tx: ReadTx, conversation_id: str, limit: int, *, full_total: int, short_total: int) -> list[Frozen]:
    """Return the last epochs, in order. A zone that begins after the last message begins at the totals."""
    epochs_frozen = []
    for row in await tx.fetch(EPOCHS, conversation_id, limit):
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
