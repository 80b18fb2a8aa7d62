"""Epochs: laying a window out, and freezing its head.

The epoch of a conversation's own budget is made in the transaction of the append that makes it due, and stored.
For any other budget the same decision is made when the window is asked for. Both come to the same, since a
layout depends only on offsets that never change and a head only on what was known at the layout's revision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from app.core import contents, head, paging
from app.core.contents import Line, PageEntry
from app.core.conversation import Conversation
from app.core.head import SummaryLine
from app.core.messages import FRAME_TOKENS
from app.core.model import Epoch, Fixed, Format, Head, Language, Layout
from app.core.profile import Profile, budget_of, offers_tools, policy_of, profile
from app.core.summarising import LEFT_OUT
from app.extractive.summary import pick_lines, topics
from app.postgres.database import Connection
from app.recall.tools import GUIDE, schemas_text
from app.runtime import Runtime
from app.store import conversations, notes, page_index, summaries, windows
from app.text.language import sentences

SUMMARY_PAGES = 10
"""Pages that an extractive summary looks at: half of them the newest, the others evenly before those."""
SUMMARY_LINES_PER_PAGE = 3
SUMMARY_LINES = 12
SUMMARY_ROOM_LEAST = 30
"""A smaller room holds no summary."""
EXTRACTIVE = "extractive"


def recall_tokens(runtime: Runtime, language: Language, form: Format) -> tuple[int, int]:
    """Tokens of the recall tools' schemas and of the guide to them."""
    return runtime.count_short(schemas_text(form)), runtime.count_short(GUIDE[language]) + FRAME_TOKENS


def own_profile(runtime: Runtime, conversation: Conversation) -> Profile:
    """The profile of windows asked for without a budget, a system prompt or tools of their own."""
    policy = policy_of(runtime.defaults, conversations.policy_overrides(conversation))
    budget = budget_of(runtime.defaults, None, conversation.budget, conversation.model)
    tools, guide = recall_tokens(runtime, conversation.language or "en", "openai")
    system = conversation.system_tokens + conversation.prompt_tokens
    if not offers_tools(budget, tools + guide, conversation.token_percent):
        tools = guide = 0
    fixed = Fixed(tools_tokens=tools, system_tokens=system + guide)
    return profile(policy, budget, fixed, conversation.token_percent)


def available(runtime: Runtime, conversation: Conversation | None) -> int:
    """Tokens that the conversation's own budget leaves beside tools and system; outside of any, the deployment's."""
    if conversation is not None:
        return own_profile(runtime, conversation).shares.available
    budget = budget_of(runtime.defaults, None, None, None)
    return profile(runtime.defaults.policy, budget, Fixed(0, 0)).shares.available


def is_due(runtime: Runtime, conversation: Conversation) -> bool:
    """Whether the stored epoch no longer holds for the conversation as it is (or will be)."""
    own = own_profile(runtime, conversation)
    if conversation.own is None:
        return conversation.totals.generation > 0 or not paging.is_whole(conversation.totals, own.shares, own.policy)
    return not is_current(conversation, own)


def is_current(conversation: Conversation, wanted: Profile) -> bool:
    """Whether the stored epoch is the one in force for a profile."""
    if conversation.own is None:
        return False
    available, layout = conversation.own
    same = available == wanted.shares.available
    return same and paging.in_force(layout, conversation.totals, wanted.shares, wanted.policy)


async def open_epoch(
    runtime: Runtime, connection: Connection, tenant: UUID, conversation: Conversation
) -> Conversation:
    """Make and store the epoch that is due, in the append's transaction."""
    own = own_profile(runtime, conversation)
    epoch = await derive(runtime, connection, tenant, conversation, own)
    await windows.store_epoch(connection, tenant, conversation.id, own.shares.available, epoch)
    return replace(conversation, epoch=epoch.layout.number, own=(own.shares.available, epoch.layout))


async def derive(
    runtime: Runtime, connection: Connection, tenant: UUID, conversation: Conversation, wanted: Profile
) -> Epoch:
    """The epoch that a conversation is in for a profile."""
    reach = paging.ledger_reach(wanted.shares)
    entries = await windows.entries(connection, tenant, conversation, reach)
    layout = paging.layout(entries, conversation.totals, wanted.shares, wanted.policy)
    if layout.condensed_from <= 1:
        return Epoch(layout, await _only_notes(runtime, connection, tenant, conversation, layout, wanted))
    opens = {e.seq for e in entries if e.opens_page}
    page = next(e.page for e in entries if e.seq == layout.condensed_from)
    last_page = page - 1 if layout.condensed_from in opens else page
    return Epoch(layout, await _head(runtime, connection, tenant, conversation, layout, last_page, wanted))


async def _head(
    runtime: Runtime,
    connection: Connection,
    tenant: UUID,
    conversation: Conversation,
    layout: Layout,
    last_page: int,
    wanted: Profile,
) -> Head:
    """The head over the pages up to ``last_page``, as it was known at the layout's revision."""
    language = conversation.language or "en"
    count = runtime.tokens.count
    frame = head.frame_tokens(language, count)
    room = layout.head_room - frame
    noted, left_out = await _notes(connection, tenant, conversation.id, layout, head.notes_room(room, wanted.policy))
    if room <= 0 or last_page < 1:
        return Head(unlisted=last_page, notes_left_out=len(noted) + left_out)
    room -= sum(line.tokens + head.BULLET for line in noted)
    for_summary = head.summary_room(room, wanted.policy)
    known = await page_index.topics(connection, tenant, conversation.id, last_page, layout.revision)
    topics_line = head.topics_line(known, for_summary, language, count)
    spent = topics_line.tokens + head.BULLET if topics_line else 0
    summary, through, source = await _summary(
        runtime, connection, tenant, conversation.id, layout, last_page, for_summary - spent
    )
    spent += sum(line.tokens + head.BULLET for line in summary)
    listable = await _listable(connection, tenant, conversation.id, layout, last_page, wanted)
    cap = min(room - spent, wanted.policy.contents_max)
    selection = contents.select(listable, cap, wanted.policy)
    standing_for = [p for run in contents.runs(selection.listed, last_page) for p in contents.sample(run)]
    titles = await windows.titles(connection, tenant, conversation.id, standing_for)
    names = await page_index.names(connection, tenant, conversation.id, standing_for, layout.revision)
    titles |= {p: n.title for p, n in names.items() if n.title}
    page = contents.compose(listable, selection, last_page, titles, cap, wanted.policy, language, topics, count)
    return head.compose(
        noted, summary, page, language, frame,
        summary_through_seq=through if summary else 0, topics=topics_line, summary_source=source,
        notes_left_out=left_out,
    )  # fmt: skip


async def _only_notes(
    runtime: Runtime,
    connection: Connection,
    tenant: UUID,
    conversation: Conversation,
    layout: Layout,
    wanted: Profile,
) -> Head:
    """The head while nothing has left the window: what people noted, or nothing."""
    language = conversation.language or "en"
    frame = head.frame_tokens(language, runtime.tokens.count)
    room = min(wanted.shares.head, wanted.shares.available - wanted.shares.whole)
    noted, left_out = await _notes(connection, tenant, conversation.id, layout, room - frame)
    nothing = contents.Contents()
    return head.compose(noted, (), nothing, language, frame, summary_through_seq=0, notes_left_out=left_out)


async def _notes(
    connection: Connection, tenant: UUID, conversation_id: str, layout: Layout, room: int
) -> tuple[list[SummaryLine], int]:
    """The standing notes that lead the head: those of people, and those whose messages have left the window. Where
    there are more than fit, the newest, and how many are left out; in the order of the conversation.
    """
    found = await notes.for_head(connection, tenant, conversation_id, layout.condensed_from, layout.revision)
    lines = {row["text"]: SummaryLine(row["text"], row["tokens"]) for row in found}
    places = {row["text"]: row["seq"] for row in found}
    taken = head.take(list(lines.values()), room)
    return sorted(taken, key=lambda line: places[line.text]), len(lines) - len(taken)


async def _listable(
    connection: Connection, tenant: UUID, conversation_id: str, layout: Layout, last_page: int, wanted: Profile
) -> list[PageEntry]:
    """The pages that the rules leave listed, with their lines."""
    policy, now = wanted.policy, layout.trigger_page
    known = await windows.listable(
        connection, tenant, conversation_id,
        last_page=last_page, oldest=contents.oldest_listable(now, policy),
        recalled_since=now - policy.unlist_unchanged_turns, revision=layout.revision,
    )  # fmt: skip
    kept = [e for e in known if contents.is_listed(e.page, e.recall_count, e.last_recalled_page, now, policy)]
    lines = await windows.lines(connection, tenant, conversation_id, [e.page for e in kept], layout.condensed_from)
    names = await page_index.names(connection, tenant, conversation_id, [e.page for e in kept], layout.revision)
    return [contents.renamed(replace(e, lines=tuple(lines.get(e.page, ()))), names.get(e.page)) for e in kept]


async def _summary(
    runtime: Runtime,
    connection: Connection,
    tenant: UUID,
    conversation_id: str,
    layout: Layout,
    last_page: int,
    room: int,
) -> tuple[list[SummaryLine], int, str]:
    """The summary for a room, the ``seq`` that it reaches to and who wrote it: the model's as it was known at the
    layout's revision, else one of what has left the window.
    """
    if room < SUMMARY_ROOM_LEAST:
        return [], 0, EXTRACTIVE
    before = layout.condensed_from
    written = await summaries.for_head(connection, tenant, conversation_id, before, layout.revision)
    if written is not None and (fitted := _fitted(runtime, written.text, room)):
        return fitted, written.through_seq, "llm" if written.model != EXTRACTIVE else EXTRACTIVE
    return await _extracted(connection, tenant, conversation_id, before, last_page, room), before - 1, EXTRACTIVE


def _fitted(runtime: Runtime, text: str, room: int) -> list[SummaryLine]:
    """A summary for a room: all of its lines, or the most informative sentences."""
    lines = _counted(runtime, text.split("\n"))
    if sum(line.tokens + head.BULLET for line in lines) <= room:
        return lines
    lines = _counted(runtime, sentences(text))
    best = pick_lines([("assistant", line.text) for line in lines], max_items=len(lines), max_chars=room * 5)
    return head.picked(lines, [*best, *range(len(lines))], room)


def _counted(runtime: Runtime, texts: Sequence[str]) -> list[SummaryLine]:
    return [SummaryLine(text, runtime.tokens.count(text)) for text in texts]


async def _extracted(
    connection: Connection, tenant: UUID, conversation_id: str, before: int, last_page: int, room: int
) -> list[SummaryLine]:
    """An extractive summary of the messages before one: their most informative lines, in their order."""
    if room < SUMMARY_ROOM_LEAST:
        return []
    found = await windows.lines(connection, tenant, conversation_id, _looked_at(last_page), before)
    return _picked([line for page in sorted(found) for line in _telling(found[page])], room)


def _looked_at(last_page: int) -> list[int]:
    """The pages that an extractive summary of the first ``last_page`` pages looks at."""
    older = max(0, last_page - SUMMARY_PAGES // 2)
    step = max(1.0, older / (SUMMARY_PAGES // 2))
    evenly = {int(i * step) + 1 for i in range(SUMMARY_PAGES // 2) if int(i * step) < older}
    return [*sorted(evenly), *range(older + 1, last_page + 1)]


def _telling(lines: Sequence[Line]) -> list[Line]:
    """What was asked and answered in a page: its first lines and its last."""
    said = [line for line in lines if line.role in ("user", "assistant")]
    if len(said) <= SUMMARY_LINES_PER_PAGE:
        return said
    return [*said[: SUMMARY_LINES_PER_PAGE - 1], said[-1]]


def _picked(said: Sequence[Line], room: int) -> list[SummaryLine]:
    """The most informative lines; where they say less than a summary has at least, the newest others too."""
    lines = [SummaryLine(line.text, line.tokens) for line in said]
    items = min(SUMMARY_LINES, max(1, room // 25))
    best = pick_lines([(line.role, line.text) for line in said], max_items=items, max_chars=room * 6)
    chosen = head.picked(lines, best, room)
    if sum(line.tokens for line in chosen) >= head.SUMMARY_TOKENS_MIN:
        return chosen
    return head.picked(lines, [*best, *reversed(range(len(lines)))], min(room, head.SUMMARY_ROOM_MIN))


async def summary_so_far(
    runtime: Runtime, connection: Connection, tenant: UUID, conversation: Conversation
) -> tuple[list[SummaryLine], int]:
    """An extractive summary of a conversation whose window is whole yet, and the ``seq`` it reaches to."""
    policy = policy_of(runtime.defaults, conversations.policy_overrides(conversation))
    totals = conversation.totals
    if not policy.summary_enabled or totals.last_seq < runtime.settings.memory_summary_threshold:
        return [], 0
    through = totals.last_seq - LEFT_OUT
    lines = await _extracted(connection, tenant, conversation.id, through + 1, totals.last_page, policy.summary_max)
    return lines, through
