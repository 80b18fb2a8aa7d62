"""Record the windows that were served, without letting anybody wait.

A window is noted in memory, and written a moment later with the others of that moment. What a process had not written
when it was killed is lost: at most the windows of its last ``WRITE_SECONDS``, and never a message. A process that ends
writes them first, and so does a request that lists them.

The same window served again is counted: it is no record of its own.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from uuid import UUID

from app import errors
from app.caches import WRITTEN_AT_ONCE, KeptWindow, Recorded, ServedRun, Writing
from app.core.model import Context
from app.core.window.served import (
    PREFIX_CHARACTERS,
    KeptText,
    Served,
    ServedFrame,
    digest_of,
    forms_text,
    head_text,
    short,
    tail_text,
)
from app.core.window.served_quotes import QuotedPlace
from app.postgres.transactions import Tx
from app.recall.window_tools import guide_of
from app.runtime import Runtime
from app.services.conversations import cuts
from app.services.conversations.call import ContextRequest
from app.services.conversations.tail import Gathered
from app.store import conversations
from app.store import served as stored
from app.store.served import FIRST_ROW, Past, Row

WRITE_SECONDS = 1.0
"""Between a window and its record, at most: the calls of a loop of quick tools share a transaction. Longer: more to
lose."""
UNWRITTEN_MAX = 20_000
"""Windows that wait to be written while the database is away; later ones are not recorded."""
TRIES = 3
"""Another process may begin a row between reading the last one and writing."""
MILLISECOND = 1_000_000
"""In nanoseconds."""
NOTHING: Mapping[QuotedPlace, str] = {}
_PREFIX_HASH = b'"prefix_hash":"'

_logger = logging.getLogger(__name__)


# --- Noting --------------------------------------------------------------------------------------------


def note(
    runtime: Runtime,
    tenant: UUID,
    request: ContextRequest,
    shown: KeptWindow,
    found: Context,
    gathered: Gathered | None = None,
) -> Recorded | None:
    """Note a window that is being served, unless it shows what is one member's own: all of a space can read the record.

    ``gathered``: what its tail was made of.
    """
    if request.call is None or any(item.is_private for item in found.window.tail):
        return None
    buffer, conversation = runtime.caches.served, shown.conversation
    run = buffer.run(tenant, conversation)
    asked = (found.etag, request.call, request.query, request.load, request.pages, request.budget, request.model)
    last = run.last
    if last is not None and last.asked == asked:
        last.served = replace(last.served, count=last.served.count + 1, last_at=time.time_ns() // MILLISECOND)
        run.is_again = last.number is not None
        buffer.touch(run)
        return last
    if buffer.unwritten >= UNWRITTEN_MAX:
        return None
    is_known = run.cut is shown.cut and found.window.squeezed is None
    head = last.frame.head if last is not None and is_known else _digest(head_text(found.window, shown.cut.head.days))
    recorded = Recorded(_frame(runtime, request, shown, found, head), _served(request, shown, found), asked)
    run.cut = shown.cut if found.window.squeezed is None else None
    buffer.add(run, recorded, _texts(run, recorded, request, shown, found, gathered))
    return recorded


def _digest(text: str | None) -> str:
    return digest_of(text) if text else ""


def _frame(runtime: Runtime, request: ContextRequest, shown: KeptWindow, found: Context, head: str) -> ServedFrame:
    conversation, window, cut, target = shown.conversation, found.window, shown.cut, shown.target
    ledger = window.ledger
    system = request.system if request.system is not None else conversation.system
    guide = guide_of(conversation, target.policy) if shown.offers_tools else ""
    return ServedFrame(
        call=request.call or "context",
        format=request.format,
        language=conversation.language or "en",
        budget=ledger.budget,
        is_own=ledger.budget == cuts.own_budget(runtime, conversation) and request.model in (None, conversation.model),
        model=request.model or conversation.model or "",
        carries=request.carries,
        percent=ledger.token_percent,
        own_percent=conversation.learned_percent,
        cut=cut.number,
        condensed_from=cut.condensed_from,
        verbatim_from=cut.verbatim_from,
        pinned=cut.pinned,
        half_mark=cut.half_mark,
        sections=(ledger.tools, ledger.system, ledger.notes, ledger.summary, ledger.contents, ledger.condensed),
        head=head,
        system=_digest(system),
        is_prompted=request.system is None,
        guide=_own_digest(guide) if guide else "",
        tools=_own_digest(found.tools) if not request.tools else digest_of(found.tools),
        alternates=target.policy.alternate_roles,
    )


def _served(request: ContextRequest, shown: KeptWindow, found: Context) -> Served:
    conversation, window, totals = shown.conversation, found.window, shown.conversation.totals
    at = found.body.rindex(_PREFIX_HASH) + len(_PREFIX_HASH)
    head = shown.cut.head
    shows_recalled = any(p.passing and not p.seq for p in window.body)
    anchored = conversation.anchored if shows_recalled else None
    return Served(
        at=time.time_ns() // MILLISECOND,
        hash=short(found.hash),
        prefix=short(found.body[at : at + PREFIX_CHARACTERS].decode()),
        frame=0,
        last_seq=totals.last_seq,
        last_page=totals.last_page,
        recent=window.ledger.recent,
        history=window.ledger.full_history,
        summary_through=head.summary_through_seq if shown.cut.condensed_from > 1 else conversation.summary_through,
        indexed_through=conversation.indexed_through,
        tail_tokens=window.ledger.tail,
        tail=_digest(tail_text(window.tail)),
        query=_digest(request.query),
        passing=tuple(p.seq for p in window.body if p.passing and p.seq),
        refused=tuple(item.seq for item in shown.parts.items if item.kind == "refused"),
        forms=forms_text(window.squeezed.forms) if window.squeezed else "",
        squeezed_fresh=window.squeezed.fresh_max if window.squeezed else 0,
        squeezed_at=window.squeezed.cut_at if window.squeezed else 0,
        warnings=tuple((warning.code, warning.detail) for warning in window.warnings),
        named=(*map(str, request.load), *map(str, request.pages)),
        recalled=_digest(anchored.text) if anchored else "",
        recalled_for=anchored.seq if anchored else 0,
        recalled_tokens=anchored.tokens if anchored else 0,
        rooms=window.rooms,
    )


def _texts(
    run: ServedRun,
    recorded: Recorded,
    request: ContextRequest,
    shown: KeptWindow,
    found: Context,
    gathered: Gathered | None,
) -> dict[str, KeptText]:
    frame, served, conversation, head = recorded.frame, recorded.served, shown.conversation, shown.cut.head
    last_seq = conversation.totals.last_seq
    texts: dict[str, KeptText] = {}
    if run.lacks(frame.head):
        through = max(frame.condensed_from - 1, head.summary_through_seq)
        texts[frame.head] = KeptText("head", head_text(found.window, head.days), through, shown.cut.sources)
    if run.lacks(frame.system):
        system = request.system if request.system is not None else conversation.system or ""
        texts[frame.system] = KeptText("system", system, 0)
    if run.lacks(frame.tools):
        texts[frame.tools] = KeptText("tools" if request.tools else "own", found.tools, 0)
    if run.lacks(frame.guide):
        texts[frame.guide] = KeptText("own", guide_of(conversation, shown.target.policy), 0)
    if run.lacks(served.tail) and gathered is not None:
        through = last_seq if request.pages else 0
        texts[served.tail] = KeptText(
            "tail", tail_text(found.window.tail), through, tuple(gathered.sources), gathered.quoted
        )
    if run.lacks(served.recalled) and (anchored := conversation.anchored) is not None:
        chosen, words = run.chosen or ("", NOTHING)
        text = anchored.text or ""
        texts[served.recalled] = KeptText("recalled", text, last_seq, quoted=words if chosen == served.recalled else {})
    if run.lacks(served.query):
        texts[served.query] = KeptText("query", request.query or "", last_seq)
    return texts


@cache
def _own_digest(text: str) -> str:
    return digest_of(text)


# --- Writing -------------------------------------------------------------------------------------------


async def keep_writing(runtime: Runtime) -> None:
    """Write what was noted, a moment after it was, until cancelled."""
    while True:
        await runtime.caches.served.came.wait()
        await asyncio.sleep(WRITE_SECONDS)
        try:
            await write(runtime)
        except errors.QuireError as error:
            _logger.warning("served windows are not recorded yet: %s", type(error).__name__)


async def write_last(runtime: Runtime) -> None:
    """Write what was noted before the process ends; without the database it is lost."""
    try:
        await write(runtime)
    except errors.QuireError as error:
        _logger.warning("served windows are not recorded: %s", type(error).__name__)


async def write(runtime: Runtime) -> None:
    """Write all that was noted so far. What fails is written the next time."""
    buffer = runtime.caches.served
    async with buffer.writing:
        longest = max((len(run.pending) for run in buffer.dirty.values()), default=0)
        for _ in range(longest // WRITTEN_AT_ONCE + 1):
            for tenant in {tenant for tenant, _ in buffer.dirty}:
                await _write(runtime, tenant, [run for run in buffer.dirty.values() if run.tenant == tenant])


async def _write(runtime: Runtime, tenant: UUID, runs: Sequence[ServedRun]) -> None:
    known = {run.conversation_id: run for run in runs if run.row is not None}
    written = await _change(runtime, tenant, known) if known else set()
    for run in runs:
        if run.conversation_id not in written or known.get(run.conversation_id) is not run:
            await _write_anew(runtime, tenant, run)


async def _change(runtime: Runtime, tenant: UUID, runs: Mapping[str, ServedRun]) -> set[str]:
    """Write windows and their texts where this process wrote the newest ones; return their conversations."""
    steps: dict[str, tuple[Writing, Row, Row]] = {}
    for name, run in sorted(runs.items()):
        if run.row is not None:
            writing = Writing.of(run)
            steps[name] = writing, run.row, run.row_with(run.row, writing.pending)
    changed = {name: len(old.body) for name, (_, old, row) in steps.items() if row.first == old.first}
    rows = {name: (name, writing.run.uid, row) for name, (writing, _, row) in steps.items()}
    begun = [rows[name] for name in rows if name not in changed]
    owners = {writing.run.owner for writing, _, _ in steps.values() if writing.texts}
    changes = [rows[name] for name in changed], [*changed.values()]
    if not owners and not begun:
        done = await stored.change_alone(runtime.database, tenant, *changes)
    else:
        async with runtime.database.begin(tenant, sharing=owners) as tx:
            for writing, _, _ in steps.values():
                await _keep_texts(tx, writing)
            done = await stored.change(tx, *changes) if changed else set()
            done |= await stored.begin(tx, begun) if begun else set()
    for name in done:
        writing, _, row = steps[name]
        runtime.caches.served.wrote(writing, row)
    return done


async def _write_anew(runtime: Runtime, tenant: UUID, run: ServedRun) -> None:
    """Write a conversation's windows where its rows end, whoever wrote them, with their texts."""
    for _ in range(TRIES):
        async with runtime.database.begin(tenant, sharing=[run.owner]) as tx:
            conversation = await conversations.hold(tx, run.conversation_id)
            if conversation is None or conversation.uid != run.uid:
                break
            last = await stored.last(tx, run.conversation_id)
            writing = Writing.of(run)
            row = run.row_with(last or FIRST_ROW, writing.pending)
            is_done = await _add(tx, writing, last, row)
        if is_done:
            runtime.caches.served.wrote(writing, row)
            return
    runtime.caches.served.drop(Writing.of(run))


async def _add(tx: Tx, writing: Writing, last: Row | None, row: Row) -> bool:
    """Write a row and texts; return False where another process has just begun a row."""
    rows = [(writing.run.conversation_id, writing.run.uid, row)]
    if last is not None and row.first == last.first:
        await stored.change(tx, rows, [len(last.body)])
    elif not await stored.begin(tx, rows):
        return False
    await _keep_texts(tx, writing)
    return True


async def _keep_texts(tx: Tx, writing: Writing) -> None:
    """Keep texts, in a transaction that shares the owner."""
    run = writing.run
    past = Past(run.conversation_id, run.uid, *writing.changes)
    for digest, text in writing.texts.items():
        if text.part == "own":
            await stored.keep_own(tx, digest, text.text)
        else:
            await stored.keep(tx, past, digest, text)
