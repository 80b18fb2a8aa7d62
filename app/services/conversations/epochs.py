"""Epochs: read what an epoch is decided from, and store the one of the conversation's own budget.

The epoch of a conversation's own budget is made and stored in the transaction of the append that makes it due. For any
other budget the same decision is made when the window is requested. The results agree, because a layout depends only on
offsets that never change, and a head only on what was known at the layout's revision.
"""

from __future__ import annotations

from dataclasses import replace

from app.core.calibration import charged
from app.core.canonical import spaced
from app.core.conversation import Conversation
from app.core.messages import FRAME_TOKENS
from app.core.model import Epoch, Fixed, Head
from app.core.window import epoch, head, paging
from app.core.window.budget import RecallRoom, recall_room
from app.core.window.head import HeadReader
from app.core.window.kept import Then
from app.core.window.profile import Profile, budget_of, offers_tools, policy_of, profile
from app.core.window.summarising import LEFT_OUT
from app.extractive.summary import pick_lines
from app.postgres.transactions import ReadTx, Tx
from app.recall.tools import of_windows, schemas_text
from app.recall.window_tools import beside, guide_of, taken_names
from app.runtime import Runtime
from app.services.conversations.call import ContextRequest, WindowCall
from app.store import conversations, heads, windows
from app.store.memory import kept
from app.store.windows import WindowParts
from app.text.language import sentences


def own_profile(runtime: Runtime, conversation: Conversation, requested: int | None = None) -> Profile:
    """Return the profile of windows without a system prompt or tools of their own, and without a budget of their own
    unless one is ``requested``.
    """
    own = Fixed(0, conversation.system_tokens + conversation.prompt_tokens)
    return _profile(runtime, conversation, ContextRequest(budget=requested), own)


async def profile_of_call(call: WindowCall, conversation: Conversation, *, may_offer: bool) -> Profile:
    """Return the profile of a call for a window; with the recall tools if they ``may_offer`` themselves and fit."""
    runtime, request = call.runtime, call.request
    tools = await runtime.count(spaced(request.tools)) if request.tools else 0
    system = conversation.system_tokens + conversation.prompt_tokens
    if request.system is not None:
        system = await runtime.count(request.system) + FRAME_TOKENS if request.system else 0
    own, fewer = Fixed(tools, system), None
    offered = of_windows(policy_of(runtime.defaults, conversations.policy_overrides(conversation)))
    if taken_names(request.tools, offered):
        fewer = await runtime.count(spaced(beside(request.tools, request.format, offered)))
    return _profile(runtime, conversation, request, own, fewer=fewer, reserve=call.reserve, may_offer=may_offer)


def _profile(
    runtime: Runtime, conversation: Conversation, request: ContextRequest, own: Fixed,
    *, fewer: int | None = None, reserve: int = 0, may_offer: bool = True,
) -> Profile:  # fmt: skip
    """Return a profile. ``fewer``: tokens of the recall tools where the caller's own take names of some."""
    policy = policy_of(runtime.defaults, conversations.policy_overrides(conversation))
    model = request.model or conversation.model
    own_budget = conversation.budget if request.model is None else None
    budget = budget_of(runtime.defaults, request.budget, own_budget, model)
    percent = charged(conversation.token_percent, is_exact=runtime.defaults.models.row(model or "").exact)
    tools = runtime.count_short(schemas_text(request.format, of_windows(policy)))
    guide = runtime.count_short(guide_of(conversation, policy)) + FRAME_TOKENS
    offers = may_offer and offers_tools(budget, tools + guide, percent)
    if offers:
        own = Fixed(own.tools_tokens + (tools if fewer is None else fewer), own.system_tokens + guide)
    return profile(policy, budget, own, percent, reserve=reserve, offers_tools=offers)


def room_for_recall(runtime: Runtime, conversation: Conversation | None) -> RecallRoom:
    """Return the room of a recall tool in the conversation's window; outside of any, in one of the deployment's."""
    if conversation is not None:
        own = own_profile(runtime, conversation)
        return recall_room(own.shares)
    budget = budget_of(runtime.defaults, None, None, None)
    return recall_room(profile(runtime.defaults.policy, budget, Fixed(0, 0)).shares)


def is_due(runtime: Runtime, conversation: Conversation) -> bool:
    """Return whether the stored epoch no longer fits the conversation as it is (or will be)."""
    own = own_profile(runtime, conversation)
    if conversation.own is None:
        return conversation.own_generation > 0 or not paging.is_whole(conversation.totals, own.shares, own.policy)
    return not is_current(conversation, own)


def is_current(conversation: Conversation, target: Profile) -> bool:
    """Return whether the stored epoch is the one in force for a profile, as far as totals tell."""
    if conversation.own is None:
        return False
    made_for, layout = conversation.own
    return made_for == target.key and layout.holds(conversation.totals)


async def open_epoch(runtime: Runtime, tx: Tx, conversation: Conversation) -> Conversation:
    """Make and store the epoch that is due, in the append's transaction."""
    own = own_profile(runtime, conversation)
    new = await derive(runtime, tx, conversation, own)
    await windows.store_epoch(tx, conversation.id, own.key, new)
    return replace(conversation, epoch=new.layout.number, own=(own.key, new.layout))


async def derive(
    runtime: Runtime, tx: ReadTx, conversation: Conversation, target: Profile, then: Then | None = None
) -> Epoch:
    """Return the epoch that a conversation is in for a profile, by the steps of ``core/window/epoch.py``.

    ``then``: with what it would keep in mind as of another time.
    """
    entries = await windows.entries(tx, conversation, paging.ledger_reach(conversation.totals, target.shares))
    language = conversation.language or "en"
    deciding = epoch.decide(entries, conversation.totals, language, target, reader_of(runtime))
    try:
        plan = next(deciding)
        while True:
            plan = deciding.send(await _material(tx, conversation.id, plan, then))
    except StopIteration as decided:
        found: Epoch = decided.value
        return found


async def _material(tx: ReadTx, conversation_id: str, plan: epoch.EpochPlan, then: Then | None) -> epoch.Material:
    material = await heads.material(tx, conversation_id, plan)
    if then is None:
        return material
    lines = await kept.then(tx, conversation_id, plan.layout.condensed_from, then.as_of, then.known_at)
    return replace(material, kept=lines)


def known(runtime: Runtime, parts: WindowParts, target: Profile) -> Epoch | None:
    """Return the epoch in force if it was read with the parts of a window, or if nothing has to be read for it."""
    conversation, totals = parts.conversation, parts.conversation.totals
    if parts.own_epoch is not None:
        return parts.own_epoch if is_current(conversation, target) else None
    if parts.kept is not None and paging.is_whole(totals, target.shares, target.policy):
        return epoch.of_whole(totals, conversation.language or "en", target, parts.kept, reader_of(runtime))
    return None


def reader_of(runtime: Runtime) -> HeadReader:
    return HeadReader(runtime.tokens.count, pick_lines, sentences)


async def told_so_far(runtime: Runtime, tx: ReadTx, conversation: Conversation) -> Head:
    """Return the head that tells of all but the newest messages of a conversation whose window is whole yet."""
    policy, totals = policy_of(runtime.defaults, conversations.policy_overrides(conversation)), conversation.totals
    if not policy.summary_enabled or totals.last_seq < max(runtime.defaults.summary_threshold, LEFT_OUT + 1):
        return Head()
    reader, language = reader_of(runtime), conversation.language or "en"
    layout = replace(
        paging.layout((), totals, own_profile(runtime, conversation).shares, policy), trigger_page=totals.last_page,
        condensed_from=totals.last_seq - LEFT_OUT + 1, revision=conversation.revision,
    )  # fmt: skip
    room = head.frame_tokens(language, reader.count) + policy.summary_max
    plan = epoch.EpochPlan(layout, policy, language, room, room, totals.last_page, range(0))
    material = await heads.material(tx, conversation.id, plan)
    told = [page for page in material.pages if page.day]  # the others begin in the newest messages
    plan = replace(plan, last_page=told[-1].page if told else 0)
    return epoch.freeze(plan, replace(material, pages=told, kept=(), summary=None), reader).head
