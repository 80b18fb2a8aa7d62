"""Assemble the window for a model call, in five steps:

    gather     the conversation, and its messages by the zones of the epoch that this process knows
    layout     the profile of the call, and the epoch in force for it, with the messages by its zones
    assemble   head and body, with results that are fresh, and warnings
    render     the response
    keep       the window for the next call, and a record that it was served

One statement reads everything, by the zones of the epoch in force: the stored one for the conversation's own budget,
the one cached from the last call for another budget. Only if that epoch has ended, or this process does not know it
yet, is the layout computed first; the window is then read by it. A cached window of a current epoch needs only what was
appended since. Assembly and rendering are pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from uuid import UUID

from app import errors
from app.caches import FoundEpoch, KeptWindow
from app.concurrency import LONG_COPIED, run_in_thread_if_large
from app.core.conversation import Conversation
from app.core.dialects.fitting import fitted_window
from app.core.line import CallersId, Line
from app.core.model import Context, Epoch, Language, Window
from app.core.window import fresh, notices
from app.core.window.answer import answer_of, system_of
from app.core.window.assemble import TAIL_OVERHEAD, assemble, free_for_tail, with_tail
from app.core.window.budget import reserves
from app.core.window.fresh import FreshResult
from app.core.window.kept import Then
from app.core.window.profile import Profile
from app.core.window.squeezing import Cutter
from app.postgres.transactions import ReadTx
from app.recall.tools import of_windows
from app.recall.window_tools import guide_of, taken_names, window_tools
from app.runtime import Runtime
from app.services.conversations import anchoring, epochs, serving, tail
from app.services.conversations.call import ContextRequest, WindowCall
from app.store import archives, conversations, served, windows
from app.store.windows import WindowParts


async def context(runtime: Runtime, tenant: UUID, conversation_id: str, request: ContextRequest) -> Context:
    """Return the assembled window. Raises NotFound, or BudgetTooSmall with the smallest budget that works.

    What the request loads, or its query finds, stands beside the plain window; where it does not fit, the body gives
    way in fixed steps.
    """
    call = WindowCall(runtime, tenant, conversation_id, request)
    shown = await _window(call)
    if anchoring.is_due(shown, request) and await anchoring.may_answer(call, shown):
        shown = await _with_chosen(replace(call, conversation_id=shown.conversation.id), shown)
    gathered: tail.Gathered | None = None
    if request.asks_for_tail:
        shown, gathered = await _with_tail(call, shown)
    answer = shown.context or await _render(call, shown)
    _keep(call, shown, answer, gathered)
    return answer


async def _window(call: WindowCall) -> KeptWindow:
    """Return the window without a tail: with the recall tools, or where that is too much, without them."""
    gathered = await _gather(call)
    if (branch := await _admit(call, gathered.parts.conversation)) is not None:
        return await _window(replace(call, conversation_id=branch))
    return gathered.unchanged or await _laid_out(call, gathered)


async def _laid_out(call: WindowCall, gathered: _Gathered) -> KeptWindow:
    try:
        shown = await _assemble(call, await _layout(call, gathered, may_offer=True))
    except errors.BudgetTooSmall:
        shown = await _assemble(call, await _layout(call, gathered, may_offer=False))
    call.runtime.caches.keep_window(shown)
    return shown


async def _with_chosen(call: WindowCall, shown: KeptWindow) -> KeptWindow:
    """Return the window with what is recalled for its newest message. It is read again if another call was faster."""
    if (anchored := await anchoring.choose(call, shown)) is None:
        return await _window(call)
    parts = shown.parts.continued(replace(shown.conversation, anchored=anchored), ())
    return await _laid_out(call, _Gathered(parts, FoundEpoch(parts.conversation.uid, shown.target.key, shown.epoch)))


async def _with_tail(call: WindowCall, shown: KeptWindow) -> tuple[KeptWindow, tail.Gathered]:
    """Return the window with its tail, beside which the body gives way; and what the tail was made of."""
    steps = reserves(shown.target.shares.available, shown.target.policy)
    free = free_for_tail(shown.window)
    room = max(free, steps[-1] - TAIL_OVERHEAD)
    gathered = await tail.gather(call, shown, room)
    needed = tail.weight(gathered.items, room)
    if needed > free and any(step - TAIL_OVERHEAD > free for step in steps):
        step = next((i for i, step in enumerate(steps) if step - TAIL_OVERHEAD >= needed), len(steps) - 1)
        line = shown.conversation.id
        shown = await _window(replace(call, conversation_id=line, step=step, reserve=steps[step]))
        gathered = await tail.laid_out(call, gathered, shown.window, free_for_tail(shown.window))
    window = with_tail(shown.window, gathered.items)
    window = replace(window, warnings=(*window.warnings, *gathered.warnings))
    return replace(shown, window=window, context=None), gathered


# --- Gather ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Gathered:
    """The conversation as it is now, and the messages that a window may show."""

    parts: WindowParts
    """Without a body where the epoch is not known."""
    known: FoundEpoch | None
    """The epoch whose zones they were read by; None: the stored one, or none."""
    unchanged: KeptWindow | None = None
    """The cached window, if nothing was appended or learned since."""


async def _gather(call: WindowCall) -> _Gathered:
    caches = call.runtime.caches
    kept = caches.windows.get(call.key)
    if kept is not None and (parts := await _continued(call, kept)) is not None:
        if parts.conversation == kept.conversation:
            return _Gathered(parts, None, kept)
        return _Gathered(parts, FoundEpoch(parts.conversation.uid, kept.target.key, kept.epoch))
    found = caches.epochs.get(call.key)
    return _Gathered(await _read(call, found), found)


async def _continued(call: WindowCall, kept: KeptWindow) -> WindowParts | None:
    last, layout = kept.conversation.totals.last_seq, kept.epoch.layout
    database, place = call.runtime.database, (call.tenant, call.conversation_id)
    appended = await windows.newer(database, *place, last, layout, anthropic=call.anthropic)
    if appended is None:
        call.runtime.caches.windows.pop(call.key, None)
        raise conversations.unknown()
    conversation, newer = appended
    if conversation.uid != kept.conversation.uid or not layout.holds(conversation.totals):
        return None
    return kept.parts.continued(conversation, newer)


async def _read(call: WindowCall, known: FoundEpoch | None) -> WindowParts:
    database, tenant, lines = call.runtime.database, call.tenant, call.runtime.caches.lines
    place = lines.get((tenant, call.conversation_id), call.conversation_id)
    if known is None and call.request.budget is not None:
        parts = await windows.without_body(database, tenant, place)
    else:
        layout_of = (known.uid, known.epoch.layout) if known else None
        parts = await windows.load(database, tenant, place, layout_of, anthropic=call.anthropic)
    if parts is None:
        raise conversations.unknown()
    if (line := parts.conversation.line).is_in_tree:
        lines[tenant, call.conversation_id] = line
    return parts


async def _admit(call: WindowCall, known: Conversation) -> Line | None:
    """Return the branch that the caller's name shows or asks for, if it is another conversation.

    Raises NotFound if the caller may not see the conversation, or for a branch that it does not have.
    """
    name, bound_to = call.conversation_id, call.request.bound_to
    is_shown = not isinstance(name, CallersId) or (name.branch or known.shown) in (None, known.id)
    if is_shown and (known.space_id is None or bound_to is None):
        if conversations.seen(known, bound_to) is None:
            raise conversations.unknown()
        return None
    async with call.runtime.database.snapshot(call.tenant) as tx:
        if not is_shown:
            shown = await conversations.get(tx, name, bound_to=bound_to)
            return shown.line if shown.id != known.id else None
        if await conversations.admitted(tx, known, bound_to) is None:
            raise conversations.unknown()
    return None


# --- Layout ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _LaidOut:
    """Everything that a window is assembled from."""

    target: Profile
    epoch: Epoch
    parts: WindowParts
    """As read by the epoch's zones."""


async def _layout(call: WindowCall, gathered: _Gathered, *, may_offer: bool) -> _LaidOut:
    target = await epochs.profile_of_call(call, gathered.parts.conversation, may_offer=may_offer)
    found, parts = gathered.known, gathered.parts
    if found is None or not found.is_in_force(parts, target):
        found, parts = await _epoch(call, gathered, target)
    return _LaidOut(target, found.epoch, parts)


async def _epoch(call: WindowCall, gathered: _Gathered, target: Profile) -> tuple[FoundEpoch, WindowParts]:
    """Return the epoch in force: stored, or as nothing has to be read for it, or else derived."""
    parts, caches = gathered.parts, call.runtime.caches
    if (known := epochs.known(call.runtime, parts, target)) is not None:
        found = FoundEpoch(parts.conversation.uid, target.key, known)
        if gathered.known is not None or call.request.budget is not None:
            parts = await _read(call, found)
        if found.is_in_force(parts, target):
            caches.epochs[call.key] = found
            return found, parts
    found, parts = await call.runtime.database.read(call.tenant, _derived, call, parts.conversation.id, target)
    caches.epochs[call.key] = found
    return found, parts


async def _derived(
    tx: ReadTx, call: WindowCall, conversation_id: str, target: Profile
) -> tuple[FoundEpoch, WindowParts]:
    conversation = await conversations.get(tx, conversation_id, bound_to=call.request.bound_to)
    epoch = await epochs.derive(call.runtime, tx, conversation, target)
    layout_of = (conversation.uid, epoch.layout)
    parts = await windows.load(tx, tx.tenant, conversation.id, layout_of, anthropic=call.anthropic)
    if parts is None:
        raise conversations.unknown()
    return FoundEpoch(conversation.uid, target.key, epoch), parts


# --- Assemble -------------------------------------------------------------------------------------------


async def _assemble(call: WindowCall, laid: _LaidOut) -> KeptWindow:
    runtime, request, conversation, epoch = call.runtime, call.request, laid.parts.conversation, laid.epoch
    window = await _with_fresh(call, conversation, await _head_and_body(call, laid))
    policy, threshold = laid.target.policy, runtime.defaults.summary_threshold
    warnings = (
        *window.warnings,
        *notices.of_tools(taken_names(request.tools, of_windows(policy)), offered=laid.target.offers_tools),
        *notices.of_model(request.model or conversation.model, runtime.defaults.models),
        *(notices.of_lag(conversation, epoch, policy, threshold) if runtime.chat is not None else ()),
        *notices.of_head(epoch.head),
    )
    window = replace(window, number=window.number + call.step, warnings=warnings)
    parts = replace(laid.parts, conversation=replace(conversation, own=None), own_epoch=None)
    return KeptWindow(call.key, parts, laid.target, epoch, window)


async def _head_and_body(call: WindowCall, laid: _LaidOut) -> Window:
    conversation, items = laid.parts.conversation, laid.parts.items
    anchored = anchoring.in_view(conversation, call.request, laid.target.policy)
    window = assemble(laid.epoch, items, laid.target, conversation.totals, anchored=anchored)
    if window.squeezed is None:
        return window
    condensed = laid.target.policy.condensed_tool_max
    cutter = Cutter(conversation.language or "en", condensed, call.runtime.tokens.count)
    again = partial(assemble, anchored=anchored, cutter=cutter)
    size = sum(len(item.text) for item in items)
    return await run_in_thread_if_large(size, again, laid.epoch, items, laid.target, conversation.totals)


async def _with_fresh(call: WindowCall, conversation: Conversation, window: Window) -> Window:
    uuids = fresh.wanted(window)
    if not uuids:
        return window
    results = await call.runtime.database.read(call.tenant, _fresh, conversation, uuids, fresh.tokens_max(window))
    size = sum(len(result.text or "") for result in results)
    return await run_in_thread_if_large(size, fresh.with_fresh, window, results)


async def _fresh(tx: ReadTx, conversation: Conversation, uuids: Sequence[UUID], tokens_max: int) -> list[FreshResult]:
    if not await conversations.is_still(tx, conversation):
        raise conversations.unknown()
    return await archives.fresh(tx, conversation.id, uuids, tokens_max)


# --- Render ---------------------------------------------------------------------------------------------


async def _render(call: WindowCall, shown: KeptWindow) -> Context:
    conversation, window, request = shown.conversation, shown.window, call.request
    language: Language = conversation.language or "en"
    system = request.system if request.system is not None else system_of(conversation.system, shown.parts.prompt)
    guide = guide_of(conversation, shown.target.policy) if shown.offers_tools else ""
    text = "\n\n".join(part for part in (system, guide) if part)
    size = len(text) + sum(len(placed.text) for placed in window.body) + sum(len(item.text) for item in window.tail)
    offered = of_windows(shown.target.policy) if shown.offers_tools else ()
    tools = window_tools(request.tools, request.format, offered)
    rendered = await run_in_thread_if_large(
        size, answer_of, conversation, shown.epoch, window, text, tools, request.format, language, most=LONG_COPIED
    )
    if request.carries:
        return rendered
    models, model = call.runtime.defaults.models, request.model or conversation.model or ""
    alternate = shown.target.policy.alternate_roles
    return fitted_window(rendered, models, model, request.format, alternate=alternate)


# --- Keep -----------------------------------------------------------------------------------------------


def _keep(call: WindowCall, shown: KeptWindow, answer: Context, gathered: tail.Gathered | None) -> None:
    """Keep a plain window with its response; count it, and note it as served."""
    runtime, ledger = call.runtime, answer.window.ledger
    if not call.request.asks_for_tail:
        runtime.caches.keep_window(replace(shown, context=answer))
    runtime.metrics.window(ledger.total, ledger.full_history)
    serving.note(runtime, call.tenant, call.request, shown, answer, gathered)


# --- The past -------------------------------------------------------------------------------------------


async def as_of(
    runtime: Runtime, tenant: UUID, conversation_id: str, request: ContextRequest, past: int | Then
) -> Context:
    """Return the window that a conversation had when a message was its last, by the settings of today; or its window
    with what it would keep in mind as of another time.

    Raises NotFound, Invalid if there is no such message, or BudgetTooSmall.
    """
    call = WindowCall(runtime, tenant, conversation_id, request)
    async with runtime.database.snapshot(tenant) as tx:
        now = await conversations.get(tx, conversation_id, bound_to=request.bound_to)
        seq = past if isinstance(past, int) else now.totals.last_seq
        then = await windows.as_of(tx, now, seq) if seq <= now.totals.last_seq else None
        if then is None:
            raise errors.Invalid.at(["query", "as_of"], f"must be the seq of a message: 1 to {now.totals.last_seq}")
        try:
            shown = await _window_then(tx, call, then, past, may_offer=True)
        except errors.BudgetTooSmall:
            shown = await _window_then(tx, call, then, past, may_offer=False)
    window = await _with_fresh(call, now, shown.window)
    return await _render(call, replace(shown, window=window))


async def _window_then(
    tx: ReadTx, call: WindowCall, then: Conversation, past: int | Then, *, may_offer: bool
) -> KeptWindow:
    target = await epochs.profile_of_call(call, then, may_offer=may_offer)
    epoch = await epochs.derive(call.runtime, tx, then, target, None if isinstance(past, int) else past)
    last = (then.totals.last_seq, then.totals.last_page)
    items = await served.items(tx, then, epoch.layout, last, anthropic=call.anthropic)
    prompt = tuple(item for item in items if item.kind == "prompt")
    body = tuple(item for item in items if item.kind != "prompt")
    laid = _LaidOut(target, epoch, WindowParts(then, None, prompt, body))
    return KeptWindow((), laid.parts, target, epoch, await _head_and_body(call, laid))
