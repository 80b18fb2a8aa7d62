"""Retention: erase expired conversations, and prune messages beyond a number.

A pruned message stays in search only: its passages keep their text, its line stays on the contents page and its
archives stay, but a mark replaces it in windows of larger budgets, in the history and in recalled pages. It is pruned
only when its page has left the conversation's own window and is indexed and summarised, and all of its passages have
vectors. The system prompt and the pinned user message are never pruned. Each transaction prunes a few messages, so that
no append waits for long.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from app import errors
from app.core import wording
from app.core.conversation import Conversation
from app.core.groups import chat_messages
from app.core.history.erasure import erased_forms
from app.core.history.erasure_plan import weight as weigh_view
from app.core.model import INTEGER_MAX, UNSENT
from app.core.neutral import without_nul
from app.core.window.quote import plain_text
from app.postgres.transactions import Tx
from app.runtime import Runtime
from app.services.conversations import cuts
from app.services.lifecycle import erasing, erasing_whole
from app.services.lifecycle.erasing import ErasingTx
from app.store import branches, conversations, pruning
from app.store.pruning import PrunedMessage

MESSAGES_AT_ONCE = 50
CONVERSATIONS_AT_ONCE = 100


async def retain(runtime: Runtime, tenant: UUID, *, dry_run: bool = False) -> Counter[str]:
    """Apply the settings, or only count what would go: rows by table, and pruned messages as `pruned`."""
    done = await _erase_old(runtime, tenant, dry_run=dry_run)
    keep = runtime.retention.messages_max
    after = ""
    while keep:
        async with runtime.database.snapshot(tenant) as tx:
            rows = await pruning.long(tx, keep, after, CONVERSATIONS_AT_ONCE)
        for name in rows:
            done["pruned"] += await _prune(runtime, tenant, name, keep, dry_run=dry_run)
        if len(rows) < CONVERSATIONS_AT_ONCE:
            break
        after = rows[-1]
    return done


async def _erase_old(runtime: Runtime, tenant: UUID, *, dry_run: bool) -> Counter[str]:
    days = runtime.retention.conversation_days
    done: Counter[str] = Counter()
    if not days:
        return done
    since = datetime.now(UTC) - timedelta(days=days)
    if dry_run:
        async with runtime.database.snapshot(tenant) as tx:
            done["conversations"] = await pruning.count_old(tx, since)
        return done
    while True:
        async with runtime.database.snapshot(tenant) as tx:
            rows = await pruning.old(tx, since, CONVERSATIONS_AT_ONCE)
        erased = 0
        for name in rows:
            async with runtime.database.begin(tenant) as tx:
                known = await _lock_if_old(tx, name, since)
                if known is None:
                    continue
                one = await erasing_whole.erase_conversation(ErasingTx(runtime, tx), known)
            done.update(one.counts)
            erased += 1
        if not erased:  # a conversation is next when nothing branches off from it any more
            return done


async def _lock_if_old(tx: Tx, conversation_id: str, since: datetime) -> Conversation | None:
    try:
        known = await erasing.lock(tx, conversation_id)
    except errors.NotFound:
        return None
    return known if known.updated_at < since and not await _is_shared(tx, known) else None


async def _is_shared(tx: Tx, known: Conversation) -> bool:
    return known.line.is_forked and bool(await branches.descendants(tx, [known.id]))


async def _prune(runtime: Runtime, tenant: UUID, conversation_id: str, keep: int, *, dry_run: bool) -> int:
    """Prune a conversation and return how many messages were pruned, or would be.

    The last cut of its own budget does not show them; all windows are cut anew.
    """
    total, bounds = 0, None
    while True:
        async with runtime.database.begin(tenant) as tx:
            known = await conversations.lock(tx, conversation_id)
            if known is not None and bounds is None:
                bounds = await _bounds(runtime, tx, known)
            if known is None or bounds is None or await _is_shared(tx, known):  # nothing has left its window
                return total
            limit = known.totals.last_seq if dry_run else MESSAGES_AT_ONCE
            rows = await pruning.ready(tx, conversation_id, keep, *bounds[:2], limit)
            wanted = [row for row in rows if row.kind != "prompt" and row.seq != bounds[2]]
            total += len(wanted)
            if dry_run or not rows:
                return total
            for row in wanted:
                await _prune_one(runtime, tx, known, row)
            await pruning.advance(tx, conversation_id, rows[-1].seq)
            tx.changes.are_erased = True
            await conversations.begin_generation(tx, conversation_id)


async def _prune_one(runtime: Runtime, tx: Tx, known: Conversation, row: PrunedMessage) -> None:
    """Give the message's passages their own text, and put a mark in its place."""
    seen = row.view if row.view is not None and row.kind != "orphan" else row.body
    text = plain_text(chat_messages(seen))
    for passage, start, length in await pruning.passages(tx, known.id, row.seq):
        await pruning.keep(tx, passage, *without_nul(text[start : start + length]))
    said = wording.PRUNED.say(known.language or "en")
    view = [] if row.kind == "orphan" else chat_messages(seen)
    anthropic = json.loads(row.anthropic) if row.anthropic else None
    names = [call["function"]["name"] for message in view for call in message.get("tool_calls") or []]
    forms = erased_forms(json.loads(row.body), view, anthropic, said, names)
    if row.kind == "orphan":
        forms = replace(forms, view="")
    weight = 0 if row.kind in UNSENT else weigh_view(chat_messages(forms.view or forms.body), runtime.tokens.count)
    await pruning.prune(tx, known.id, row.seq, forms, weight)


async def _bounds(runtime: Runtime, tx: Tx, known: Conversation) -> tuple[int, int, int]:
    """Return the first message in the window's zones, the last summarised one and the pinned one."""
    summarised = runtime.chat is not None and runtime.policy(known).summary_enabled
    cut = await cuts.newest(runtime, tx, known)
    return cut.condensed_from, known.summary_through if summarised else INTEGER_MAX, cut.pinned
