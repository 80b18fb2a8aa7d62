"""Remove questions that a model's API always refuses from windows (``core.history.refused``)."""

from __future__ import annotations

from dataclasses import replace

from app.core import wording
from app.core.conversation import Conversation
from app.core.history import refused
from app.core.history.erasure_plan import MarkLine
from app.postgres.transactions import Tx
from app.queue import enqueue
from app.runtime import Runtime
from app.services.conversations.requests import AppendRequest, ProxyQuestion, SyncedList, origin_of
from app.services.conversations.selection import Arrivals
from app.store import erasing
from app.store.conversations import calls_text
from app.store.erasing import Derived
from app.store.proxy import refused as stored


def leaves(known: Conversation, request: AppendRequest, selection: Arrivals) -> bool:
    """Return whether the appended messages make the conversation's refused question leave."""
    if not known.refused or known.asked_from is None or not selection.arrivals:
        return False
    return refused.leaves(origin_of(request), selection.arrivals[0].draft.role)


async def take_out(runtime: Runtime, tx: Tx, known: Conversation, request: AppendRequest) -> Conversation:
    """Remove a locked conversation's refused question and everything derived from it. Return the conversation
    afterwards; the caller begins its new generation.
    """
    first = known.asked_from or 0
    rows = await stored.question(tx, known.id, first)
    gone = [row for row in rows if row.seq >= first]
    unsaid = isinstance(request, SyncedList | ProxyQuestion) and known.chain not in request.messages.chains
    chain = await stored.chain_before(tx, known.id, first) if unsaid else known.chain
    group = [row.shown for row in rows if row.seq < first and row.kind in ("call", "result")]
    answers_calls = bool(group) and gone[0].kind == "result"
    after = replace(
        known,
        end=replace(
            known.end,
            group=0,
            open_calls=refused.open_again(group, gone[0].call_group) if answers_calls else known.end.open_calls,
        ),
        totals=replace(known.totals, full=gone[0].full_before, short=gone[0].short_before),
        chain=chain,
        asked_from=None,
        refused=False,
    )
    pages = sorted({row.page for row in gone})
    seqs = [row.seq for row in gone]
    titles = await erasing.titles(tx, known.id, seqs)
    made = Derived(known.id, known.uid, seqs, pages, near=[], titles=titles, is_erased=False)
    said = wording.REFUSED.say(known.language or "en")
    line = MarkLine(said, await runtime.count(said))
    await erasing.drop_derived(tx, made)
    await stored.leave(tx, after, first, (line.text, line.tokens), unsaid=unsaid)
    await erasing.settle(tx, made, line, prompt_tokens=0, open_calls=calls_text(after.end))
    if closed := [enqueue.page(known.id, known.uid, page) for page in pages if page < known.totals.last_page]:
        await enqueue.enqueue(tx, closed)
    return after
