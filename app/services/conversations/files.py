"""File weights of a conversation's model: learned from the window whose tokens its API reported last.

The window's record says which messages it showed, and the conversation's row what their files weigh. No text is read.
"""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from app.core import calibration
from app.core.conversation import Conversation
from app.core.model import INTEGER_MAX
from app.core.window.served import Served, ServedFrame, ledger_of
from app.postgres.transactions import ReadTx
from app.runtime import Runtime
from app.services.conversations.selection import Arrivals
from app.store import served as stored


async def told_apart(runtime: Runtime, tenant: UUID, known: Conversation | None, selection: Arrivals) -> Arrivals:
    """Return the arrivals with what their report says of files of each kind, and of the text beside them."""
    reported = selection.reported_usage
    if reported is None or known is None or not known.file_weights:
        return selection
    newest = runtime.caches.served.last(tenant, known.uid)
    window = (newest.frame, newest.served) if newest is not None else None
    if window is None or ledger_of(*window).total != reported.window_tokens:
        window = await runtime.database.read(tenant, _recorded, known.id, reported.window_tokens)
    if window is None:
        return selection
    shown = [weight for weight in known.file_weights if _shows(*window, weight.seq)]
    percents, rest = calibration.told_apart(dict(known.file_percents), shown, reported, known.token_percent)
    return replace(selection, reported_usage=rest, file_percents=tuple(percents.items()))


def _shows(frame: ServedFrame, served: Served, seq: int) -> bool:
    return not served.forms and (frame.condensed_from <= seq <= served.last_seq or seq == frame.pinned)


async def _recorded(tx: ReadTx, conversation_id: str, tokens: int) -> tuple[ServedFrame, Served] | None:
    """Return the newest window of so many tokens, if it is one of the newest."""
    for row in await stored.browse(tx, conversation_id, INTEGER_MAX, 1):
        for _, frame, served in reversed(row.windows):
            if ledger_of(frame, served).total == tokens:
                return frame, served
    return None
