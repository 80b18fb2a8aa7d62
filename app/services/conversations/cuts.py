"""Cuts: read the data from which a cut is made, and store the cut.

A window shows its budget's last cut. If that does not fit any more, the call that notices it makes another one, stores
it and shows it. The pinned memories are read in the same transaction, during which nothing of their owners is erased.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import reduce
from uuid import UUID

from app import errors
from app.concurrency import MESSAGE_CHARACTERS, run_in_thread_if_large
from app.core.calibration import PERCENT_MIN, UNREPORTED, Charge
from app.core.canonical import spaced
from app.core.conversation import Conversation
from app.core.messages import FRAME_TOKENS
from app.core.model import Cut, Fixed, FreshForm, Head, Marks, Mix, Window
from app.core.window import cut, head
from app.core.window.answer import system_of
from app.core.window.budget import RecallRoom, recall_room, usable
from app.core.window.contents import OPEN_PAGES
from app.core.window.head import HeadReader
from app.core.window.kept import Then
from app.core.window.profile import Profile, budget_of, needed, of_newest, offers_tools, profile, remembered_marks
from app.core.window.summarising import LEFT_OUT
from app.extractive.summary import pick_lines
from app.postgres.transactions import ReadTx
from app.queue import outbox
from app.recall.tools import of_windows, schemas_text
from app.recall.window_tools import beside, guide_of, taken_names
from app.runtime import Runtime
from app.services.conversations.call import ContextRequest, WindowCall
from app.store import heads, windows
from app.store.memory import kept
from app.store.windows import Wanted, WindowParts
from app.text.language import sentences


def own_profile(runtime: Runtime, conversation: Conversation, requested: int | None = None) -> Profile:
    """Return the profile of windows for which a request names no system prompt and no tools, and no budget unless one
    is ``requested``.
    """
    own = Fixed(0, conversation.system_tokens + conversation.prompt_tokens)
    return _profile(runtime, conversation, ContextRequest(budget=requested), own)


async def profile_of_call(call: WindowCall, parts: WindowParts, *, may_offer: bool) -> Profile:
    """Return the profile of a call for a window. With ``may_offer``, it has the recall tools if they fit."""
    runtime, request, conversation = call.runtime, call.request, parts.conversation
    tools = spaced(request.tools) if request.tools else ""
    system = conversation.system_tokens + conversation.prompt_tokens
    if request.system is not None:
        system = await runtime.count(request.system) + FRAME_TOKENS if request.system else 0
    texts = (tools, request.system if request.system is not None else system_of(conversation.system, parts.prompt))
    own = Fixed(await runtime.count(tools), system, marks_together(texts), len(request.tools))
    offered = of_windows(runtime.policy(conversation))
    fewer = None
    if taken_names(request.tools, offered):
        fewer = await runtime.count(spaced(beside(request.tools, request.format, offered)))
    return _profile(runtime, conversation, request, own, fewer=fewer, reserve=call.reserve, may_offer=may_offer)


def _profile(
    runtime: Runtime, conversation: Conversation, request: ContextRequest, own: Fixed,
    *, fewer: int | None = None, reserve: int = 0, may_offer: bool = True,
) -> Profile:  # fmt: skip
    """Return a profile. ``fewer``: tokens of the recall tools if the caller's own tools use some of their names."""
    policy = runtime.policy(conversation)
    budget = request.budget if request.budget is not None else own_budget(runtime, conversation, request.model)
    charge = charge_of(runtime, conversation, request.model)
    offered = of_windows(policy)
    schemas, words = schemas_text(request.format, offered), guide_of(conversation, policy)
    tools, guide = runtime.count_short(schemas), runtime.count_short(words) + FRAME_TOKENS
    marks = marks_together((schemas, words))
    unlearned = Charge(charge.family)  # usage reports must not add or remove tools
    if may_offer and offers_tools(budget, unlearned.tokens(Mix.of(tools + guide, marks, tools=len(offered)))):
        tools = tools if fewer is None else fewer
        own = Fixed(
            own.tools_tokens + tools, own.system_tokens + guide, own.marks.plus(marks), own.tools + len(offered)
        )  # fmt: skip
        return profile(policy, budget, own, charge, reserve=reserve, offers_tools=True)
    return profile(policy, budget, own, charge, reserve=reserve)


def charge_of(runtime: Runtime, conversation: Conversation | None, model: str | None = None) -> Charge:
    """Return how windows are charged: by the model of the request, else of the conversation, else of the deployment. A
    learned percent applies only to models of the family for which it was learned.
    """
    models, usual = runtime.defaults.models, runtime.proxying.model or ""
    own = (conversation.model if conversation is not None else None) or usual
    family = models.family(model or own)
    learned = conversation.learned_percent if conversation is not None and family is models.family(own) else UNREPORTED
    return Charge(family, learned)


def marks_together(texts: Iterable[str]) -> Marks:
    return reduce(Marks.plus, map(remembered_marks, texts), Marks())


def room_for_recall(runtime: Runtime, conversation: Conversation | None) -> RecallRoom:
    """Return a recall tool's room in the conversation's window; without a conversation, in a default window."""
    if conversation is not None:
        return recall_room(own_profile(runtime, conversation).shares)
    budget = budget_of(runtime.defaults, None, None, None)
    return recall_room(profile(runtime.defaults.policy, budget, Fixed(0, 0), charge_of(runtime, None)).shares)


def own_budget(runtime: Runtime, conversation: Conversation, model: str | None = None) -> int:
    """Return the budget of windows for which a request names none."""
    budget = conversation.budget if model is None else None
    return budget_of(runtime.defaults, None, budget, model or conversation.model)


async def make(
    runtime: Runtime, tx: ReadTx, basis: WindowParts, target: Profile, step: int = 0, then: Then | None = None,
    forms: Sequence[FreshForm] = (),
) -> Cut:  # fmt: skip
    """Make a new cut for a conversation and a profile. ``then``: the time of the pinned memories to show, by default
    now. ``forms``: forms of fresh results that have been in view.
    """
    conversation, reader = basis.conversation, reader_of(runtime)
    language, most = conversation.language or "en", usable(target.budget, PERCENT_MIN)
    most = target.shares.body if target.charge.is_plain else most
    entries = await windows.entries(tx, conversation, max(0, conversation.totals.short - most))
    if (least := needed(target, cut.asked(entries))) > target.budget:
        raise errors.BudgetTooSmall(least)
    size = len(entries) * MESSAGE_CHARACTERS
    target = await run_in_thread_if_large(size, of_newest, target, entries, language)
    about = cut.CutBasis(
        entries, conversation.totals, language, target, head.frame_tokens(language, reader.count),
        conversation.epoch + 1, step, forms,
    )  # fmt: skip
    known = basis.cut.head.notes_tokens if basis.cut is not None else 0
    likely = about.frame + known if known else 0  # usually the pinned memories are the same as at the last cut
    plan = cut.plan(about, likely)
    texts = await _texts(tx, conversation.id, plan, then)
    if (least := cut.least_head(plan, texts, reader)) != likely:
        first, plan = plan, cut.plan(about, least)
        if (plan.cut.condensed_from, plan.last_page) != (first.cut.condensed_from, first.last_page):
            texts = await _texts(tx, conversation.id, plan, then)
    return cut.freeze(plan, await heads.with_map(tx, conversation.id, plan, texts, reader.count), reader)


async def _texts(tx: ReadTx, conversation_id: str, plan: cut.CutPlan, then: Then | None) -> cut.Material:
    texts = await heads.texts(tx, conversation_id, plan)
    if then is None:
        return texts
    lines = await kept.then(tx, conversation_id, plan.cut.condensed_from, then.as_of, then.known_at)
    return replace(texts, kept=lines)


async def store(
    runtime: Runtime, tenant: UUID, parts: WindowParts, target: Profile, wanted: Wanted, shown: Window | None
) -> WindowParts | None:
    """Make and store another cut, and return the window's parts by it; None if it would show the same.

    ``shown``: the window by the last cut, which does not fit. If another call was faster, its cut is used.
    """
    forms = shown.forms if shown is not None else ()
    conversation, last = parts.conversation, parts.cut
    async with runtime.database.begin(tenant, sharing=conversation.scopes) as tx:
        made = await make(runtime, tx, parts, target, wanted.step, forms=forms)
        if last is not None and last.last_seq == made.last_seq and shown is not None and shown.is_over:
            made = replace(made, is_squeezed=True)
        if last is not None and cut.shows(last) == cut.shows(made):
            return None
        after: WindowParts | None = None
        if await windows.store_cut(tx, conversation, made):
            after = parts.cut_again(made)
            if tenant in runtime.meters.telling:
                await outbox.tell(tx, outbox.event("cut.made", conversation_id=conversation.id, epoch=made.number))
        if after is None:
            after = await windows.load(tx, tenant, conversation.id, replace(wanted, budget=target.budget))
    if after is None or after.conversation.uid != conversation.uid:
        raise errors.missing("conversation")
    runtime.caches.keep_conversation(tenant, after.conversation)  # the next append knows the epoch
    return after


async def newest(runtime: Runtime, tx: ReadTx, conversation: Conversation, budget: int | None = None) -> Cut:
    """Return the newest cut of a budget, by default the conversation's own. If there is none, make one without storing
    it.
    """
    target = own_profile(runtime, conversation, budget)
    stored = await windows.newest_cut(tx, conversation, target.budget)
    return stored or await make(runtime, tx, WindowParts(conversation, None), target)


def reader_of(runtime: Runtime) -> HeadReader:
    return HeadReader(runtime.tokens.count, pick_lines, sentences)


async def told_so_far(runtime: Runtime, tx: ReadTx, conversation: Conversation) -> Head:
    """Return a head about all but the newest messages of a conversation whose window still shows everything."""
    policy, totals = runtime.policy(conversation), conversation.totals
    if not policy.summary_enabled or totals.last_seq < max(runtime.defaults.summary_threshold, LEFT_OUT + 1):
        return Head()
    reader, language = reader_of(runtime), conversation.language or "en"
    newest = Cut(0, 0, condensed_from=totals.last_seq - LEFT_OUT + 1, last_page=totals.last_page)
    room = head.frame_tokens(language, reader.count) + policy.summary_max
    last = totals.last_page
    plan = cut.CutPlan(newest, policy, language, room, last, range(max(1, last - OPEN_PAGES), last + 1))
    texts = await heads.texts(tx, conversation.id, plan)
    material = await heads.with_map(tx, conversation.id, plan, texts, reader.count)
    pages = [page for page in material.pages if page.day]  # the others begin in the newest messages
    plan = replace(plan, last_page=pages[-1].page if pages else 0, zone=range(0))
    return cut.freeze(plan, replace(material, pages=pages, kept=(), summary=None), reader).head
