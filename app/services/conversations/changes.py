"""Changes that an append makes to its conversation before it adds messages.

A new system prompt, the user's first words in Chinese, a refused question that leaves, or a late result: each changes
the layout of every window, so it begins a new generation and needs the conversation's lock.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from app.core.conversation import Conversation
from app.core.history.ingest import Placement, joined_from, place
from app.core.history.preparation import spoken_language
from app.core.messages import FRAME_TOKENS
from app.postgres.transactions import Tx
from app.runtime import Runtime
from app.services.conversations import refused
from app.services.conversations.reading import READER
from app.services.conversations.requests import AppendRequest
from app.services.conversations.selection import Arrivals
from app.store import conversations


def is_due(known: Conversation, request: AppendRequest, selection: Arrivals) -> bool:
    """Return whether the append changes the layout of every window."""
    takes_out = refused.leaves(known, request, selection)
    is_late = bool(_late(known, selection))
    return takes_out or is_late or _changes_system(known, selection) or _turns_out_chinese(known, selection)


async def make(
    runtime: Runtime, tx: Tx, known: Conversation, request: AppendRequest, selection: Arrivals
) -> Conversation:
    takes_out = refused.leaves(known, request, selection)
    if takes_out:
        known = await refused.take_out(runtime, tx, known, request)
    if _changes_system(known, selection):
        known = await _change_system(runtime, tx, known, selection.system or "")
    late = _late(known, selection)
    if (group := joined_from(known.end, late)) is not None:
        await conversations.join_group(tx, known.id, group)
    if takes_out or late or _turns_out_chinese(known, selection):
        await conversations.begin_generation(tx, known.id)
        known = _of_next_generation(known)
    return known


def _late(known: Conversation, selection: Arrivals) -> Sequence[Placement]:
    """Return the messages whose results join calls after other messages have followed these."""
    if not any(call.is_left for call in known.end.open_calls):
        return []
    placed, _ = place(known.end, [arrival.draft for arrival in selection.arrivals])
    return [one for one in placed if any(answer.call.is_left for answer in one.answers)]


def _changes_system(known: Conversation, selection: Arrivals) -> bool:
    return selection.system is not None and selection.system != known.system


def _turns_out_chinese(known: Conversation, selection: Arrivals) -> bool:
    """Return whether the user's first words are Chinese, while earlier windows were in English."""
    was_shown = known.language is None and known.totals.last_seq > 0
    return was_shown and spoken_language(selection.arrivals, READER) == "zh"


async def _change_system(runtime: Runtime, tx: Tx, known: Conversation, system: str) -> Conversation:
    [tokens] = await runtime.tokens.count_many([system])
    changed = replace(conversations.unchanged(known), system=system, system_tokens=tokens + FRAME_TOKENS)
    await conversations.change(tx, known, changed)
    return replace(_of_next_generation(known), system=system, system_tokens=changed.system_tokens)


def _of_next_generation(known: Conversation) -> Conversation:
    generation = known.totals.generation + known.totals.last_seq + 1
    return replace(known, version=known.version + 1, totals=replace(known.totals, generation=generation))
