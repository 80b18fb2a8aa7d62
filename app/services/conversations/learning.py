"""Learn how a conversation's model counts tokens, from the usage that its API reported for a window.

The window's record holds its charge and its messages, and the conversation's row the weights of their files. No text
is read.
"""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from app.core import calibration
from app.core.calibration import Charge, Lesson
from app.core.conversation import Conversation
from app.core.model import INTEGER_MAX, OURS, Mix
from app.core.window.served import Served, ServedFrame, ledger_of
from app.postgres.transactions import ReadTx
from app.runtime import Runtime
from app.services.conversations.cuts import charge_of
from app.services.conversations.selection import Arrivals
from app.store import served as stored


async def learned(runtime: Runtime, tenant: UUID, known: Conversation | None, selection: Arrivals) -> Arrivals:
    """Return the arrivals with the lesson of their usage report, unless it is from a model that counts differently."""
    reported = selection.reported_usage
    if reported is None or known is None:
        return selection
    newest = runtime.caches.served.last(tenant, known.uid)
    window = (newest.frame, newest.served) if newest is not None else None
    if window is None or ledger_of(*window).total != reported.window_tokens:
        async with runtime.database.snapshot(tenant) as tx:
            window = await _recorded(tx, known.id, reported.window_tokens)
    charge, percents = charge_of(runtime, known), dict(known.file_percents)
    predicted = Charge(charge.family, OURS).tokens(Mix(reported.window_tokens))
    if window is not None:
        frame, served = window
        if charge_of(runtime, known, frame.model or None).family is not charge.family:
            return selection
        rest = replace(charge, learned=frame.own_percent).rest
        shown = [weight for weight in known.file_weights if _shows(frame, served, weight.seq)]
        paid = reported.window_tokens * frame.percent // OURS
        percents, reported, paid = calibration.learn_file_weights(percents, shown, reported, paid)
        predicted = paid * OURS // rest
    found = Lesson(calibration.learn_percent(charge, reported, predicted), tuple(percents.items()))
    return replace(selection, learned=found)


def _shows(frame: ServedFrame, served: Served, seq: int) -> bool:
    return not served.forms and (frame.condensed_from <= seq <= served.last_seq or seq == frame.pinned)


async def _recorded(tx: ReadTx, conversation_id: str, tokens: int) -> tuple[ServedFrame, Served] | None:
    """Return the newest recorded window with this number of tokens, if it is among the last ones."""
    for row in await stored.browse(tx, conversation_id, INTEGER_MAX, 1):
        for _, frame, served in reversed(row.windows):
            if ledger_of(frame, served).total == tokens:
                return frame, served
    return None
