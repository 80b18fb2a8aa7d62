"""Assemble the window for a model call.

One statement reads everything, by the zones of the epoch in force: the stored one for the conversation's own budget,
the one cached from the last call for another budget. Only if that epoch has ended, or this process does not know it
yet, is the layout computed first; the window is then read by it. A cached window of a current epoch needs only what was
appended since. Assembly and rendering are pure.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import takewhile
from typing import Any
from uuid import UUID

from app import errors
from app.caches import FoundEpoch, KeptWindow
from app.concurrency import LONG_COPIED, run_in_thread_if_large
from app.core.canonical import dumps, spaced
from app.core.conversation import Conversation
from app.core.dialects.fitting import chat_messages as chat_fitted
from app.core.groups import chat_messages, shrunk
from app.core.line import CallersId, Line
from app.core.messages import CARRIED, FRAME_TOKENS
from app.core.model import Context, Epoch, Fixed, Format, Item, Language, Window, WindowWarning
from app.core.models import GENERAL, ModelTable
from app.core.parts import as_chat
from app.core.window import fresh, paging
from app.core.window.assemble import TAIL_OVERHEAD, assemble, free_for_tail, with_tail
from app.core.window.budget import reserves
from app.core.window.profile import Profile, budget_of, offers_tools, policy_of, profile
from app.core.window.render import Rendered, render, tools_text
from app.core.window.served_quotes import QuotedPlace
from app.core.window.summarising import lag
from app.postgres.database import Database
from app.postgres.transactions import ReadTx
from app.recall.tools import window_schemas
from app.runtime import Runtime
from app.services.conversations import anchoring, epochs, serving, tail
from app.services.conversations.tail import ContextRequest
from app.store import archives, conversations, served, windows
from app.store.windows import WindowParts

LAG_PAGES_MAX = 2
LAG_MESSAGES_MAX = 10
"""How far the model's texts can lag behind before a window warns of it."""


@dataclass(frozen=True, slots=True)
class _GivenWay:
    """The step in which the body gives way to a tail, of ``budget.reserves``, and the tokens that it leaves free."""

    step: int = 0
    tokens: int = 0


async def context(runtime: Runtime, tenant: UUID, conversation_id: str, request: ContextRequest) -> Context:
    """Return the assembled window. Raises NotFound, or BudgetTooSmall with the smallest budget that works.

    What the request loads, or its query finds, stands beside the plain window; where it does not fit, the body gives
    way in fixed steps.
    """
    try:
        return await _context(runtime, tenant, conversation_id, request)
    except _ShownElsewhere as elsewhere:
        return await _context(runtime, tenant, elsewhere.line, request)


class _ShownElsewhere(Exception):  # noqa: N818 - it is no error
    """The id of a conversation shows a branch."""

    def __init__(self, line: Line) -> None:
        self.line = line


async def _follow(runtime: Runtime, tenant: UUID, named: str, known: Conversation, bound_to: str | None) -> None:
    """Raise _ShownElsewhere where a caller's name shows a branch, or asks for one; NotFound for none of its own."""
    if not isinstance(named, CallersId) or (named.branch or known.shown) in (None, known.id):
        return
    async with runtime.database.snapshot(tenant) as tx:
        shown = await conversations.get(tx, named, bound_to=bound_to)
    if shown.id != known.id:
        raise _ShownElsewhere(shown.line)


async def _context(runtime: Runtime, tenant: UUID, conversation_id: str, request: ContextRequest) -> Context:
    plain = request.without_tail()
    shown = await _shown(runtime, tenant, conversation_id, plain)
    if anchoring.is_due(shown, request):
        await anchoring.choose(runtime, tenant, shown, plain)
        shown = await _shown(runtime, tenant, conversation_id, plain)
    if not request.asks_for_tail:
        found = shown.context or await _rendered(runtime, shown, plain)
        runtime.caches.keep_window(replace(shown, context=found))
        return _served(runtime, tenant, request, shown, found)
    conversation, policy = shown.conversation, shown.target.policy
    steps = reserves(shown.target.shares.available, policy)
    free = free_for_tail(shown.window)
    room = max(free, steps[-1] - TAIL_OVERHEAD)
    gathered = await tail.gather(runtime, tenant, conversation, request, policy, shown.window, room)
    needed = tail.weight(gathered.items, room)
    if needed > free and any(step - TAIL_OVERHEAD > free for step in steps):
        step = next((i for i, step in enumerate(steps) if step - TAIL_OVERHEAD >= needed), len(steps) - 1)
        shown = await _shown(runtime, tenant, conversation_id, plain, _GivenWay(step, steps[step]))
        gathered = await tail.laid_out(runtime, tenant, gathered, shown.window, free_for_tail(shown.window))
    window = with_tail(shown.window, gathered.items)
    window = replace(window, warnings=(*window.warnings, *gathered.warnings))
    found = await _rendered(runtime, replace(shown, window=window), plain)
    return _served(runtime, tenant, request, shown, found, {*gathered.sources, *request.load}, gathered.quoted)


async def as_of(runtime: Runtime, tenant: UUID, conversation_id: str, request: ContextRequest, seq: int) -> Context:
    """Return the window that a conversation had when a message was its last, by the settings of today.

    Raises NotFound, Invalid if there is no such message, or BudgetTooSmall.
    """
    async with runtime.database.snapshot(tenant) as tx:
        now = await conversations.get(tx, conversation_id, bound_to=request.bound_to)
        then = await windows.as_of(tx, now, seq) if seq <= now.totals.last_seq else None
        if then is None:
            message = f"must be the seq of a message: 1 to {now.totals.last_seq}"
            raise errors.Invalid(errors=[{"loc": ["query", "as_of"], "msg": message}])
        try:
            shown = await _shown_then(runtime, tx, then, request, may_offer=True)
        except errors.BudgetTooSmall:
            shown = await _shown_then(runtime, tx, then, request, may_offer=False)
    window = await _with_fresh(runtime, tenant, now, shown.window)
    return await _rendered(runtime, replace(shown, window=window), request)


async def _shown_then(
    runtime: Runtime, tx: ReadTx, then: Conversation, request: ContextRequest, *, may_offer: bool
) -> KeptWindow:
    target, offers = await _profile(runtime, then, _Place((), request, _GivenWay(), None), may_offer=may_offer)
    epoch = await epochs.derive(runtime, tx, then, target)
    last = (then.totals.last_seq, then.totals.last_page)
    items = await served.items(tx, then, epoch.layout, last, anthropic=request.format == "anthropic")
    prompt = tuple(item for item in items if item.kind == "prompt")
    body = tuple(item for item in items if item.kind != "prompt")
    window = assemble(
        epoch, body, target.fixed, target.budget, then.totals, target.token_percent, most_fresh=target.shares.fresh,
        anchored=anchoring.in_view(then, request, target.policy),
    )  # fmt: skip
    return KeptWindow((), WindowParts(then, None, prompt, body), target, epoch, window, offers)


async def _shown(
    runtime: Runtime, tenant: UUID, conversation_id: str, request: ContextRequest, reserve: _GivenWay = _GivenWay()
) -> KeptWindow:
    """Return the window, whose body may have given way to a tail."""
    key = _memory_key(tenant, conversation_id, request, reserve.tokens)
    cached = runtime.caches.windows.get(key)
    parts = await _continued(runtime, tenant, conversation_id, request, key, cached) if cached else None
    if cached is not None and parts is not None:
        if parts.conversation == cached.parts.conversation:
            return cached
        remembered: FoundEpoch | None = FoundEpoch(parts.conversation.uid, cached.target.key, cached.epoch)
    else:
        remembered = runtime.caches.epochs.get(key)
        parts = await _read(runtime, tenant, conversation_id, request, remembered)
    place = _Place(key, request, reserve, remembered)
    try:
        shown = await _assembled(runtime, tenant, parts, place, may_offer=True)
    except errors.BudgetTooSmall:
        shown = await _assembled(runtime, tenant, parts, place, may_offer=False)
    runtime.caches.keep_window(shown)
    return shown


@dataclass(frozen=True, slots=True)
class _Place:
    """The window of a conversation that is wanted, and what is remembered of it."""

    key: tuple[object, ...]
    request: ContextRequest
    reserve: _GivenWay
    remembered: FoundEpoch | None


async def _continued(
    runtime: Runtime,
    tenant: UUID,
    conversation_id: str,
    request: ContextRequest,
    key: tuple[object, ...],
    cached: KeptWindow,
) -> WindowParts | None:
    """Return the parts of a cached window with everything appended since; None if its epoch has ended."""
    anthropic, layout = request.format == "anthropic", cached.epoch.layout
    last = cached.parts.conversation.totals.last_seq
    appended = await windows.newer(runtime.database, tenant, conversation_id, last, layout, anthropic=anthropic)
    if appended is None or not await _is_admitted(runtime, tenant, appended[0], request):
        runtime.caches.windows.pop(key, None)
        raise conversations.unknown()
    conversation, newer = appended
    await _follow(runtime, tenant, conversation_id, conversation, request.bound_to)
    if conversation.uid != cached.parts.conversation.uid or not layout.holds(conversation.totals):
        return None
    earlier_items = cached.parts.items
    if conversation.totals.last_page != cached.parts.conversation.totals.last_page:
        earlier_items = tuple(shrunk(earlier_items))
    prompt = (*cached.parts.prompt, *(item for item in newer if item.kind == "prompt"))
    items = (*earlier_items, *(item for item in newer if item.kind != "prompt"))
    if conversation.anchored != cached.parts.conversation.anchored:
        items = tuple(_weighed(item, conversation) for item in items)
    return WindowParts(conversation, None, prompt, items)


def _weighed(item: Item, conversation: Conversation) -> Item:
    """Return an item with the weight of what was recalled for it, as it is read from the store."""
    found = conversation.anchored
    if found is None or item.seq != found.seq or not found.tokens:
        return item
    return item._replace(loaded_tokens=item.tokens + found.tokens)


async def _read(
    runtime: Runtime, tenant: UUID, conversation_id: str, request: ContextRequest, remembered: FoundEpoch | None
) -> WindowParts:
    """Return the parts of the remembered epoch or of the conversation's own; without a body if another is likely."""
    layout_of = (remembered.uid, remembered.epoch.layout) if remembered else None
    anthropic = request.format == "anthropic"

    place = runtime.caches.lines.get((tenant, conversation_id), conversation_id)

    async def read(database: Database) -> WindowParts | None:
        if remembered is None and request.budget is not None:
            return await windows.without_body(database, tenant, place)
        return await windows.load(database, tenant, place, layout_of, anthropic=anthropic)

    parts = await runtime.read(read)
    if parts is None or not await _is_admitted(runtime, tenant, parts.conversation, request):
        raise conversations.unknown()
    await _follow(runtime, tenant, conversation_id, parts.conversation, request.bound_to)
    if (line := parts.conversation.line).is_in_tree:
        runtime.caches.lines[tenant, conversation_id] = line
    return parts


async def _is_admitted(runtime: Runtime, tenant: UUID, conversation: Conversation, request: ContextRequest) -> bool:
    """Return whether the caller may see the conversation. Only a space's members have to be looked up."""
    if conversation.space_id is None or request.bound_to is None:
        return conversations.seen(conversation, request.bound_to) is not None
    async with runtime.database.snapshot(tenant) as tx:
        return await conversations.admitted(tx, conversation, request.bound_to) is not None


def _memory_key(tenant: UUID, conversation_id: str, request: ContextRequest, reserve: int) -> tuple[object, ...]:
    own = hashlib.sha256(dumps([request.system, request.tools, request.carries, request.recall]).encode()).digest()
    return (tenant, conversation_id, request.budget, request.model, request.format, reserve, own)


async def _assembled(
    runtime: Runtime, tenant: UUID, parts: WindowParts, place: _Place, *, may_offer: bool
) -> KeptWindow:
    target, offers = await _profile(runtime, parts.conversation, place, may_offer=may_offer)
    epoch, parts = await _epoch(runtime, tenant, parts, target, place)
    conversation = parts.conversation
    window = assemble(
        epoch, parts.items, target.fixed, target.budget, conversation.totals, target.token_percent,
        most_fresh=target.shares.fresh, anchored=anchoring.in_view(conversation, place.request, target.policy),
    )  # fmt: skip
    window = await _with_fresh(runtime, tenant, conversation, window)
    warnings = _warnings(runtime, conversation, place.request, offered=offers)
    warnings += _lags(runtime, conversation, epoch, target)
    if left_out := epoch.head.notes_left_out:
        warnings += (WindowWarning("notes_left_out", f"there is no room for {left_out} memories to keep in mind"),)
    number = window.number + place.reserve.step
    window = replace(window, number=number, warnings=(*window.warnings, *warnings))
    own = replace(parts, conversation=replace(conversation, own=None), own_epoch=None)
    return KeptWindow(place.key, own, target, epoch, window, offers)


def _served(
    runtime: Runtime,
    tenant: UUID,
    request: ContextRequest,
    shown: KeptWindow,
    found: Context,
    sources: Collection[UUID] = (),
    quoted: Mapping[QuotedPlace, str] = serving.NOTHING,
) -> Context:
    """Count a window, and note it as served."""
    runtime.metrics.window(found.window.ledger.total, found.window.ledger.full_history)
    serving.note(runtime, tenant, request, shown, found, sources, quoted)
    return found


async def _rendered(runtime: Runtime, shown: KeptWindow, request: ContextRequest) -> Context:
    conversation, window, form = shown.conversation, shown.window, request.format
    language: Language = conversation.language or "en"
    system = request.system if request.system is not None else system_of(shown.conversation.system, shown.parts.prompt)
    guide = epochs.guide_of(conversation, shown.target.policy) if shown.offers_tools else ""
    text = "\n\n".join(part for part in (system, guide) if part)
    size = len(text) + sum(len(placed.text) for placed in window.body) + sum(len(item.text) for item in window.tail)
    tools = _tools(request.tools, form, offered=shown.offers_tools)
    rendered = await run_in_thread_if_large(
        size, answer_of, conversation, shown.epoch, window, text, tools, form, language, most=LONG_COPIED
    )
    if request.carries:
        return rendered
    return fitted_window(rendered, runtime.defaults.models, request.model or conversation.model or "", form)


def answer_of(
    conversation: Conversation,
    epoch: Epoch,
    window: Window,
    system: str,
    tools: str,
    form: Format,
    language: Language,
) -> Context:
    body = _answer(conversation, epoch, window, render(window, system, tools, form, language), form).encode()
    return Context(body, etag_of(body), window, conversation.uid, system, tools)


def fitted_window(found: Context, models: ModelTable, model: str, form: Format) -> Context:
    """Return a window as its model's API wants it, without what answers carried for other models."""
    row = models.row(model)
    is_plain = f'"{CARRIED}"'.encode() not in found.body and b'"type":"reasoning"' not in found.body
    if form == "anthropic" or (row == GENERAL and is_plain):
        return found
    answer = json.loads(found.body)
    stable = answer["messages"][: answer["stable_messages"]]
    fitted, alone = (chat_fitted(row, model, as_chat(said)) for said in (answer["messages"], stable))
    same = sum(1 for _ in takewhile(lambda two: two[0] == two[1], zip(fitted, alone, strict=False)))
    body = dumps({**answer, "messages": fitted, "stable_messages": same}).encode()
    return replace(found, body=body, etag=etag_of(body))


def etag_of(body: bytes) -> str:
    return f'"{hashlib.sha256(body).hexdigest()[:32]}"'


def _tools(own: Sequence[dict[str, Any]], form: Format, *, offered: bool) -> str:
    """Return the caller's tools and the recall tools, as text."""
    if not own:
        return _recall_tools(form) if offered else "[]"
    return tools_text([*own, *(_beside(own, form) if offered else ())], form)


def _beside(own: Sequence[dict[str, Any]], form: Format) -> list[dict[str, Any]]:
    """Return the recall tools whose names the caller's tools leave free."""
    taken = {_name(tool) for tool in own}
    return [tool for tool in window_schemas(form) if _name(tool) not in taken]


def _taken(request: ContextRequest) -> list[str]:
    """Return the names of recall tools that the caller's tools have."""
    if not request.tools:
        return []
    own = {_name(tool) for tool in request.tools}
    return [name for tool in window_schemas(request.format) if (name := _name(tool)) in own]


def _name(tool: Mapping[str, Any]) -> Any:
    function = tool.get("function")
    return function.get("name") if isinstance(function, Mapping) else tool.get("name")


@cache
def _recall_tools(form: Format) -> str:
    return tools_text(window_schemas(form), form)


def system_of(own: str | None, prompt: Sequence[Item]) -> str:
    """Return a conversation's system prompt: its own, and the system messages that lead it."""
    return "\n\n".join(text for text in (own, *map(_plain, prompt)) if text)


def _plain(item: Item) -> str:
    content = chat_messages(item.text)[0]["content"]
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part.get("type") == "text")


async def _profile(
    runtime: Runtime, conversation: Conversation, place: _Place, *, may_offer: bool
) -> tuple[Profile, bool]:
    """Return the profile of this call, and whether the recall tools are in it."""
    request = place.request
    policy = policy_of(runtime.defaults, conversations.policy_overrides(conversation))
    budget = budget_of(
        runtime.defaults,
        request.budget,
        conversation.budget if request.model is None else None,
        request.model or conversation.model,
    )
    percent = epochs.percent_of(runtime, conversation, request.model or conversation.model)
    own_tools = await runtime.count(spaced(request.tools)) if request.tools else 0
    if request.system is None:
        own = conversation.system_tokens + conversation.prompt_tokens
    else:
        own = await runtime.count(request.system) + FRAME_TOKENS if request.system else 0
    tools, guide = epochs.recall_tokens(runtime, conversation, policy, request.format)
    if not (may_offer and offers_tools(budget, tools + guide, percent)):
        return profile(policy, budget, Fixed(own_tools, own), percent, reserve=place.reserve.tokens), False
    if _taken(request):
        tools = await runtime.count(spaced(_beside(request.tools, request.format)))
    fixed = Fixed(tools_tokens=own_tools + tools, system_tokens=own + guide)
    return profile(policy, budget, fixed, percent, reserve=place.reserve.tokens), True


async def _epoch(
    runtime: Runtime, tenant: UUID, parts: WindowParts, target: Profile, place: _Place
) -> tuple[Epoch, WindowParts]:
    """Return the epoch in force for the profile, and the window's parts as read by its zones."""
    conversation, request, remembered = parts.conversation, place.request, place.remembered
    if remembered is not None and _is_in_force(remembered, parts, target):
        return remembered.epoch, parts
    if (known := _known_epoch(runtime, parts, target)) is not None:
        found = FoundEpoch(conversation.uid, target.key, known)
        if remembered is not None or request.budget is not None:
            parts = await _read(runtime, tenant, conversation.id, request, found)
        if _is_in_force(found, parts, target):
            runtime.caches.epochs[place.key] = found
            return known, parts

    async def derive(database: Database) -> tuple[Conversation, Epoch, WindowParts | None]:
        async with database.snapshot(tenant) as tx:
            current = await conversations.get(tx, conversation.id, bound_to=request.bound_to)
            epoch = await epochs.derive(runtime, tx, current, target)
            layout_of, anthropic = (current.uid, epoch.layout), request.format == "anthropic"
            body = await windows.load(tx, tenant, current.id, layout_of, anthropic=anthropic)
            return current, epoch, body

    current, epoch, derived = await runtime.read(derive)
    if derived is None:
        raise conversations.unknown()
    runtime.caches.epochs[place.key] = FoundEpoch(current.uid, target.key, epoch)
    return epoch, derived


def _is_in_force(found: FoundEpoch, parts: WindowParts, target: Profile) -> bool:
    """Return whether an epoch is in force, whose parts were read: what was shown in full counts too."""
    if not found.holds(parts.conversation, target.key):
        return False
    return not paging.is_over(found.epoch.layout, parts.items, target.shares.fresh)


def _known_epoch(runtime: Runtime, parts: WindowParts, target: Profile) -> Epoch | None:
    """Return the epoch in force if it was read with the parts, or if nothing has to be read for it."""
    conversation = parts.conversation
    if parts.own_epoch is not None:
        return parts.own_epoch if epochs.is_current(conversation, target) else None
    if parts.kept is not None and paging.is_whole(conversation.totals, target.shares, target.policy):
        return epochs.of_whole(runtime, conversation, target, parts.kept)
    return None


async def _with_fresh(runtime: Runtime, tenant: UUID, conversation: Conversation, window: Window) -> Window:
    """Return the window with what is fresh in it."""
    uuids, most = fresh.wanted(window), fresh.tokens_max(window)
    if not uuids:
        return window

    async def read(database: Database) -> list[fresh.FreshResult]:
        async with database.snapshot(tenant) as tx:
            if not await conversations.is_still(tx, conversation):
                raise conversations.unknown()
            return await archives.fresh(tx, conversation.id, uuids, most)

    results = await runtime.read(read)
    size = sum(len(result.text or "") for result in results)
    return await run_in_thread_if_large(size, fresh.with_fresh, window, results)


def _warnings(
    runtime: Runtime, conversation: Conversation, request: ContextRequest, *, offered: bool
) -> tuple[WindowWarning, ...]:
    warnings = []
    if not offered:
        warnings.append(WindowWarning("recall_tools_left_out", "the budget is too small for the recall tools"))
    elif taken := _taken(request):
        names = ", ".join(taken)
        warnings.append(WindowWarning("recall_tools_left_out", f"your tools take the names of recall tools: {names}"))
    model = request.model or conversation.model
    if model is not None and runtime.defaults.models.window(model) is None:
        warnings.append(
            WindowWarning("unknown_model", "the model's window and tokenizer are not known; o200k_base counts")
        )
    return tuple(warnings)


def _lags(runtime: Runtime, conversation: Conversation, epoch: Epoch, target: Profile) -> tuple[WindowWarning, ...]:
    """Warn if the model's texts are overdue; extractive ones stand in for them."""
    if runtime.chat is None:
        return ()
    warnings, totals = [], conversation.totals
    behind = totals.last_page - 1 - conversation.indexed_through
    if behind > LAG_PAGES_MAX:
        warnings.append(WindowWarning("index_lags", f"{behind} closed pages are not indexed yet"))
    if epoch.head.summary:  # of what has left the window
        through = epoch.head.summary_through_seq if epoch.head.summary_source == "llm" else 0
        behind = epoch.layout.condensed_from - 1 - through
    else:
        behind = lag(totals.last_seq, conversation.summary_through, runtime.defaults.summary_threshold)
    if target.policy.summary_enabled and behind > LAG_MESSAGES_MAX:
        warnings.append(WindowWarning("summary_lags", f"the summary is {behind} messages behind"))
    return tuple(warnings)


def _answer(
    conversation: Conversation,
    epoch: Epoch,
    window: Window,
    rendered: Rendered,
    form: Format,
) -> str:
    """Return the response, put together from texts that are JSON already."""
    ledger, totals = window.ledger, conversation.totals
    sections = ("tools", "system", "notes", "summary", "contents", "condensed", "recent", "tail")
    members = {
        "conversation_id": dumps(conversation.id),
        "format": dumps(form),
        "messages": rendered.messages,
        "system": dumps(rendered.system),
        "tools": rendered.tools,
        "usage": dumps(
            {
                "budget": ledger.budget,
                "total": ledger.total,
                "token_percent": conversation.token_percent,
                "full_history": ledger.full_history,
                "saved": ledger.saved,
                "sections": {name: getattr(ledger, name) for name in sections},
            }
        ),
        "epoch": str(window.number),
        "prefix_hash": dumps(rendered.prefix_hash),
        "stable_messages": str(rendered.stable_messages),
        "stable_tokens": str(rendered.stable_tokens),
        "pages": dumps(
            {
                "verbatim": window.verbatim_pages,
                "condensed": window.condensed_pages,
                "listed": window.listed_pages,
                "unlisted": window.unlisted,
            }
        ),
        "archive_refs": dumps(_archive_refs(window)),
        "lag": dumps(
            {
                "summary_through_seq": epoch.head.summary_through_seq
                if epoch.layout.condensed_from > 1
                else conversation.summary_through,
                "indexed_through_page": conversation.indexed_through,
                "last_seq": totals.last_seq,
                "last_page": totals.last_page,
            }
        ),
        "warnings": dumps([{"code": w.code, "detail": w.detail} for w in window.warnings]),
    }
    return "{" + ",".join(f'"{name}":{value}' for name, value in members.items()) + "}"


def _archive_refs(window: Window) -> list[str]:
    """Return the archives that the window refers to, by placeholder or loaded in its tail; each once, in order."""
    placeholders = [uuid for placed in window.body for uuid in placed.archive_ids]
    loaded = [str(item.archive_id) for item in window.tail if item.archive_id]
    return list(dict.fromkeys([*placeholders, *loaded]))
