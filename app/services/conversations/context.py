"""Assemble the window for a model call: show the last cut; if it does not fit, cut again and remember.

    gather     the conversation, the budget's last cut, and the messages of the cut's zones: one statement
    assemble   head and body, with fresh results and warnings; if they do not fit, by another cut
    render     the response
    keep       the window for the next call, and a record that it was served

For a cached window only the messages appended since are read. Assembly and rendering are pure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from uuid import UUID

from app import errors
from app.caches import KeptWindow
from app.concurrency import LONG_COPIED, MESSAGE_CHARACTERS, run_in_thread_if_large
from app.core.conversation import Conversation
from app.core.dialects.fitting import fitted_window
from app.core.line import CallersId, Line
from app.core.model import Anchored, Context, Cut, FreshForm, Language, Window, WindowWarning
from app.core.window import fresh, notices
from app.core.window.answer import answer_of, system_of
from app.core.window.assemble import TAIL_OVERHEAD, assemble, free_for_tail, lay_out, settled, with_tail
from app.core.window.budget import reserves
from app.core.window.kept import Then
from app.core.window.profile import Profile, budget_of, of_cut, of_squeezed
from app.core.window.render import Printed
from app.core.window.squeezing import Cutter
from app.postgres.transactions import ReadTx
from app.recall.tools import of_windows
from app.recall.window_tools import guide_of, taken_names, window_tools
from app.runtime import Runtime
from app.services.conversations import anchoring, cuts, replaying, serving, tail
from app.services.conversations.call import ContextRequest, WindowCall
from app.store import archives, conversations, served, windows
from app.store.windows import Wanted, WindowParts

SQUEEZES = 3
"""Tries to squeeze a window: each uses the percent that the texts of the last one turned out to have."""
CUT_TRIES = 4
"""Cuts that a call tries: while others append, a new cut can be outdated as soon as it is made."""


async def context(runtime: Runtime, tenant: UUID, conversation_id: str, request: ContextRequest) -> Context:
    """Return the assembled window. Raises NotFound, or BudgetTooSmall with the smallest budget that works.

    Texts that the request loads or its query finds are added to the plain window. If they do not fit, the body gives
    way in fixed steps.
    """
    call = WindowCall(runtime, tenant, conversation_id, request)
    shown = await _window(call)
    if anchoring.is_due(shown, request) and (said := await anchoring.asked(call, shown)):
        shown = await _with_chosen(replace(call, conversation_id=shown.conversation.id), shown, said)
    gathered: tail.Gathered | None = None
    if request.asks_for_tail:
        shown, gathered = await _with_tail(call, shown)
    return _keep(call, shown, *await _render(call, shown), gathered)


async def look(runtime: Runtime, tenant: UUID, conversation_id: str, request: ContextRequest) -> KeptWindow:
    """Return the window without a tail, as it would be served now. Raises as ``context`` does."""
    return await _window(WindowCall(runtime, tenant, conversation_id, request))


async def _window(call: WindowCall) -> KeptWindow:
    """Return the window without a tail."""
    kept = call.runtime.caches.windows.get(call.key)
    parts = await _continued(call, kept) if kept is not None else None
    if parts is None:
        parts, kept = await _read(call, _wanted(call, call.request.budget)), None
    if (branch := await _admit(call, parts.conversation)) is not None:
        return await _window(replace(call, conversation_id=branch))
    is_unchanged = kept is not None and parts.conversation == kept.conversation
    return kept if kept is not None and is_unchanged else await _shown(call, parts, kept)


async def _shown(call: WindowCall, parts: WindowParts, kept: KeptWindow | None) -> KeptWindow:
    """Return the window with the recall tools, or without them if the budget is too small. ``kept``: the last one."""
    try:
        shown = await _fitting(call, parts, kept, may_offer=True)
    except errors.BudgetTooSmall:
        shown = await _fitting(call, parts, None, may_offer=False)
    if call.request.asks_for_tail:  # a plain window is kept later, with its response
        call.runtime.caches.keep_window(shown)
    return shown


_SET = attrgetter(
    "policy", "budget", "model", "system", "system_tokens", "prompt_tokens", "learned_percent", "language",
    "has_earlier",
)  # fmt: skip
"""The fields of a conversation on which its windows' profile depends, besides the request."""


async def _fitting(call: WindowCall, parts: WindowParts, kept: KeptWindow | None, *, may_offer: bool) -> KeptWindow:
    """Return the window by the last cut; if it does not fit, by a new one."""
    is_same_profile = kept is not None and kept.offers_tools and _SET(kept.conversation) == _SET(parts.conversation)
    if kept is not None and is_same_profile:
        target = kept.target
    else:
        target = await cuts.profile_of_call(call, parts, may_offer=may_offer)
    if parts.budget != target.budget:  # the budget of the conversation's model is only known after the read
        parts = await _read(call, _wanted(call, target.budget))
    shown: KeptWindow | None = None
    for _ in range(CUT_TRIES):
        shown = None
        if parts.cut is not None and parts.is_read:
            shown = await _by_cut(call, parts, parts.cut, target, kept)
        if shown is not None and shown.is_in_force:
            break
        target = target.of_none
        if call.request.call is None:  # a mere look stores no cut
            async with call.runtime.database.snapshot(call.tenant) as tx:
                now = await conversations.get(tx, parts.conversation.id, bound_to=call.request.bound_to)
                shown = await _cut_now(tx, call, now, target, forms=shown.window.forms if shown else ())
            break
        wanted = _wanted(call, target.budget)
        after = await cuts.store(call.runtime, call.tenant, parts, target, wanted, shown.window if shown else None)
        if after is None and shown is not None:
            break
        parts = after or parts
    if shown is None:
        raise errors.StorageUnavailable("The conversation grows faster than its window can be cut. Try again.")
    return await _finished(call, shown)


async def _with_chosen(call: WindowCall, shown: KeptWindow, said: str) -> KeptWindow:
    """Return the window with the recall for a message. If another call was faster, the window is read again."""
    if (anchored := await anchoring.choose(call, shown, said)) is None:
        return await _window(call)
    parts = shown.parts.continued(replace(shown.conversation, anchored=anchored), ())
    return await _shown(call, parts, shown) if anchored.text else shown._replace(parts=parts)  # no text, same window


async def _with_tail(call: WindowCall, shown: KeptWindow) -> tuple[KeptWindow, tail.Gathered]:
    """Return the window with its tail, for which the body gives way, and the parts of the tail."""
    steps = reserves(shown.target.shares.available, shown.target.policy)
    free = free_for_tail(shown.window)
    room = max(free, steps[-1] - TAIL_OVERHEAD)
    gathered = await tail.gather(call, shown, room, tail.counter_of(call, shown))
    needed = tail.weight(gathered.items, room)
    if needed > free and any(step - TAIL_OVERHEAD > free for step in steps):
        step = next((i for i, step in enumerate(steps) if step - TAIL_OVERHEAD >= needed), len(steps) - 1)
        line = shown.conversation.id
        shown = await _window(replace(call, conversation_id=line, step=step, reserve=steps[step]))
        free = free_for_tail(shown.window)
        gathered = await tail.laid_out(gathered, shown.window, free, tail.counter_of(call, shown))
    window = with_tail(shown.window, gathered.items)
    window = replace(window, warnings=(*window.warnings, *gathered.warnings))
    return shown._replace(window=window, context=None), gathered


# --- Gather ---------------------------------------------------------------------------------------------


def _wanted(call: WindowCall, budget: int | None) -> Wanted:
    runtime, request = call.runtime, call.request
    usual = budget_of(runtime.defaults, None, None, request.model)
    if budget is None and request.model is not None:  # the request's model takes precedence over the conversation's
        budget = usual
    return Wanted(budget, usual, call.step, call.anthropic)


async def _continued(call: WindowCall, kept: KeptWindow) -> WindowParts | None:
    """Return a cached window's parts with the messages appended since; None if there is a newer cut."""
    last, cut = kept.conversation.totals.last_seq, kept.cut
    place = (call.tenant, call.conversation_id)
    appended = await windows.newer(call.runtime.database, *place, last, cut, anthropic=call.anthropic)
    if appended is None:
        call.runtime.caches.windows.pop(call.key, None)
        raise errors.missing("conversation")
    conversation, number, newer = appended
    is_past = (conversation.uid, conversation.totals.generation) != (kept.conversation.uid, cut.generation)
    return None if is_past or number != cut.number else kept.parts.continued(conversation, newer)


async def _read(call: WindowCall, wanted: Wanted) -> WindowParts:
    database, tenant, lines = call.runtime.database, call.tenant, call.runtime.caches.lines
    place = lines.get((tenant, call.conversation_id), call.conversation_id)
    parts = await windows.load(database, tenant, place, wanted)
    if parts is None:
        raise errors.missing("conversation")
    if (line := parts.conversation.line).is_in_tree:
        lines[tenant, call.conversation_id] = line
    return parts


async def _admit(call: WindowCall, known: Conversation) -> Line | None:
    """Return the branch that the caller's id shows or names, if it is another conversation.

    Raises NotFound if the caller cannot see the conversation, or if it has no such branch.
    """
    name, bound_to = call.conversation_id, call.request.bound_to
    is_shown = not isinstance(name, CallersId) or (name.branch or known.shown) in (None, known.id)
    if is_shown and (known.space_id is None or bound_to is None):
        if conversations.seen(known, bound_to) is None:
            raise errors.missing("conversation")
        return None
    async with call.runtime.database.snapshot(call.tenant) as tx:
        if not is_shown:
            shown = await conversations.get(tx, name, bound_to=bound_to)
            return shown.line if shown.id != known.id else None
        if await conversations.admitted(tx, known, bound_to) is None:
            raise errors.missing("conversation")
    return None


# --- Assemble -------------------------------------------------------------------------------------------


async def _by_cut(
    call: WindowCall, parts: WindowParts, cut: Cut, target: Profile, kept: KeptWindow | None = None
) -> KeptWindow:
    """Return the window by a cut, whether it fits or not, without fresh results."""
    anchored = anchoring.in_view(parts.conversation, call.request, target.policy)
    size = (len(parts.items) - len(parts.settled.items)) * MESSAGE_CHARACTERS
    return await run_in_thread_if_large(size, _assembled, call.key, cut, parts, target, anchored, kept)


def _assembled(
    key: tuple[object, ...], cut: Cut, parts: WindowParts, target: Profile, anchored: Anchored | None,
    kept: KeptWindow | None,
) -> KeptWindow:  # fmt: skip
    totals = parts.conversation.totals
    known, body = parts.settled, parts.body
    if len(body.items) != len(parts.items) or body.fresh:  # otherwise at most a recall is new
        known = settled(known, body, parts.items, cut, totals.last_page, anchored)
        body = lay_out(known, parts.items, cut, totals.last_page, anchored)
    target = of_cut(target, cut, body.mix, anchored)
    window = assemble(cut, body, target, totals, anchored=anchored)
    printed, beside = (kept.printed, kept.beside) if kept is not None else ((), None)
    return KeptWindow(key, parts.laid_out(known, body), target, cut, window, printed, None, beside)


async def _finished(call: WindowCall, shown: KeptWindow) -> KeptWindow:
    """Return the window with fresh results and warnings, squeezed if necessary."""
    runtime, request, conversation, cut = call.runtime, call.request, shown.conversation, shown.cut
    window, target = await _in_budget(call, shown)
    window = await _with_fresh(call, conversation, window)
    policy, threshold = target.policy, runtime.defaults.summary_threshold
    warnings = (
        *notices.of_tools(taken_names(request.tools, of_windows(policy)), offered=target.offers_tools),
        *notices.of_model(request.model or conversation.model, runtime.defaults.models, target.charge.learned),
        *(notices.of_lag(conversation, cut, policy, threshold) if runtime.chat is not None else ()),
        *notices.of_head(cut.head),
    )
    if warnings:
        window = replace(window, warnings=(*window.warnings, *warnings))
    return shown._replace(target=target, window=window)


async def _in_budget(call: WindowCall, shown: KeptWindow) -> tuple[Window, Profile]:
    conversation, items, target = shown.conversation, shown.parts.items, shown.target
    if not shown.window.is_over:
        return shown.window, target
    anchored = anchoring.in_view(conversation, call.request, target.policy)
    cutter = Cutter(conversation.language or "en", target.policy.condensed_tool_max, call.runtime.tokens.count)
    again = partial(assemble, shown.cut, shown.parts.body, totals=conversation.totals, anchored=anchored, cutter=cutter)
    size = sum(len(item.text) for item in items)
    return await run_in_thread_if_large(size, _squeezed, again, target)


def _squeezed(again: Callable[..., Window], target: Profile) -> tuple[Window, Profile]:
    """Squeeze a window until it fits at the percent of the texts that it shows. Return it and its profile."""
    window = again(target=target)
    actual = of_squeezed(target, window)
    for _ in range(SQUEEZES):
        if actual.token_percent <= target.token_percent:
            break
        window, target = again(target=actual), actual
        actual = of_squeezed(target, window)
    return replace(window, ledger=replace(window.ledger, token_percent=actual.token_percent)), actual


async def _with_fresh(call: WindowCall, conversation: Conversation, window: Window) -> Window:
    uuids = fresh.wanted(window)
    if not uuids:
        return window
    async with call.runtime.database.snapshot(call.tenant) as tx:
        if not await conversations.is_still(tx, conversation):
            raise errors.missing("conversation")
        results = await archives.fresh(tx, conversation.id, uuids, fresh.tokens_max(window))
    size = sum(len(result.text or "") for result in results)
    return await run_in_thread_if_large(size, fresh.with_fresh, window, results)


# --- Render ---------------------------------------------------------------------------------------------


async def _render(call: WindowCall, shown: KeptWindow) -> tuple[Context, Sequence[Printed]]:
    """Return the response, and its rendered messages for the next one to reuse."""
    conversation, window, request, known = shown.conversation, shown.window, call.request, shown.printed
    if shown.context is not None:
        return shown.context, known
    language: Language = conversation.language or "en"
    system = request.system if request.system is not None else system_of(conversation.system, shown.parts.prompt)
    guide = guide_of(conversation, shown.target.policy) if shown.offers_tools else ""
    text = "\n\n".join(part for part in (system, guide) if part)
    new = window.body[max((len(earlier.placed) for earlier in known), default=0) :]
    size = len(text) + sum(len(placed.text) for placed in new) + sum(len(item.text) for item in window.tail)
    offered = of_windows(shown.target.policy) if shown.offers_tools else ()
    tools = window_tools(request.tools, request.format, offered)
    made_of = conversation, shown.cut, window, text, tools, request.format, language, known
    answer, printed = await run_in_thread_if_large(size, answer_of, *made_of, most=LONG_COPIED)
    if not request.carries:
        models, model = call.runtime.defaults.models, request.model or conversation.model or ""
        alternate = shown.target.policy.alternate_roles
        answer = fitted_window(answer, models, model, request.format, alternate=alternate)
    return answer, printed


# --- Keep -----------------------------------------------------------------------------------------------


def _keep(
    call: WindowCall, shown: KeptWindow, answer: Context, printed: Sequence[Printed], gathered: tail.Gathered | None
) -> Context:
    """Record a served window, count it, and cache a plain one. Return the response with its receipt's root."""
    runtime, ledger = call.runtime, answer.window.ledger
    recorded, beside = serving.note(runtime, call.tenant, call.request, shown, answer, gathered)
    if not call.request.asks_for_tail:
        runtime.caches.keep_window(shown._replace(printed=printed, context=answer, beside=beside))
    runtime.metrics.window(ledger.total, ledger.saved_tokens)
    return answer._replace(receipt=recorded.served.root) if recorded and runtime.signer else answer


# --- The past -------------------------------------------------------------------------------------------


async def as_of(
    runtime: Runtime, tenant: UUID, conversation_id: str, request: ContextRequest, past: int | Then
) -> Context:
    """Return the window that was served when a given message was the last. If none was, cut one there now, with the
    present settings. With a ``Then``, return the present window with the pinned memories of another time.

    Raises NotFound, Invalid if there is no such message, or BudgetTooSmall.
    """
    call = WindowCall(runtime, tenant, conversation_id, request)
    await serving.write(runtime)
    async with runtime.database.snapshot(tenant) as tx:
        now = await conversations.get(tx, conversation_id, bound_to=request.bound_to)
        last = now.totals.last_seq
        then = now if isinstance(past, Then) else await windows.as_of(tx, now, past) if past <= last else None
        if then is None:
            exist = f"1 to {last}" if last else "the conversation has none"
            raise errors.Invalid.at(["query", "as_of"], f"must be the seq of a message: {exist}")
        target = await cuts.profile_of_call(call, WindowParts(then, None), may_offer=True)
        own = now.line.own
        number = await served.number_at(tx, own, past, target.budget, request.format) if isinstance(past, int) else None
        if number is not None:
            kept = await replaying.replayed(runtime, tx, now, number, sensitive=request.sensitive)
            if kept.is_verified:
                return kept.context
        time = None if isinstance(past, int) else past
        try:
            shown = await _cut_now(tx, call, then, target, then=time)
        except errors.BudgetTooSmall:
            target = await cuts.profile_of_call(call, WindowParts(then, None), may_offer=False)
            shown = await _cut_now(tx, call, then, target, then=time)
    window, target = await _in_budget(call, shown)
    window = await _with_fresh(call, now, window)
    window = replace(window, warnings=(*window.warnings, NOT_SERVED))
    answer, _ = await _render(call, shown._replace(target=target, window=window))
    return answer


NOT_SERVED = WindowWarning("not_served", "no such window was served; this one was cut now")


async def _cut_now(
    tx: ReadTx, call: WindowCall, conversation: Conversation, target: Profile, *, forms: Sequence[FreshForm] = (),
    then: Then | None = None,
) -> KeptWindow:  # fmt: skip
    """Return the window of a conversation by a new cut that is not stored."""
    made = await cuts.make(call.runtime, tx, WindowParts(conversation, None), target, call.step, then, forms)
    last = (conversation.totals.last_seq, conversation.totals.last_page)
    items = await served.items(tx, conversation, made, last, anthropic=call.anthropic)
    prompt = tuple(item for item in items if item.kind == "prompt")
    body = tuple(item for item in items if item.kind != "prompt")
    return await _by_cut(call, WindowParts(conversation, made, prompt, body, budget=made.budget), made, target)
