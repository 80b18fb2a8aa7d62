"""The window before a model call.

One statement reads everything, by the zones of the epoch that is in force: the stored one for the
conversation's own budget, the one remembered from the last call for another budget. Only where that epoch has
ended, or this process does not know it yet, is the layout worked out first; then the window is read by it.
A window that this process made before, of an epoch that holds yet, needs only what was appended since.
Assembly and rendering are pure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any
from uuid import UUID

from app import errors
from app.caches import FoundEpoch, KeptWindow
from app.concurrency import run_in_thread_if_large
from app.core import fresh
from app.core.assemble import assemble, with_tail
from app.core.budget import model_window
from app.core.canonical import dumps, spaced
from app.core.conversation import Conversation
from app.core.groups import chat_messages, shrunk
from app.core.messages import FRAME_TOKENS
from app.core.model import Context, Epoch, Fixed, Format, Item, Language, Window, WindowWarning
from app.core.profile import Profile, budget_of, offers_tools, policy_of, profile
from app.core.render import Rendered, render, tools_text
from app.core.summarising import lag
from app.postgres.database import Database
from app.recall.tools import GUIDE, window_schemas
from app.runtime import Runtime
from app.services.conversations import epochs
from app.services.conversations.tail import ContextRequest, gather
from app.store import archives, conversations, windows
from app.store.windows import WindowParts

KEPT_FORMS = 3
"""A kept window has most texts as they are shown, in the condensed form that they may have to take, and rendered."""
LAG_PAGES_MAX = 2
LAG_MESSAGES_MAX = 10
"""How far the model's texts may be behind before a window says so."""


async def context(runtime: Runtime, tenant: UUID, conversation_id: str, request: ContextRequest) -> Context:
    """The assembled window. Raises NotFound, or BudgetTooSmall with the smallest budget that works."""
    key = _memory_key(tenant, conversation_id, request)
    kept = runtime.caches.windows.get(key)
    parts = await _continued(runtime, tenant, conversation_id, request, kept) if kept else None
    if kept is not None and parts is not None:
        if kept.context is not None and parts.conversation == kept.parts.conversation and not request.asks_for_tail:
            runtime.metrics.window(kept.context.window.ledger.total, kept.context.window.ledger.full_history)
            return kept.context
        remembered: FoundEpoch | None = FoundEpoch(parts.conversation.uid, kept.available, kept.epoch)
    else:
        remembered = runtime.caches.epochs.get(key)
        parts = await _read(runtime, tenant, conversation_id, request, remembered)
    try:
        return await _with_tools(runtime, tenant, parts, request, key, remembered, offered=True)
    except errors.BudgetTooSmall:
        return await _with_tools(runtime, tenant, parts, request, key, remembered, offered=False)


async def _continued(
    runtime: Runtime, tenant: UUID, conversation_id: str, request: ContextRequest, kept: KeptWindow
) -> WindowParts | None:
    """The parts of a window that was made before, and what has been appended since; None if its epoch has ended."""
    anthropic, layout = request.format == "anthropic", kept.epoch.layout
    last = kept.parts.conversation.totals.last_seq
    found = await windows.newer(runtime.database, tenant, conversation_id, last, layout, anthropic=anthropic)
    if found is None or conversations.seen(found[0], request.bound_to) is None:
        runtime.caches.windows.pop(_memory_key(tenant, conversation_id, request), None)
        raise conversations.unknown()
    conversation, newer = found
    if conversation.uid != kept.parts.conversation.uid or not layout.holds(conversation.totals):
        return None
    known = kept.parts.items
    if conversation.totals.last_page != kept.parts.conversation.totals.last_page:
        known = tuple(shrunk(known))
    prompt = (*kept.parts.prompt, *(item for item in newer if item.kind == "prompt"))
    items = (*known, *(item for item in newer if item.kind != "prompt"))
    return WindowParts(conversation, None, prompt, items)


async def _read(
    runtime: Runtime, tenant: UUID, conversation_id: str, request: ContextRequest, remembered: FoundEpoch | None
) -> WindowParts:
    asked = (remembered.uid, remembered.epoch.layout) if remembered else None
    anthropic = request.format == "anthropic"
    parts = await runtime.read(
        lambda database: windows.load(database, tenant, conversation_id, asked, anthropic=anthropic)
    )
    if parts is None or conversations.seen(parts.conversation, request.bound_to) is None:
        raise conversations.unknown()
    return parts


def _memory_key(tenant: UUID, conversation_id: str, request: ContextRequest) -> tuple[object, ...]:
    own = hashlib.sha256(dumps([request.system, request.tools]).encode()).digest()
    return (tenant, conversation_id, request.budget, request.model, request.format, request.takes_query_share, own)


async def _with_tools(
    runtime: Runtime,
    tenant: UUID,
    parts: WindowParts,
    request: ContextRequest,
    key: tuple[object, ...],
    remembered: FoundEpoch | None,
    *,
    offered: bool,
) -> Context:
    conversation = parts.conversation
    language: Language = conversation.language or "en"
    wanted, offered = await _profile(runtime, conversation, request, language, offered=offered)
    epoch, parts = await _epoch(runtime, tenant, parts, wanted, request, key, remembered)
    conversation = parts.conversation
    window = assemble(epoch, parts.items, wanted.fixed, wanted.budget, conversation.totals, wanted.token_percent)
    window = await _with_fresh(runtime, tenant, conversation, window)
    tail, warnings = await gather(runtime, tenant, conversation, request, wanted.policy, window, language)
    window = with_tail(window, tail)
    warnings += _warnings(conversation, request, offered=offered)
    warnings += _lags(runtime, conversation, epoch, wanted)
    if left_out := epoch.head.notes_left_out:
        warnings += (WindowWarning("notes_left_out", f"the budget has no room for {left_out} of the standing notes"),)
    window = replace(window, warnings=(*window.warnings, *warnings))
    system = request.system if request.system is not None else _own_system(parts)
    text = "\n\n".join(part for part in (system, GUIDE[language] if offered else "") if part)
    size = len(text) + sum(len(placed.text) for placed in window.body)
    form = request.format
    tools = _tools(request.tools, form, offered=offered)
    found = await run_in_thread_if_large(size, _rendered, conversation, epoch, window, text, tools, form, language)
    runtime.metrics.window(window.ledger.total, window.ledger.full_history)
    own = replace(parts, conversation=replace(conversation, own=None), own_epoch=None)
    whole = None if request.asks_for_tail else found
    size = KEPT_FORMS * len(found.body)
    runtime.caches.keep_window(key, KeptWindow(own, epoch, wanted.shares.available, whole, size))
    return found


def _rendered(
    conversation: Conversation,
    epoch: Epoch,
    window: Window,
    system: str,
    tools: str,
    form: Format,
    language: Language,
) -> Context:
    body = _answer(conversation, epoch, window, render(window, system, tools, form, language), form).encode()
    return Context(body, f'"{hashlib.sha256(body).hexdigest()[:32]}"', window, system)


def _tools(own: Sequence[dict[str, Any]], form: Format, *, offered: bool) -> str:
    """The caller's tools and the recall tools, as text."""
    if not own:
        return _recall_tools(form) if offered else "[]"
    return tools_text([*own, *(window_schemas(form) if offered else ())], form)


@cache
def _recall_tools(form: Format) -> str:
    return tools_text(window_schemas(form), form)


def _own_system(parts: WindowParts) -> str:
    """The conversation's system prompt: what it was given, and the system messages that lead it."""
    texts = [parts.conversation.system or "", *(_plain(item) for item in parts.prompt)]
    return "\n\n".join(text for text in texts if text)


def _plain(item: Item) -> str:
    content = chat_messages(item.text)[0]["content"]
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part.get("type") == "text")


async def _profile(
    runtime: Runtime,
    conversation: Conversation,
    request: ContextRequest,
    language: Language,
    *,
    offered: bool,
) -> tuple[Profile, bool]:
    """The profile of this call, and whether the recall tools are in it."""
    policy = policy_of(runtime.defaults, conversations.policy_overrides(conversation))
    budget = budget_of(
        runtime.defaults,
        request.budget,
        conversation.budget if request.model is None else None,
        request.model or conversation.model,
    )
    tools, guide = epochs.recall_tokens(runtime, language, request.format)
    offered = offered and offers_tools(budget, tools + guide, conversation.token_percent)
    if not offered:
        tools = guide = 0
    if request.tools:
        tools += await runtime.count(spaced(request.tools))
    if request.system is None:
        own = conversation.system_tokens + conversation.prompt_tokens
    else:
        own = await runtime.count(request.system) + FRAME_TOKENS if request.system else 0
    fixed = Fixed(tools_tokens=tools, system_tokens=own + guide)
    return profile(policy, budget, fixed, conversation.token_percent, has_query=request.takes_query_share), offered


async def _epoch(
    runtime: Runtime,
    tenant: UUID,
    parts: WindowParts,
    wanted: Profile,
    request: ContextRequest,
    key: tuple[object, ...],
    remembered: FoundEpoch | None,
) -> tuple[Epoch, WindowParts]:
    """The epoch in force for the profile, and the window's parts as read by its zones."""
    conversation = parts.conversation
    available = wanted.shares.available
    if remembered is not None:
        same = remembered.uid == conversation.uid and remembered.available == available
        if same and remembered.epoch.layout.holds(conversation.totals):
            return remembered.epoch, parts
    elif parts.own_epoch is not None and epochs.is_current(conversation, wanted):
        return parts.own_epoch, parts

    async def derive(database: Database) -> tuple[Conversation, Epoch, WindowParts | None]:
        async with database.snapshot(tenant) as connection:
            current = await conversations.get(connection, tenant, conversation.id, bound_to=request.bound_to)
            epoch = await epochs.derive(runtime, connection, tenant, current, wanted)
            asked, anthropic = (current.uid, epoch.layout), request.format == "anthropic"
            return current, epoch, await windows.load(connection, tenant, conversation.id, asked, anthropic=anthropic)

    current, epoch, again = await runtime.read(derive)
    if again is None:
        raise conversations.unknown()
    runtime.caches.epochs[key] = FoundEpoch(current.uid, available, epoch)
    return epoch, again


async def _with_fresh(runtime: Runtime, tenant: UUID, conversation: Conversation, window: Window) -> Window:
    """The window with the archived results of its newest page in full, where they fit."""
    last_page = conversation.totals.last_page
    uuids, most = fresh.wanted(window, last_page), fresh.tokens_max(window)
    if not uuids or not most:
        return window

    async def read(database: Database) -> list[fresh.FreshResult]:
        async with database.snapshot(tenant) as connection:
            if not await conversations.is_still(connection, tenant, conversation):
                raise conversations.unknown()
            return await archives.fresh(connection, tenant, conversation.id, uuids, most)

    results = await runtime.read(read)
    size = sum(len(result.text) for result in results)
    return await run_in_thread_if_large(size, fresh.with_fresh, window, results, last_page)


def _warnings(conversation: Conversation, request: ContextRequest, *, offered: bool) -> tuple[WindowWarning, ...]:
    found = []
    if not offered:
        found.append(WindowWarning("recall_tools_left_out", "the budget is too small for the recall tools"))
    model = request.model or conversation.model
    if model is not None and model_window(model) is None:
        found.append(
            WindowWarning("unknown_model", "the model's window and tokenizer are not known; o200k_base counts")
        )
    return tuple(found)


def _lags(runtime: Runtime, conversation: Conversation, epoch: Epoch, wanted: Profile) -> tuple[WindowWarning, ...]:
    """Where the model's texts are not there that should be by now; extractive ones stand in for them."""
    if runtime.chat is None:
        return ()
    found, totals = [], conversation.totals
    behind = totals.last_page - 1 - conversation.indexed_through
    if behind > LAG_PAGES_MAX:
        found.append(WindowWarning("index_lags", f"{behind} closed pages are not indexed yet"))
    if epoch.head.summary:  # of what has left the window
        through = epoch.head.summary_through_seq if epoch.head.summary_source == "llm" else 0
        behind = epoch.layout.condensed_from - 1 - through
    else:
        behind = lag(totals.last_seq, conversation.summary_through, runtime.settings.memory_summary_threshold)
    if wanted.policy.summary_enabled and behind > LAG_MESSAGES_MAX:
        found.append(WindowWarning("summary_lags", f"the summary is {behind} messages behind"))
    return tuple(found)


def _answer(
    conversation: Conversation,
    epoch: Epoch,
    window: Window,
    rendered: Rendered,
    form: Format,
) -> str:
    """The response, put together from texts that are JSON already."""
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
                "token_percent": ledger.token_percent,
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
    """The archives that the window refers to, by placeholder or loaded in its tail; each once, in order."""
    placeholders = [uuid for placed in window.body for uuid in placed.archive_ids]
    loaded = [str(item.archive_id) for item in window.tail if item.archive_id]
    return list(dict.fromkeys([*placeholders, *loaded]))
