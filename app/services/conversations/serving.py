"""Record the windows that were served, without making any request wait.

A window is noted in memory, and written a moment later together with others. If a process is killed, it loses at most
the records of the last ``WRITE_SECONDS``, and never a message. A process that ends normally writes them first, and so
does a request that lists them.

If the same window is served again, its record's count increases.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from uuid import UUID

from app import errors
from app.caches import TREES_DEEP, WRITTEN_AT_ONCE, Beside, KeptWindow, Recorded, ServedRun, Writing
from app.core.model import Context
from app.core.window.served import NO_SALT, KeptText, Part, Sealed, Served, ServedFrame, changes, head_text, tail_text
from app.postgres.sight import everybody
from app.postgres.transactions import Tx
from app.recall.window_tools import guide_of
from app.runtime import Runtime
from app.services.conversations import cuts, sealing
from app.services.conversations.call import ContextRequest
from app.services.conversations.tail import Gathered
from app.store import conversations
from app.store import served as stored
from app.store.served import Row
from quire_verify.issuer import Tree

WRITE_SECONDS = 1.0
"""The delay of a record, so that quick calls in a loop share a transaction. A longer one would put more at risk."""
UNWRITTEN_MAX = 20_000
"""The most windows that wait to be written while the database is away; later ones are not recorded."""
TRIES = 3
"""Tries to begin a row: another process can begin one between the read of the last row and the write."""
MILLISECOND = 1_000_000
"""A millisecond in nanoseconds."""

_logger = logging.getLogger(__name__)


# --- Noting --------------------------------------------------------------------------------------------


def note(
    runtime: Runtime, tenant: UUID, request: ContextRequest, shown: KeptWindow, found: Context,
    gathered: Gathered | None = None,
) -> tuple[Recorded | None, Beside | None]:  # fmt: skip
    """Note a window that is being served, and return also the texts beside its messages. A window with one member's
    private memories is not noted, because everybody in a space can read its records.

    ``gathered``: the parts of the tail.
    """
    if request.call is None or any(item.is_private for item in found.window.tail):
        return None, shown.beside
    buffer, conversation = runtime.caches.served, shown.conversation
    run = buffer.run(tenant, conversation)
    asked = (found.etag, request.call, request.query, request.load, request.pages, request.budget, request.model)
    last = run.last
    if last is not None and last.asked == asked:
        last.served = last.served._replace(times=last.served.times + 1, last_at=time.time_ns() // MILLISECOND)
        run.is_again = last.number is not None
        buffer.touch(run)
        return last, shown.beside
    if buffer.unwritten >= UNWRITTEN_MAX:
        return None, shown.beside
    beside = _beside(run, request, shown, found)
    frame, at = _frame(runtime, request, shown, found, beside.digests), time.time_ns() // MILLISECOND
    key = tenant.int, conversation.uid.int, frame.budget, frame.format
    base = buffer.newest.get(key)
    prompt = shown.parts.prompt if frame.is_prompted else ()
    read = [text for name, text in beside.sealed.items() if name != "query"]
    messages = sealing.messages_of(found.window, prompt, base.messages if base else None)
    parts = sealing.parts_of(messages, read, found.hash, at)
    tree = Tree(parts, base.tree if base else None)
    served = _served(request, shown, found, beside.digests, at, tree.root)
    recorded = buffer.newest[key] = Recorded(frame, served, asked, tree, messages)
    if base is not None and base.deep < TREES_DEEP:
        recorded.base, recorded.deep = base, base.deep + 1
        recorded.gone, recorded.came = changes(base.tree.parts, parts, tree.same)
    buffer.add(run, recorded, _to_keep(run, recorded, beside, request, shown, gathered))
    return recorded, beside


def _beside(run: ServedRun, request: ContextRequest, shown: KeptWindow, found: Context) -> Beside:
    """Return the texts of a window that are in no message row. Usually an epoch's next window has the same ones."""
    conversation, window = shown.conversation, found.window
    anchored, days = conversation.anchored, shown.cut.head.days
    shows_recalled = anchored is not None and any(p.passing and not p.seq for p in window.body[window.settled :])
    system = request.system if request.system is not None else conversation.system
    guide = guide_of(conversation, shown.target.policy) if shown.offers_tools else None
    recalled = anchored.text if anchored and shows_recalled else None
    head = (window.head, days, window.pages.listed, window.squeezed is not None)
    made_of = (run.changes, head, system, found.tools, guide, window.tail, request.query, recalled, not request.tools)
    if shown.beside is not None and shown.beside.made_of == made_of:
        return shown.beside
    each: dict[Part, str | None] = {
        "head": head_text(window, days), "system": system, "tools": found.tools, "guide": guide,
        "tail": tail_text(window.tail), "query": request.query, "recalled": recalled,
    }  # fmt: skip
    texts = {name: text for name, text in each.items() if text}
    own = ("guide",) if request.tools else ("guide", "tools")
    sealed = {name: _own(text) if name in own else run.seal(name, text) for name, text in texts.items()}
    return Beside(made_of, texts, sealed, {name: text.digest for name, text in sealed.items()})


def _frame(
    runtime: Runtime, request: ContextRequest, shown: KeptWindow, found: Context, digests: Mapping[Part, str]
) -> ServedFrame:
    conversation, window, cut, target = shown.conversation, found.window, shown.cut, shown.target
    ledger = window.ledger
    return ServedFrame(
        request.call or "context", request.format, conversation.language or "en", ledger.budget,
        is_own=ledger.budget == cuts.own_budget(runtime, conversation) and request.model in (None, conversation.model),
        model=request.model or conversation.model or "", carries=request.carries, percent=ledger.token_percent,
        own_percent=conversation.learned_percent, cut=cut.number, condensed_from=cut.condensed_from,
        verbatim_from=cut.verbatim_from, pinned=cut.pinned, half_mark=cut.half_mark,
        sections=(ledger.tools, ledger.system, ledger.notes, ledger.summary, ledger.contents, ledger.condensed),
        head=digests.get("head", ""), system=digests.get("system", ""), is_prompted=request.system is None,
        guide=digests.get("guide", ""), tools=digests.get("tools", ""), alternates=target.policy.alternate_roles,
        key=runtime.signer.key if runtime.signer else "",
    )  # fmt: skip


def _served(
    request: ContextRequest, shown: KeptWindow, found: Context, digests: Mapping[Part, str], at: int, root: str
) -> Served:
    conversation, window, totals = shown.conversation, found.window, shown.conversation.totals
    head, known = shown.cut.head, shown.parts.settled
    unsent = (*known.unsent, *shown.parts.items[len(known.items) :])
    anchored = conversation.anchored if "recalled" in digests else None
    summarised = head.summary_through_seq if shown.cut.condensed_from > 1 else conversation.summary_through
    squeezed = window.squeezed
    return Served(
        at, root, frame=0, base=0, gone=(), came=0, last_seq=totals.last_seq, last_page=totals.last_page,
        recent=window.ledger.recent, history=window.ledger.full_history, summary_through=summarised,
        indexed_through=conversation.indexed_through, tail_tokens=window.ledger.tail,
        tail=digests.get("tail", ""), query=digests.get("query", ""),
        passing=tuple(p.seq for p in window.body[window.settled :] if p.passing and p.seq),
        refused=tuple(item.seq for item in unsent if item.kind == "refused"),
        forms="".join(form or "-" for form in squeezed.forms) if squeezed else "",
        squeezed_fresh=squeezed.fresh_max if squeezed else 0, squeezed_at=squeezed.cut_at if squeezed else 0,
        warnings=tuple((warning.code, warning.detail) for warning in window.warnings),
        named=(*map(str, request.load), *map(str, request.pages)), recalled=digests.get("recalled", ""),
        recalled_for=anchored.seq if anchored else 0, recalled_tokens=anchored.tokens if anchored else 0,
        rooms=window.rooms,
    )  # fmt: skip


def _to_keep(
    run: ServedRun, recorded: Recorded, beside: Beside, request: ContextRequest, shown: KeptWindow,
    gathered: Gathered | None,
) -> dict[str, KeptText]:  # fmt: skip
    """Return the texts that are not stored yet, by digest, with the messages and memories that they can quote."""
    lacks = [name for name, digest in beside.digests.items() if run.lacks(digest)]
    if not lacks:
        return {}
    frame, last_seq = recorded.frame, shown.conversation.totals.last_seq
    chosen, memories = run.chosen
    quotes: dict[Part, tuple[int, Iterable[UUID]]] = {
        "head": (max(frame.condensed_from - 1, shown.cut.head.summary_through_seq), shown.cut.sources),
        "tail": (last_seq if request.pages else 0, gathered.sources if gathered else ()),
        "recalled": (last_seq, memories if chosen == recorded.served.recalled else ()),
        "query": (last_seq, ()),
    }
    kept: dict[str, KeptText] = {}
    for name in lacks:
        sealed, (through, sources) = beside.sealed[name], quotes.get(name, (0, ()))
        kept[sealed.digest] = KeptText(sealed.part, beside.texts[name], sealed.salt, through, tuple(sources))
    return kept


@cache
def _own(text: str) -> Sealed:
    return stored.sealed("own", NO_SALT, text)


# --- Writing -------------------------------------------------------------------------------------------


async def keep_writing(runtime: Runtime) -> None:
    """Write noted windows, a moment after they were noted, until cancelled."""
    while True:
        await runtime.caches.served.came.wait()
        await asyncio.sleep(WRITE_SECONDS)
        try:
            await write(runtime)
        except errors.QuireError as error:
            _logger.warning("served windows are not recorded yet: %s", type(error).__name__)


async def write_last(runtime: Runtime) -> None:
    """Write the noted windows before the process ends. If the database is away, they are lost."""
    try:
        await write(runtime)
    except errors.QuireError as error:
        _logger.warning("served windows are not recorded: %s", type(error).__name__)


async def write(runtime: Runtime) -> None:
    """Write all windows noted so far. What fails is written the next time."""
    buffer = runtime.caches.served
    async with buffer.writing, everybody():
        longest = max((len(run.pending) for run in buffer.dirty.values()), default=0)
        for _ in range(longest // WRITTEN_AT_ONCE + 1):
            for tenant in {run.tenant for run in buffer.dirty.values()}:
                await _write(runtime, tenant, [run for run in buffer.dirty.values() if run.tenant == tenant])


async def _write(runtime: Runtime, tenant: UUID, runs: Sequence[ServedRun]) -> None:
    known = {run.conversation_id: run for run in runs if run.row is not None and not (run.pending and run.row.is_full)}
    written = await _change(runtime, tenant, known) if known else set()
    for run in runs:
        if run.conversation_id not in written or known.get(run.conversation_id) is not run:
            await _write_anew(runtime, tenant, run)


async def _change(runtime: Runtime, tenant: UUID, runs: Mapping[str, ServedRun]) -> set[str]:
    """Write windows and their texts into rows that this process wrote last. Return the conversations that it could."""
    steps: dict[str, tuple[Writing, Row]] = {}
    sizes: list[int] = []
    for name, run in sorted(runs.items()):
        if run.row is not None:
            writing = Writing.of(run)
            steps[name] = writing, _row(runtime, writing, run.row)
            sizes.append(len(run.row.body))
    rows = [(name, writing.run.uid, row) for name, (writing, row) in steps.items()]
    owners = {writing.run.owner for writing, _ in steps.values() if writing.texts}
    if not owners:
        done = await stored.change_alone(runtime.database, tenant, rows, sizes)
    else:
        async with runtime.database.begin(tenant, sharing=owners) as tx:
            for writing, _ in steps.values():
                await stored.keep(tx, writing.run.conversation_id, writing.run.uid, writing.changes, writing.texts)
            done = await stored.change(tx, rows, sizes)
    for name in done:
        writing, row = steps[name]
        runtime.caches.served.wrote(writing, row)
    return done


async def _write_anew(runtime: Runtime, tenant: UUID, run: ServedRun) -> None:
    """Write a conversation's windows and their texts after its last stored row, whichever process wrote that.

    New rows begin only here, because the first receipt of a row names the last receipt of the row before, to which
    other processes can have added.
    """
    for _ in range(TRIES):
        async with runtime.database.begin(tenant, sharing=[run.owner]) as tx:
            conversation = await conversations.hold(tx, run.conversation_id)
            if conversation is None or conversation.uid != run.uid:
                break
            last = await stored.last(tx, run.conversation_id)
            writing = Writing.of(run)
            row = _row(runtime, writing, last or Row.begin(run.uid))
            is_done = await _add(tx, writing, last, row)
        if is_done:
            runtime.caches.served.wrote(writing, row)
            return
    runtime.caches.served.drop(Writing.of(run))


def _row(runtime: Runtime, writing: Writing, row: Row) -> Row:
    """Return the last stored row, or the one after it if it is full, with the pending windows, signed."""
    run, last, numbers = writing.run, writing.run.last, dict[int, int]()
    if run.is_again and last is not None and last.number == row.next - 1:
        row = row.with_last(last.served.times, last.served.last_at)
    if writing.pending and row.is_full:
        row = row.following
    for recorded in writing.pending:
        number = numbers[id(recorded)] = row.next
        base = (recorded.base.number or numbers.get(id(recorded.base), 0)) if recorded.base else 0
        gone, came = (recorded.gone, recorded.came) if base else ((), recorded.tree.parts)
        served = recorded.served._replace(base=base, gone=gone, came=len(came))
        receipt = stored.statement(run.conversation_id, number, recorded.frame, served, row.last)
        if recorded.frame.key and runtime.signer is not None:
            receipt = runtime.signer.signed(receipt)
        row = row.added(recorded.frame, served, came, receipt)
    return row


async def _add(tx: Tx, writing: Writing, last: Row | None, row: Row) -> bool:
    """Write a row and texts. Return False if another process has just begun the row."""
    new = writing.run.conversation_id, writing.run.uid, row
    if last is not None and row.first == last.first:
        await stored.change(tx, [new], [len(last.body)])
    elif not await stored.begin(tx, new):
        return False
    await stored.keep(tx, writing.run.conversation_id, writing.run.uid, writing.changes, writing.texts)
    return True
